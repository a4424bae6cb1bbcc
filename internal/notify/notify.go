// Package notify sends mails to named people.
//
// It promises one try per call and an error when the mail server did not take the mail. It never carries a task token,
// a target's secret, or the text of what is to be approved: a mail says that something waits, and where.
package notify

import "context"

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
