// Package outbox takes the mails that the laptop sends and shows them.
//
// It promises that a mail which was answered with 250 can be read at once, and that what a mail holds cannot run
// on the page that shows it. It never delivers anything to anybody, and listens on loopback only.
package outbox

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"holdfast/internal/clock"
)

const (
	messagesMax     = 500              // mails kept; then the oldest goes
	messageBytesMax = 1 << 20          // one mail
	recipientsMax   = 50               // recipients of one mail
	connectionsMax  = 50               // open SMTP connections
	idleMax         = 60 * time.Second // silence on an SMTP connection, by the machine's clock
)

// Options make an outbox.
type Options struct{ Clock clock.Clock }

// Outbox is an SMTP server with a memory. It is safe for use by several goroutines.
type Outbox struct {
	clock  clock.Clock
	server *smtp.Server
	work   sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	made      int
	messages  []Message
	listeners []*listener
}

// New returns an outbox that listens nowhere yet. Close ends it.
func New(o Options) *Outbox {
	b := &Outbox{clock: o.Clock}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{box: b}, nil }))
	s.Domain = "localhost"
	s.MaxMessageBytes = messageBytesMax
	s.MaxRecipients = recipientsMax
	s.ReadTimeout, s.WriteTimeout = idleMax, idleMax
	s.EnableSMTPUTF8 = true
	s.ErrorLog = log.New(io.Discard, "", 0) // a broken connection is the sender's to report
	b.server = s
	return b
}

// Listen takes mail at a loopback address such as 127.0.0.1:0 and returns the address in use.
func (b *Outbox) Listen(addr string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("address %q: the outbox listens on loopback only; use for example 127.0.0.1:0", addr)
	}
	inner, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("outbox: %w", err)
	}
	l := &listener{Listener: inner, conns: map[*conn]bool{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return "", errors.Join(errors.New("the outbox is closed"), l.Close())
	}
	b.listeners = append(b.listeners, l)
	b.work.Go(func() { b.server.Serve(l) }) // ends when l is closed
	return inner.Addr().String(), nil
}

// Messages lists the mails that are kept, oldest first.
func (b *Outbox) Messages() []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages)
}

func (b *Outbox) message(n int) (Message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if m.N == n {
			return m, true
		}
	}
	return Message{}, false
}

func (b *Outbox) keep(m Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	m.N = b.made
	b.messages = append(b.messages, m)
	if len(b.messages) > messagesMax {
		b.messages = slices.Delete(b.messages, 0, len(b.messages)-messagesMax)
	}
}

// Close ends all connections and returns when nothing runs any more. The mails stay readable.
func (b *Outbox) Close() error {
	b.mu.Lock()
	b.closed = true
	listeners := b.listeners
	b.mu.Unlock()
	var faults []error
	for _, l := range listeners {
		faults = append(faults, l.Close())
	}
	b.work.Wait()
	if err := b.server.Close(); err != nil && !errors.Is(err, smtp.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		faults = append(faults, err)
	}
	for _, l := range listeners {
		l.open.Wait()
	}
	return errors.Join(faults...)
}

// session is one SMTP conversation.
type session struct {
	box  *Outbox
	from string
	to   []string
}

// Mail implements smtp.Session.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

// Rcpt implements smtp.Session.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

// Data implements smtp.Session; the mail is kept before it is answered.
func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m := parse(raw)
	m.Time = s.box.clock.Now().UTC()
	m.From, m.To = s.from, slices.Clone(s.to)
	s.box.keep(m)
	return nil
}

// Reset implements smtp.Session.
func (s *session) Reset() { s.from, s.to = "", nil }

// Logout implements smtp.Session.
func (s *session) Logout() error { return nil }

// listener keeps its connections, so that closing it ends them and can be waited for.
type listener struct {
	net.Listener
	open sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[*conn]bool
}

// Accept implements net.Listener; a connection over the bound is ended at once.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		if !l.closed && len(l.conns) < connectionsMax {
			kept := &conn{Conn: c, l: l}
			l.conns[kept] = true
			l.open.Add(1)
			l.mu.Unlock()
			return kept, nil
		}
		l.mu.Unlock()
		c.Close()
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for c := range l.conns {
		c.Conn.Close()
	}
	return l.Listener.Close()
}

// conn reports its end to its listener.
type conn struct {
	net.Conn
	l    *listener
	once sync.Once
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		delete(c.l.conns, c)
		c.l.open.Done()
	})
	return err
}
