package apptest

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/notify"
)

// Text collects what is written to it by several goroutines.
type Text struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (t *Text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

// String is all of it.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Mails keeps mails instead of sending them. Its zero value is ready.
type Mails struct {
	mu   sync.Mutex
	sent []notify.Mail
	Fail error // when set, every mail fails with it
}

// Notify implements notify.Notifier.
func (m *Mails) Notify(_ context.Context, mail notify.Mail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Fail != nil {
		return m.Fail
	}
	m.sent = append(m.sent, mail)
	return nil
}

// To lists who was written to with this subject, in order.
func (m *Mails) To(subject string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, mail := range m.sent {
		if mail.Subject == subject {
			out = append(out, mail.To)
		}
	}
	return out
}

func item(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
}
