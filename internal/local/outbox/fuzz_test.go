package outbox

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fuzztest"
)

// mailBound is what reading one mail may allocate, in bytes.
var mailBound = fuzztest.Bound{Base: 16 << 20, PerByte: 2 << 10}

// Any bytes as a mail: read, or kept as they came with what is wrong; its links are links, and cutting a text at its
// links loses nothing of it.
//
//fuzz:slow
func FuzzMail(f *testing.F) {
	for _, seed := range []string{
		"Subject: hi\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nopen https://review.example.com/review/abc123, please.", "Subject: =?utf-8?q?=C3=85sa?=\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<a href=\"https://x.example/?a=1&amp;b=2\">x</a>\r\n--b--\r\n",
		"Content-Transfer-Encoding: base64\r\n\r\n%%%%", "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n", "Content-Disposition: attachment; filename=\"a\r\nb\"\r\n\r\nx", "Content-Type: text/plain; charset=x-unknown\r\n\r\n\xff\xfe",
		"Subject: =?x?b?%?=\r\n\r\nhttp://.,;:!?)]", "", "\r\n\r\n", strings.Repeat("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n", 50),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m Message
		fuzztest.Bounded(t, mailBound, len(raw), func() { m = parse(raw) })
		if diff := cmp.Diff(m, parse(raw)); diff != "" || m.Bytes != len(raw) {
			t.Fatal(diff)
		}
		if m.Fault != "" && (!utf8.ValidString(m.Text) || m.HTML != "") {
			t.Fatalf("%+v", m)
		}
		for i, link := range m.Links {
			if !plainLink.MatchString(link) || slices.Contains(m.Links[:i], link) {
				t.Fatalf("links %q", m.Links)
			}
		}
		var joined strings.Builder
		for _, p := range pieces(m.Text) {
			joined.WriteString(p.Text)
		}
		if diff := cmp.Diff(m.Text, joined.String()); diff != "" {
			t.Fatal(diff)
		}
	})
}
