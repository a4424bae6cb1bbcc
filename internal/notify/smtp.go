package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"
)

// SMTP sends by a mail server. Without Username no authentication is made; then, and only then, a server on this
// machine may be spoken to without TLS.
type SMTP struct {
	Addr               string // host:port
	From               string
	Username, Password string
}

const mailTimeout = 10 * time.Second

// Notify implements Notifier.
func (s SMTP) Notify(ctx context.Context, m Mail) error {
	if err := m.check(); err != nil {
		return err
	}
	msg := mail.NewMsg()
	if err := msg.From(s.From); err != nil {
		return errors.New("mail: the sender's address is not one; set it in the configuration")
	}
	if err := msg.To(m.To); err != nil {
		return errors.New("mail: a person's address in the flow is not a mail address; write it as name@example.com")
	}
	msg.Subject(m.Subject)
	msg.SetBodyString(mail.TypeTextPlain, m.Text)
	client, err := s.client()
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	if err := client.DialAndSendWithContext(ctx, msg); err != nil {
		return fmt.Errorf("mail: the server at %s did not take it: %w", s.Addr, err)
	}
	return nil
}

func (s SMTP) client() (*mail.Client, error) {
	host, text, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	options := []mail.Option{mail.WithPort(port), mail.WithTimeout(mailTimeout), mail.WithTLSPortPolicy(s.tls(host))}
	if s.Username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.Username), mail.WithPassword(s.Password))
	}
	return mail.NewClient(host, options...)
}

// tls is mandatory but for a server on this machine that asks for no password.
func (s SMTP) tls(host string) mail.TLSPolicy {
	ip := net.ParseIP(host)
	if s.Username == "" && (host == "localhost" || (ip != nil && ip.IsLoopback())) {
		return mail.NoTLS
	}
	return mail.TLSMandatory
}
