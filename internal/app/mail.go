package app

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"holdfast/internal/notify"
)

// Mailer sends mails as configuration says: by a mail server, or by Amazon SES.
func Mailer(c Config, cfg aws.Config) notify.Notifier {
	if c.SMTP != "" {
		return notify.SMTP{Addr: c.SMTP, From: c.MailFrom}
	}
	return notify.NewSES(cfg, c.MailFrom)
}
