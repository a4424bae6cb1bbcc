package source_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/source"
)

// Whatever invokes the function, there is a request or an error, never both and never a panic.
func FuzzDecodeEvent(f *testing.F) {
	for _, build := range shapes() {
		f.Add(encode(f, build("/hooks/standard", http.Header{"A": {"b", "c"}}, b64("{}"), true)))
	}
	f.Add([]byte(`{"httpMethod":"POST","path":"/hooks/x","body":"\ud800","isBase64Encoded":true}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		req, err := source.DecodeEvent(raw)
		if err == nil && (req.Method == "" || len(req.Body()) > len(raw)) {
			t.Errorf("method %q, %d bytes of body out of %d", req.Method, len(req.Body()), len(raw))
		}
	})
}

// No header opens a source for a body that its sender did not sign.
func FuzzSignatureHeaders(f *testing.F) {
	set := testSet(f)
	f.Add("v1,AAAA v1a,%", "msg_1", "1795953600")
	f.Add("sha256=00", "", "x")
	f.Add(b64("forged"), ".", "-1")
	f.Fuzz(func(t *testing.T, signature, id, timestamp string) {
		header := http.Header{}
		for _, name := range []string{"Webhook-Signature", "Svix-Signature", "X-Shopify-Hmac-Sha256", "Shopify-Hmac-Sha256", "X-Sig"} {
			header.Set(name, signature)
		}
		for _, name := range []string{"Webhook-Id", "Svix-Id", "X-Id"} {
			header.Set(name, id)
		}
		for _, name := range []string{"Webhook-Timestamp", "Svix-Timestamp", "X-Time"} {
			header.Set(name, timestamp)
		}
		for _, name := range []string{"standard", "shopify", "shopify-flow", "crm"} {
			_, err := set.Receive(t.Context(), source.NewRequest("POST", "/hooks/"+name, header, []byte(`{"type":"t"}`)), testNow)
			if status, _ := source.StatusOf(err); err == nil || status != http.StatusUnauthorized {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// What is parsed has one canonical form: stable, of the same value, and with the same number literals.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1.0,"a":[1e5,-0,"\u2028\ud83d\ude00"]}`, `"\u0000"`, `[[[]],{}]`, `{"a":1,"a":2}`, "\xff", `12345678901234567890.10`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		d, err := source.Parse(raw)
		if !bytes.Equal(before, raw) {
			t.Fatal("parsing changed the received bytes")
		}
		if err != nil {
			return
		}
		again, err := source.Parse(d.Canonical())
		if err != nil {
			t.Fatalf("the canonical form is refused: %v", err)
		}
		if !bytes.Equal(d.Canonical(), again.Canonical()) {
			t.Errorf("canonical forms %s and %s", d.Canonical(), again.Canonical())
		}
		if diff := cmp.Diff(d.Value(), again.Value()); diff != "" {
			t.Errorf("the canonical form means something else:\n%s", diff)
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var other any
		if err := decoder.Decode(&other); err != nil {
			t.Fatalf("the standard library refuses what was parsed: %v", err)
		}
		if diff := cmp.Diff(other, d.Value()); diff != "" {
			t.Errorf("the standard library reads another value:\n%s", diff)
		}
	})
}
