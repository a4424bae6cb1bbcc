package notify

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"github.com/wneessen/go-mail"

	"holdfast/internal/clock"
	"holdfast/internal/local/outbox"
)

const from = "holdfast@example.com"

func box(t *testing.T) (*outbox.Outbox, SMTP) {
	t.Helper()
	b := outbox.New(outbox.Options{Clock: clock.New()})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	addr, err := b.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return b, SMTP{Addr: addr, From: from}
}

func TestSMTPDelivers(t *testing.T) {
	t.Parallel()
	b, s := box(t)
	m := Mail{To: "reviewer@example.com", Subject: "Är detta rätt? 请批准", Text: "A run waits.\n\nhttp://127.0.0.1:8080/review/abc\n"}
	if err := s.Notify(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	all := b.Messages()
	if len(all) != 1 {
		t.Fatalf("%d mails", len(all))
	}
	got := all[0]
	if d := cmp.Diff([]string{from, m.To, m.Subject, m.Text}, []string{got.From, strings.Join(got.To, ","), got.Subject, strings.ReplaceAll(got.Text, "\r\n", "\n")}); d != "" {
		t.Error(d)
	}
}

// bad are mails that could become other mails than they say, or none.
var bad = map[string]Mail{
	"subject with another header":   {To: "a@example.com", Subject: "x\r\nBcc: b@example.com", Text: "t"},
	"subject with a line":           {To: "a@example.com", Subject: "x\ny", Text: "t"},
	"subject with a return":         {To: "a@example.com", Subject: "x\ry", Text: "t"},
	"no address":                    {To: "", Subject: "s", Text: "t"},
	"address without a host":        {To: "nobody", Subject: "s", Text: "t"},
	"two addresses":                 {To: "a@example.com, b@example.com", Subject: "s", Text: "t"},
	"address with a command":        {To: "a@example.com>\r\nRCPT TO:<b@example.com", Subject: "s", Text: "t"},
	"address with a line and a bcc": {To: "a@example.com\nBcc: b@example.com", Subject: "s", Text: "t"},
}

func TestBadMailsAreRefused(t *testing.T) {
	t.Parallel()
	b, smtp := box(t)
	ses, calls := sesAt(t, http.StatusOK)
	for name, m := range bad {
		t.Run(name, func(t *testing.T) {
			for kind, n := range map[string]Notifier{"SMTP": smtp, "SES": ses} {
				err := n.Notify(t.Context(), m)
				if err == nil {
					t.Errorf("%s took it", kind)
				} else if strings.Contains(err.Error(), "b@example.com") {
					t.Errorf("%s: the error repeats what it refused: %v", kind, err)
				}
			}
		})
	}
	if n := len(b.Messages()) + len(*calls); n != 0 {
		t.Errorf("%d mails left", n)
	}
}

func TestSMTPErrors(t *testing.T) {
	t.Parallel()
	_, good := box(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	closed.Close()
	tests := map[string]struct {
		s    SMTP
		want string
	}{
		"sender":             {SMTP{Addr: good.Addr, From: "nobody"}, "the sender's address"},
		"nobody listens":     {SMTP{Addr: gone, From: from}, "the server at " + gone},
		"no port":            {SMTP{Addr: "127.0.0.1", From: from}, "mail:"},
		"port is no number":  {SMTP{Addr: "127.0.0.1:smtp", From: from}, "mail:"},
		"password needs TLS": {SMTP{Addr: good.Addr, From: from, Username: "u", Password: "secret"}, "did not take it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.s.Notify(t.Context(), Mail{To: "a@example.com", Subject: "s", Text: "t"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := good.Notify(ended, Mail{To: "a@example.com", Subject: "s", Text: "t"}); err == nil {
		t.Error("sent for a caller that was gone")
	}
}

// Without TLS only a server on this machine is spoken to, and only without a password.
func TestTLSPolicy(t *testing.T) {
	t.Parallel()
	for host, tests := range map[string]struct{ open, withPassword mail.TLSPolicy }{
		"localhost":              {mail.NoTLS, mail.TLSMandatory},
		"127.0.0.1":              {mail.NoTLS, mail.TLSMandatory},
		"127.9.9.9":              {mail.NoTLS, mail.TLSMandatory},
		"::1":                    {mail.NoTLS, mail.TLSMandatory},
		"mail.example.com":       {mail.TLSMandatory, mail.TLSMandatory},
		"localhost.example.com":  {mail.TLSMandatory, mail.TLSMandatory},
		"127.0.0.1.example.com":  {mail.TLSMandatory, mail.TLSMandatory},
		"192.0.2.1":              {mail.TLSMandatory, mail.TLSMandatory},
		"::ffff:192.0.2.1":       {mail.TLSMandatory, mail.TLSMandatory},
		"0.0.0.0":                {mail.TLSMandatory, mail.TLSMandatory},
		"LOCALHOST.":             {mail.TLSMandatory, mail.TLSMandatory},
		"email-smtp.example.com": {mail.TLSMandatory, mail.TLSMandatory},
	} {
		if got := (SMTP{}).tls(host); got != tests.open {
			t.Errorf("%s without a password: %v", host, got)
		}
		if got := (SMTP{Username: "u"}).tls(host); got != tests.withPassword {
			t.Errorf("%s with a password: %v", host, got)
		}
	}
}

type call struct {
	method, path string
	body         map[string]any
}

// sesAt is SES at an endpoint of its own that answers every call with status.
func sesAt(t *testing.T, status int) (SES, *[]call) {
	t.Helper()
	var calls []call
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := call{method: r.Method, path: r.URL.Path}
		if err := json.NewDecoder(r.Body).Decode(&c.body); err != nil {
			t.Error(err)
		}
		calls = append(calls, c)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"MessageId":"m"}`)
	}))
	t.Cleanup(s.Close)
	return NewSES(aws.Config{Region: "us-east-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, from), &calls
}

func TestSESRequest(t *testing.T) {
	t.Parallel()
	s, calls := sesAt(t, http.StatusOK)
	if err := s.Notify(t.Context(), Mail{To: "a@example.com", Subject: "Ä", Text: "t\n"}); err != nil {
		t.Fatal(err)
	}
	text := func(v string) map[string]any { return map[string]any{"Data": v, "Charset": "UTF-8"} }
	want := []call{{http.MethodPost, "/v2/email/outbound-emails", map[string]any{
		"FromEmailAddress": from, "Destination": map[string]any{"ToAddresses": []any{"a@example.com"}},
		"Content": map[string]any{"Simple": map[string]any{"Subject": text("Ä"), "Body": map[string]any{"Text": text("t\n")}}},
	}}}
	if d := cmp.Diff(want, *calls, cmp.AllowUnexported(call{})); d != "" {
		t.Error(d)
	}
}

// A mail that may have left is not sent again by itself.
func TestSESTriesOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 429, 500, 503} {
		s, calls := sesAt(t, status)
		if err := s.Notify(t.Context(), Mail{To: "a@example.com", Subject: "s", Text: "t"}); err == nil || !strings.Contains(err.Error(), "SES did not take it") {
			t.Errorf("%d: %v", status, err)
		}
		if len(*calls) != 1 {
			t.Errorf("%d: %d tries", status, len(*calls))
		}
	}
}
