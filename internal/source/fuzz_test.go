package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

// mutable are notifications whose every byte matters: where each byte that the signature covers can be changed.
func mutable(f *testing.F) map[string]source.Config {
	all := map[string]source.Config{}
	for _, c := range append(shipped(f), genericConfig()) {
		all[c.Name] = c
	}
	all["plain-base64"] = source.Config{Name: "plain-base64", Kind: source.KindGenericHMAC, Account: fields("value.main"), Topic: fields("body.topic"),
		RetryHorizon: time.Hour, Answer: source.AnswerWhenDurable, HMAC: &source.HMAC{Header: "X-Sig", Encoding: "base64", Template: "{timestamp}.{body}", Timestamp: "X-Time"},
		Facts: []source.Fact{{Page: "https://example.com/hooks", Checked: "2026-11-29"}}}
	return all
}

// signedHeaders are the headers that a signature consists of or covers, by kind of source.
var signedHeaders = map[source.Kind][]string{
	source.KindStandardWebhooks: {"Webhook-Signature", "Webhook-Id", "Webhook-Timestamp"},
	source.KindShopifyWebhook:   {"X-Shopify-Hmac-Sha256"}, source.KindShopifyFlow: {"X-Shopify-Hmac-Sha256"},
	source.KindGenericHMAC: {"X-Sig", "X-Id", "X-Time"},
}

// What a sender signed is genuine; the same with any byte of the body, of the signature or of what it covers changed,
// and with any byte more or less, is not.
func FuzzMutatedNotification(f *testing.F) {
	configs := mutable(f)
	secrets := map[string]source.Secret{}
	var list []source.Config
	for name, c := range configs {
		secrets[name] = source.NewSecret(shopifySecret)
		if c.Kind == source.KindStandardWebhooks {
			secrets[name] = source.NewSecret(standardSecret)
		}
		list = append(list, c)
		for at := range 4 {
			f.Add(name, "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", []byte(`{"type":"contact.created","topic":"note","id":9007199254740993}`), uint8(at), uint16(3), byte('A'))
		}
	}
	f.Add("shopify", "E1", []byte("{\"a\":\"\u2028\"}"), uint8(1), uint16(42), byte('R')) // the last letter of a digest has two spare bits
	f.Add("standard", "msg_1", []byte(`{}`), uint8(1), uint16(45), byte('\n'))
	set, err := source.NewSet(list, func(_ context.Context, name string) ([]source.Secret, error) {
		return []source.Secret{secrets[name]}, nil
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, id string, body []byte, where uint8, at uint16, with byte) {
		c, known := configs[name]
		if !known || len(body) == 0 || !usableID.MatchString(id) {
			return
		}
		header, err := source.Sign(c, secrets[name], id, testNow, body)
		if err != nil {
			t.Fatal(err)
		}
		send := func(header http.Header, body []byte) (source.Notification, error) {
			return set.Receive(t.Context(), source.NewRequest("POST", "/hooks/"+name, header, body), testNow)
		}
		n, err := send(header, body)
		if status, _ := source.StatusOf(err); err != nil && status != http.StatusBadRequest { // its JSON may be wrong
			t.Fatalf("a genuine notification is refused: %v", err)
		}
		if err == nil && !bytes.Equal(n.Body(), body) {
			t.Fatal("what was verified is not what came")
		}
		changed, place := header.Clone(), append([]string{""}, signedHeaders[c.Kind]...)[int(where)%(len(signedHeaders[c.Kind])+1)]
		if place == "" {
			body = mutate(body, int(at), with)
		} else if given := changed.Get(place); given != "" {
			if changed.Set(place, string(mutate([]byte(given), int(at), with))); same(c, place, given, changed.Get(place)) {
				return
			}
		} else {
			return
		}
		_, err = send(changed, body)
		if status, _ := source.StatusOf(err); err == nil || status != http.StatusUnauthorized && (status != http.StatusBadRequest || len(body) > 0) {
			t.Fatalf("%s with another byte in %q (%q, %q): %v", name, place, changed.Get(place), body, err)
		}
	})
}

var usableID = regexp.MustCompile(`^[!-+\-/-~]([ -+\-/-~]{0,60}[!-+\-/-~])?$`)

// mutate replaces one byte, or drops it, or puts one more in; what comes out is never what went in.
func mutate(b []byte, at int, with byte) []byte {
	at %= len(b) + 1
	switch {
	case at == len(b):
		return append(bytes.Clone(b), with)
	case b[at] == with:
		return append(bytes.Clone(b[:at]), b[at+1:]...)
	}
	out := bytes.Clone(b)
	out[at] = with
	return out
}

// same says that a changed header has the same value all the same: white space around it, which HTTP allows, another
// case of hexadecimal digits, and white space or another signature in a list of signatures.
func same(c source.Config, name, before, after string) bool {
	if strings.Trim(before, " \t") == strings.Trim(after, " \t") {
		return true
	}
	if name == "X-Sig" && c.HMAC.Encoding == "hex" {
		return strings.EqualFold(before, after)
	}
	return name == "Webhook-Signature" && slices.Contains(strings.Fields(after), before)
}

// A field is read as it is written, or refused.
func FuzzField(f *testing.F) {
	for _, seed := range []string{"header.X-Shopify-Topic", "signed.id", "signed.timestamp", "body.a.b.c", "value.main", "body..a", "body.", ".", "value. x", "header.a\nb", strings.Repeat("body.a", 60)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		field, err := source.ParseField(text)
		if err != nil {
			if len(err.Error()) > 8*source.FieldBytesMax {
				t.Fatalf("%d bytes of error", len(err.Error()))
			}
			return
		}
		if diff := cmp.Diff(text, field.String()); diff != "" {
			t.Fatal(diff)
		}
	})
}
