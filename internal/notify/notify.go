// Package notify sends mails to named people.
//
// It promises one try per call and an error when the mail server did not take the mail. It never carries a task token,
// a target's secret, or the text of what is to be approved: a mail says that something waits, and where.
package notify

import (
	"context"
	"errors"
	"net/mail"
	"strings"
)

// Mail is a plain-text mail to one person.
type Mail struct {
	To      string
	Subject string
	Text    string
}

// Notifier sends mails.
type Notifier interface {
	Notify(context.Context, Mail) error
}

// check refuses a mail that could become another one than it says. Its errors repeat nothing of the mail.
func (m Mail) check() error {
	if strings.ContainsAny(m.Subject, "\r\n") {
		return errors.New("mail: the subject holds a line end; it would become a header of its own")
	}
	if a, err := mail.ParseAddress(m.To); err != nil || a.Address != m.To {
		return errors.New("mail: a person's address in the flow is not a mail address; write it as name@example.com")
	}
	return nil
}
