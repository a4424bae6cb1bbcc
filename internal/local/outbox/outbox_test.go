package outbox_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/smtp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/clock"
	"holdfast/internal/local/outbox"
)

func start(t *testing.T) (*outbox.Outbox, string) {
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
	return b, addr
}

func send(t *testing.T, addr string, lines ...string) {
	t.Helper()
	raw := strings.Join(lines, "\r\n")
	if err := smtp.SendMail(addr, nil, "holdfast@example.com", []string{"reviewer@example.com"}, []byte(raw)); err != nil {
		t.Fatal(err)
	}
}

func sendBoth(t *testing.T, addr string) {
	t.Helper()
	send(t, addr, "Subject: =?utf-8?q?Godk=C3=A4nn?=", "MIME-Version: 1.0", "Content-Type: multipart/alternative; boundary=b", "",
		"--b", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "",
		"L=C3=A4s: http://127.0.0.1:8080/r/abc.", "Kod <script>alert(1)</script> 123", "",
		"--b", "Content-Type: text/html; charset=iso-8859-1", "Content-Transfer-Encoding: base64", "",
		"PGEgaHJlZj0iaHR0cDovLzEyNy4wLjAuMTo4MDgwL3IvYWJjP2E9MSZhbXA7Yj0yIj5M5HM8L2E+", "",
		"--b", "Content-Type: application/pdf", "Content-Disposition: attachment; filename=offer.pdf", "", "x", "--b--", "")
}

func get(b *outbox.Outbox, url string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	b.Handler().ServeHTTP(rec, httptest.NewRequest("GET", url, nil))
	return rec
}

func TestMailIsDecoded(t *testing.T) {
	t.Parallel()
	b, addr := start(t)
	sendBoth(t, addr)
	want := []outbox.Message{{
		N: 1, From: "holdfast@example.com", To: []string{"reviewer@example.com"}, Subject: "Godkänn",
		Text:  "Läs: http://127.0.0.1:8080/r/abc.\r\nKod <script>alert(1)</script> 123\r\n",
		HTML:  `<a href="http://127.0.0.1:8080/r/abc?a=1&amp;b=2">Läs</a>`,
		Links: []string{"http://127.0.0.1:8080/r/abc", "http://127.0.0.1:8080/r/abc?a=1&b=2"}, Attachments: []string{"offer.pdf"},
	}}
	if diff := cmp.Diff(want, b.Messages(), cmpopts.IgnoreFields(outbox.Message{}, "Time", "Bytes")); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
}

func TestPagesEscapeAndLink(t *testing.T) {
	t.Parallel()
	b, addr := start(t)
	sendBoth(t, addr)
	page := get(b, "http://localhost:1/outbox/1").Body.String()
	for _, want := range []string{
		`<a href="http://127.0.0.1:8080/r/abc" rel="noopener noreferrer">http://127.0.0.1:8080/r/abc</a>.`,
		`&lt;script&gt;alert(1)&lt;/script&gt;`, `sandbox="allow-popups allow-popups-to-escape-sandbox" srcdoc="&lt;base`, "offer.pdf", "Godkänn",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script>") {
		t.Error("a script from the mail stands on the page")
	}
	if list := get(b, "http://localhost:1/outbox").Body.String(); !strings.Contains(list, `<a href="/outbox/1">Godkänn</a>`) {
		t.Errorf("the list does not lead to the mail:\n%s", list)
	}
	if status := get(b, "http://localhost:1/outbox/2").Code; status != 404 {
		t.Errorf("a mail that is not there answered %d", status)
	}
}

func TestDataListsAllMails(t *testing.T) {
	t.Parallel()
	b, addr := start(t)
	if body := get(b, "http://[::1]:1/outbox.json").Body.String(); strings.Join(strings.Fields(body), "") != `{"messages":[]}` {
		t.Errorf("an empty outbox says %s", body)
	}
	sendBoth(t, addr)
	var data struct{ Messages []outbox.Message }
	if err := json.Unmarshal(get(b, "http://127.0.0.1/outbox.json").Body.Bytes(), &data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.Messages(), data.Messages); diff != "" {
		t.Errorf("data (-messages +data):\n%s", diff)
	}
}

func TestForeignNameReadsNothing(t *testing.T) {
	t.Parallel()
	b, _ := start(t)
	if status := get(b, "http://rebound.example.com/outbox.json").Code; status != 403 {
		t.Errorf("a foreign host name got %d", status)
	}
}

func TestMailThatBreaksTheRulesIsKept(t *testing.T) {
	t.Parallel()
	b, addr := start(t)
	send(t, addr, "Subject: x", "Content-Type: multipart/mixed; boundary=b", "", "--b", "Content-Type: text/plain", "", "cut off http://127.0.0.1/r/x")
	m := b.Messages()[0]
	if m.Fault == "" || !strings.Contains(m.Text, "cut off") || len(m.Links) != 1 {
		t.Errorf("%+v, want the fault, the raw text and its link", m)
	}
}

func TestOldestGivesWayAndNumbersStay(t *testing.T) {
	t.Parallel()
	b, addr := start(t)
	var work sync.WaitGroup
	for range 10 {
		work.Go(func() {
			for range 51 {
				send(t, addr, "Subject: x", "", "y")
			}
		})
	}
	work.Wait()
	all := b.Messages()
	if len(all) != 500 || all[0].N != 11 || all[499].N != 510 {
		t.Errorf("%d mails from %d to %d, want 500 from 11 to 510", len(all), all[0].N, all[len(all)-1].N)
	}
}

func TestTooLargeMailIsRefused(t *testing.T) {
	t.Parallel()
	b, addr := start(t)
	line := strings.Repeat("x", 998) + "\r\n"
	err := smtp.SendMail(addr, nil, "a@example.com", []string{"b@example.com"}, []byte("Subject: x\r\n\r\n"+strings.Repeat(line, 1100)))
	if err == nil || len(b.Messages()) != 0 {
		t.Errorf("error %v, %d mails kept; want a refusal and none", err, len(b.Messages()))
	}
}

func TestListenRefusesOtherAddresses(t *testing.T) {
	t.Parallel()
	b, _ := start(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "example.com:25", "nonsense"} {
		if _, err := b.Listen(addr); err == nil {
			t.Errorf("listened at %s", addr)
		}
	}
}

func TestCloseEndsOpenConnections(t *testing.T) {
	t.Parallel()
	b, addr := start(t)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	r := bufio.NewReader(c)
	if greeting, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(greeting, "220 ") {
		t.Fatalf("greeting %q, %v", greeting, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Listen("127.0.0.1:0"); err == nil {
		t.Error("listened after Close")
	}
	if _, err := io.ReadAll(r); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection was not ended: %v", err)
	}
}
