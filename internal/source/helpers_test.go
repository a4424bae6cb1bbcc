package source_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"testing"
	"time"

	"holdfast/internal/identity"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/sources"
)

// testNow is the time by the product's clock in every test here.
var testNow = time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)

const (
	shopifySecret  = "hush-hush-client-secret"
	standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// testSet is the shipped sources and a generic one, each with one secret.
func testSet(t testing.TB) *source.Set {
	t.Helper()
	return setWith(t, map[string][]source.Secret{
		"shopify":      {source.NewSecret(shopifySecret)},
		"shopify-flow": {source.NewSecret(shopifySecret)},
		"standard":     {source.NewSecret(standardSecret)},
		"crm":          {source.NewSecret(shopifySecret)},
	})
}

func setWith(t testing.TB, secrets map[string][]source.Secret) *source.Set {
	t.Helper()
	set, err := source.NewSet(append(shipped(t), genericConfig()), func(_ context.Context, name string) ([]source.Secret, error) {
		return secrets[name], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func shipped(t testing.TB) []source.Config {
	t.Helper()
	configs, err := sourcefile.Load(sources.Files())
	if err != nil {
		t.Fatal(err)
	}
	return configs
}

func config(t testing.TB, name string) source.Config {
	t.Helper()
	for _, c := range append(shipped(t), genericConfig()) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no source %s", name)
	return source.Config{}
}

func genericConfig() source.Config {
	return source.Config{
		Name: "crm", Kind: source.KindGenericHMAC,
		Account: fields("value.main"), Topic: fields("body.topic"), EventID: fields("signed.id"),
		RetryHorizon: time.Hour, Answer: source.AnswerWhenDurable,
		HMAC:  &source.HMAC{Header: "X-Sig", Encoding: "hex", Prefix: "sha256=", Template: "{id}.{timestamp}.{body}", ID: "X-Id", Timestamp: "X-Time"},
		Facts: []source.Fact{{Page: "https://example.com/hooks", Checked: "2026-11-29"}},
	}
}

func fields(texts ...string) []source.Field {
	var list []source.Field
	for _, text := range texts {
		f, err := source.ParseField(text)
		if err != nil {
			panic(err)
		}
		list = append(list, f)
	}
	return list
}

// hook is one genuine notification: signed as its sender signs, then with the headers put over it.
type hook struct {
	source string
	id     string
	body   string
	header map[string]string // an empty value removes the header
}

func (h hook) request(t testing.TB) source.Request {
	t.Helper()
	return source.NewRequest("POST", "/hooks/"+h.source, h.headers(t), []byte(h.body))
}

func (h hook) headers(t testing.TB) http.Header {
	t.Helper()
	c := config(t, h.source)
	secret := shopifySecret
	if c.Kind == source.KindStandardWebhooks {
		secret = standardSecret
	}
	header, err := source.Sign(c, source.NewSecret(secret), h.id, testNow, []byte(h.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.Kind == source.KindShopifyWebhook {
		header.Set("X-Shopify-Topic", "orders/paid")
		header.Set("X-Shopify-Shop-Domain", "shop.example")
	}
	for name, value := range h.header {
		header.Del(name)
		if value != "" {
			header.Set(name, value)
		}
	}
	return header
}

func (h hook) receive(t testing.TB) source.Notification {
	t.Helper()
	n, err := testSet(t).Receive(t.Context(), h.request(t), testNow)
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	return n
}

func (h hook) identity(t testing.TB) source.Identity {
	t.Helper()
	return h.receive(t).Identity()
}

func eventID(t testing.TB, i source.Identity) string {
	t.Helper()
	key, err := identity.NewKey(make([]byte, identity.KeyBytesMin))
	if err != nil {
		t.Fatal(err)
	}
	id, err := i.EventID(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantRefusal checks the refusal's reason and status and returns its message.
func wantRefusal(t testing.TB, err error, status int, reason source.Reason) string {
	t.Helper()
	var r *source.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("error %v, want a refusal %s", err, reason)
	}
	if r.Status != status || r.Reason != reason {
		t.Errorf("refused with %d %s (%s), want %d %s", r.Status, r.Reason, r.Message, status, reason)
	}
	return r.Message
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
