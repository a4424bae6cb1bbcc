package local

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/fuzztest"
	"holdfast/internal/samtemplate"
	"holdfast/internal/source"
)

// eventBound is what making one event for a function may allocate, in bytes.
var eventBound = fuzztest.Bound{Base: 16 << 20, PerByte: 64}

// Whatever a request holds, the function gets the exact bytes of its body and every header once, as the gateway of a
// deployed stack hands them over.
func FuzzGateway(f *testing.F) {
	for _, seed := range []struct{ kind, header, value, path, body string }{
		{"application/json", "Webhook-Id", "msg_1", "/hooks/standard", `{"a":"ü\u2028"}`}, {"application/json; charset=utf-8", "X-A", "b,c", "/hooks/shopify", "\xff\xfe"}, {"", "Cookie", "a=b; c=d;;", "/hooks/x", "plain"},
		{"application/x-www-form-urlencoded", "X-A", " b ", "/review/abc", "a=b&c=%ff"}, {"text/plain", "Host", "other", "/hooks/%2e%2e/x", ""}, {"a;b;;=", "Content-Length", "99", "//hooks//standard/", "\x00"},
	} {
		f.Add(seed.kind, seed.header, seed.value, seed.path, []byte(seed.body))
	}
	l := &Local{Clock: clock.New()}
	f.Fuzz(func(t *testing.T, kind, header, value, path string, body []byte) {
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		req.URL.Path = path
		req.Header.Set("Content-Type", kind)
		req.Header.Set(header, value)
		var payload []byte
		var err error
		fuzztest.Bounded(t, eventBound, len(body)+len(value)+len(path), func() {
			payload, err = json.Marshal(l.event(req, samtemplate.Route{Method: "POST", Path: "/hooks/{source}", Function: "Webhook"}, body))
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := source.DecodeEvent(payload)
		if err != nil || got.Method != http.MethodPost || !bytes.Equal(got.Body(), body) {
			t.Fatalf("%q with %q became %q: %v", kind, body, got.Body(), err)
		}
		name := textproto.CanonicalMIMEHeaderKey(header)
		if name == "Cookie" || name == "Content-Length" || name == "Host" || strings.HasPrefix(name, "X-Forwarded-") || textproto.CanonicalMIMEHeaderKey(strings.ToLower(header)) != name {
			return
		}
		if diff := cmp.Diff([]string{strings.ToValidUTF8(value, "\ufffd")}, got.Header[name]); diff != "" && strings.ToValidUTF8(value, "") == value {
			t.Fatalf("header %q:\n%s", name, diff)
		}
	})
}
