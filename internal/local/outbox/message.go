package outbox

import (
	"bytes"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // mails in other character sets than UTF-8
	"github.com/emersion/go-message/mail"
)

// Message is one mail. From and To are the envelope's; everything else is what the mail itself says, decoded.
type Message struct {
	N           int       `json:"n"`
	Time        time.Time `json:"time"`
	From        string    `json:"from"`
	To          []string  `json:"to"`
	Subject     string    `json:"subject"`
	Text        string    `json:"text"`
	HTML        string    `json:"html"`
	Links       []string  `json:"links"` // in the order of their first appearance
	Attachments []string  `json:"attachments,omitempty"`
	Bytes       int       `json:"bytes"`
	Fault       string    `json:"fault,omitempty"` // what could not be read; Text then holds the raw mail
}

// parse reads a mail. One that breaks the rules is kept as it came, with what is wrong with it.
func parse(raw []byte) Message {
	m := Message{Bytes: len(raw), Links: []string{}}
	if err := m.read(raw); err != nil {
		m.Fault, m.Text, m.HTML = err.Error(), string(bytes.ToValidUTF8(raw, []byte("\uFFFD"))), ""
	}
	m.Links = links(m.Text, m.HTML)
	return m
}

func (m *Message) read(raw []byte) error {
	r, err := mail.CreateReader(bytes.NewReader(raw))
	if err != nil && !message.IsUnknownCharset(err) {
		return err
	}
	if m.Subject, err = r.Header.Subject(); err != nil {
		m.Subject = r.Header.Get("Subject")
	}
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !message.IsUnknownCharset(err) {
			return err
		}
		if err := m.take(part); err != nil {
			return err
		}
	}
}

// take adds a part: the first text, the first HTML, or an attachment's name.
func (m *Message) take(part *mail.Part) error {
	if file, ok := part.Header.(*mail.AttachmentHeader); ok {
		name, err := file.Filename()
		if err != nil || name == "" {
			name = "unnamed"
		}
		m.Attachments = append(m.Attachments, name)
		return nil
	}
	body, err := io.ReadAll(part.Body)
	if err != nil {
		return err
	}
	kind, _, _ := part.Header.(*mail.InlineHeader).ContentType()
	switch {
	case kind == "text/html" && m.HTML == "":
		m.HTML = string(body)
	case kind != "text/html" && m.Text == "":
		m.Text = string(body)
	}
	return nil
}

var (
	plainLink = regexp.MustCompile(`https?://[^\s<>"']+`)
	hrefLink  = regexp.MustCompile(`(?i)href\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	linkTail  = regexp.MustCompile(`[.,;:!?)\]]+$`)
)

func links(text, page string) []string {
	found := []string{}
	add := func(link string) {
		if plainLink.MatchString(link) && !slices.Contains(found, link) {
			found = append(found, link)
		}
	}
	for _, link := range plainLink.FindAllString(text, -1) {
		add(linkTail.ReplaceAllString(link, ""))
	}
	for _, m := range hrefLink.FindAllStringSubmatch(page, -1) {
		add(html.UnescapeString(m[1] + m[2]))
	}
	return found
}

// piece is a stretch of a text; a link when it is one.
type piece struct {
	Text string
	Link bool
}

// pieces cuts a text at its links.
func pieces(text string) (out []piece) {
	for {
		at := plainLink.FindStringIndex(text)
		if at == nil {
			return append(out, piece{Text: text})
		}
		link := linkTail.ReplaceAllString(text[at[0]:at[1]], "")
		out = append(out, piece{Text: text[:at[0]]}, piece{Text: link, Link: true})
		text = text[at[0]+len(link):]
	}
}
