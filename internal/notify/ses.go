package notify

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// SES sends by Amazon SES. Its SDK's retries are off: a mail that may have left is not sent again by itself.
type SES struct {
	client *sesv2.Client
	from   string
}

// NewSES makes a notifier for one sender address.
func NewSES(cfg aws.Config, from string) SES {
	return SES{client: sesv2.NewFromConfig(cfg, func(o *sesv2.Options) { o.Retryer = aws.NopRetryer{} }), from: from}
}

// Notify implements Notifier.
func (s SES) Notify(ctx context.Context, m Mail) error {
	if err := m.check(); err != nil {
		return err
	}
	text := func(v string) *types.Content { return &types.Content{Data: &v, Charset: aws.String("UTF-8")} }
	_, err := s.client.SendEmail(ctx, &sesv2.SendEmailInput{
		FromEmailAddress: &s.from, Destination: &types.Destination{ToAddresses: []string{m.To}},
		Content: &types.EmailContent{Simple: &types.Message{Subject: text(m.Subject), Body: &types.Body{Text: text(m.Text)}}},
	})
	if err != nil {
		return fmt.Errorf("mail: SES did not take it: %w", err)
	}
	return nil
}
