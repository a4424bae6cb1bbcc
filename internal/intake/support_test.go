package intake_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast/internal/app/apptest"
	"holdfast/internal/flow"
	"holdfast/internal/intake"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/sources"
)

const (
	owner operation.Person = "owner@example.com"
)

const (
	secret = "hush-hush-client-secret"
	signer = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// door is the intake with everything behind it. Its flows take orders/paid of shopify (two flows), follow-up of
// shopify-flow and note of standard and plain.
type door struct {
	*apptest.Parts
	*intake.Intake
	t       testing.TB
	configs []source.Config
}

func newDoor(t testing.TB) *door {
	t.Helper()
	d := &door{t: t, Parts: apptest.New(t, apptest.Options{Functions: map[string]apptest.Function{"ask": func([]byte) (any, error) { return nil, nil }}})}
	var err error
	d.configs, err = sourcefile.Load(sources.Files())
	apptest.Must(t, err)
	d.configs = append(d.configs, plain(t))
	set, err := source.NewSet(d.configs, func(_ context.Context, name string) ([]source.Secret, error) {
		return []source.Secret{source.NewSecret(secretOf(name))}, nil
	})
	apptest.Must(t, err)
	d.Intake = &intake.Intake{
		Sources: set, Store: d.Ledger, Launcher: d.Parts.Launcher, Clock: d.Parts.Clock, Key: d.Parts.Key, Owner: "nobody-else@example.com", Log: d.Parts.Log,
		Flows: []flow.File{file("orders", "shopify", "orders/paid"), file("thanks", "shopify", "orders/paid"),
			file("follow-up", "shopify-flow", "follow-up"), file("notes", "standard", "note"), file("plain-notes", "plain", "note")},
	}
	return d
}

func file(name, from, topic string) flow.File {
	return flow.File{Name: name, Owner: owner, Trigger: flow.Trigger{Source: from, Topics: []string{topic}}}
}

func secretOf(name string) string {
	if name == "standard" {
		return signer
	}
	return secret
}

// plain is a source without any ids, whose objects have versions.
func plain(t testing.TB) source.Config {
	t.Helper()
	field := func(text string) []source.Field {
		f, err := source.ParseField(text)
		apptest.Must(t, err)
		return []source.Field{f}
	}
	return source.Config{
		Name: "plain", Kind: source.KindGenericHMAC, Account: field("value.main"), Topic: field("body.topic"), Version: field("body.version"),
		RetryHorizon: time.Hour, Answer: source.AnswerWhenDurable,
		HMAC:  &source.HMAC{Header: "X-Sig", Encoding: "hex", Template: "{body}"},
		Facts: []source.Fact{{Page: "https://example.com/hooks", Checked: "2026-11-29"}},
	}
}

// hook is one genuine notification; header values are put over the signed ones, an empty one removes it.
type hook struct {
	from, id string
	body     []byte
	header   map[string]string
}

func (d *door) event(h hook) json.RawMessage {
	d.t.Helper()
	var signed http.Header
	for _, c := range d.configs {
		if c.Name == h.from {
			var err error
			signed, err = source.Sign(c, source.NewSecret(secretOf(h.from)), h.id, d.Parts.Clock.Now(), h.body)
			apptest.Must(d.t, err)
		}
	}
	if h.from == "shopify" {
		signed.Set("X-Shopify-Topic", "orders/paid")
		signed.Set("X-Shopify-Shop-Domain", "shop.example")
	}
	headers := map[string]string{}
	for name := range signed {
		headers[name] = signed.Get(name)
	}
	for name, value := range h.header {
		delete(headers, name)
		if value != "" {
			headers[name] = value
		}
	}
	raw, err := json.Marshal(map[string]any{
		"rawPath": "/hooks/" + h.from, "headers": headers, "body": base64.StdEncoding.EncodeToString(h.body), "isBase64Encoded": true,
		"requestContext": map[string]any{"http": map[string]string{"method": "POST"}},
	})
	apptest.Must(d.t, err)
	return raw
}

// answer is what the sender hears.
type answer struct {
	status    int
	State, ID string
	Error     string
	header    map[string]string
}

func (d *door) send(h hook) answer {
	d.t.Helper()
	return d.hears(d.event(h))
}

func (d *door) hears(raw json.RawMessage) answer {
	d.t.Helper()
	out, err := d.Handle(d.t.Context(), raw)
	apptest.Must(d.t, err)
	a := answer{status: out.StatusCode, header: out.Headers}
	if err := json.Unmarshal([]byte(out.Body), &a); err != nil {
		d.t.Fatalf("the answer %q is no JSON: %v", out.Body, err)
	}
	return a
}

// wants compares an answer's status and state.
func (d *door) wants(a answer, status int, state source.State) answer {
	d.t.Helper()
	if a.status != status || a.State != string(state) {
		d.t.Errorf("answer %d %q (%s), want %d %q", a.status, a.State, a.Error, status, state)
	}
	return a
}

// kept is everything in the ledger.
type kept struct {
	events []operation.Event
	runs   []operation.Run
}

func (d *door) kept() kept {
	d.t.Helper()
	var k kept
	apptest.Must(d.t, d.Ledger.Audit(context.Background(), 1, func(f ledger.Found) error {
		switch {
		case f.Event != nil:
			k.events = append(k.events, *f.Event)
		case f.Run != nil:
			k.runs = append(k.runs, *f.Run)
		}
		return f.Err
	}))
	return k
}

// wantKept compares the numbers of events, of held ones among them, and of runs.
func (d *door) wantKept(events, held, runs int) kept {
	d.t.Helper()
	k := d.kept()
	stopped := 0
	for _, ev := range k.events {
		if ev.Status == operation.EventHeld {
			stopped++
		}
		if ev.Step.Action != operation.ActionDone && (ev.Step.Owner == "" || ev.Step.Due == 0) {
			d.t.Errorf("event %s waits on nobody: %+v", ev.ID, ev.Step)
		}
	}
	if len(k.events) != events || stopped != held || len(k.runs) != runs {
		d.t.Fatalf("%d events, %d of them held, and %d runs; want %d, %d and %d\n%s", len(k.events), stopped, len(k.runs), events, held, runs, d.Written)
	}
	return k
}

func note(text string) []byte {
	return fmt.Appendf(nil, `{"type":"note","topic":"note","text":%q}`, text)
}

func order(id, updated string) []byte {
	return fmt.Appendf(nil, `{"id":%s,"admin_graphql_api_id":"gid://shopify/Order/%s","updated_at":%q}`, id, id, updated)
}

func action(run string) []byte {
	return fmt.Appendf(nil, `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":%q,"handle":"follow-up","properties":{"email":"ada@example.com"}}`, run)
}

// fails makes one call of DynamoDB or Step Functions go wrong.
func (d *door) fails(op, code string) {
	d.Faults.Set(func(call string, _ []byte) apptest.Fault {
		if call == op {
			return apptest.Fault{Code: code}
		}
		return apptest.Fault{}
	})
}
