package intake_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/app/apptest"
	"holdfast/internal/clock"
	"holdfast/internal/flow"
	"holdfast/internal/identity"
	"holdfast/internal/intake"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/sources"
)

// answerBytesMax is what a sender's answer may have at most, in bytes: Shopify Flow takes a large one for a failure.
const answerBytesMax = 2 << 10

// still is a clock that stands: every input of a fuzz target is judged at one instant.
type still struct{ clock.Clock }

func (still) Now() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

// counted is a store in memory that counts its writes. It decides as the ledger does about equal and other events.
type counted struct {
	events   map[operation.EventID]operation.Event
	runs     map[operation.RunID]operation.Run
	payloads map[operation.Digest][]byte
	likeness map[string]operation.EventID
	writes   int
	started  int
}

func newCounted() *counted {
	return &counted{events: map[operation.EventID]operation.Event{}, runs: map[operation.RunID]operation.Run{},
		payloads: map[operation.Digest][]byte{}, likeness: map[string]operation.EventID{}}
}

func (c *counted) RecordEvent(_ context.Context, ev operation.Event, payload []byte) (ledger.Result[operation.Event], error) {
	c.writes++
	if payload != nil && ledger.DigestOf(payload) == ev.Payload {
		c.payloads[ev.Payload] = payload
	}
	first, there := c.events[ev.ID]
	if !there {
		c.events[ev.ID] = ev
		return ledger.Result[operation.Event]{Verdict: ledger.Recorded, Current: ev}, nil
	}
	verdict := ledger.Duplicate
	if first.Canonical != ev.Canonical {
		verdict = ledger.Variant
		if first.Deliveries[0].ID == ev.Deliveries[0].ID {
			verdict = ledger.Conflict
		}
	}
	return ledger.Result[operation.Event]{Verdict: verdict, Current: first}, nil
}

func (c *counted) Event(_ context.Context, id operation.EventID) (operation.Event, error) {
	ev, there := c.events[id]
	if !there {
		return ev, ledger.ErrNotFound
	}
	return ev, nil
}

func (c *counted) UpdateEvent(_ context.Context, _, next operation.Event) (ledger.Result[operation.Event], error) {
	c.writes++
	c.events[next.ID] = next
	return ledger.Result[operation.Event]{Verdict: ledger.Written, Current: next}, nil
}

func (c *counted) CreateRun(_ context.Context, run operation.Run) (ledger.Result[operation.Run], error) {
	c.writes++
	if stands, there := c.runs[run.ID]; there {
		return ledger.Result[operation.Run]{Verdict: ledger.Exists, Current: stands}, nil
	}
	c.runs[run.ID] = run
	return ledger.Result[operation.Run]{Verdict: ledger.Created, Current: run}, nil
}

func (c *counted) UpdateRun(_ context.Context, _, next operation.Run) (ledger.Result[operation.Run], error) {
	c.writes++
	c.runs[next.ID] = next
	return ledger.Result[operation.Run]{Verdict: ledger.Written, Current: next}, nil
}

func (c *counted) Guard(_ context.Context, likeness string, ev operation.EventID, _ operation.Time, _ time.Duration) (ledger.Repeat, error) {
	c.writes++
	before, there := c.likeness[likeness]
	if !there {
		c.likeness[likeness] = ev
	}
	return ledger.Repeat{Found: there && before != ev, Event: before}, nil
}

// Start implements intake.Launcher.
func (c *counted) Start(context.Context, operation.Run) error {
	c.started++
	return nil
}

// fuzzed is an intake over the shipped sources and a source without ids.
type fuzzed struct {
	set     *source.Set
	key     identity.Key
	configs map[string]source.Config
}

func newFuzzed(f *testing.F) fuzzed {
	f.Helper()
	configs, err := sourcefile.Load(sources.Files())
	apptest.Must(f, err)
	configs = append(configs, plain(f))
	out := fuzzed{configs: map[string]source.Config{}}
	for _, c := range configs {
		out.configs[c.Name] = c
	}
	out.set, err = source.NewSet(configs, func(_ context.Context, name string) ([]source.Secret, error) {
		return []source.Secret{source.NewSecret(secretOf(name))}, nil
	})
	apptest.Must(f, err)
	out.key, err = identity.NewKey(make([]byte, identity.KeyBytesMin))
	apptest.Must(f, err)
	return out
}

func (z fuzzed) over(c *counted) *intake.Intake {
	return &intake.Intake{Sources: z.set, Store: c, Launcher: c, Clock: still{}, Key: z.key, Owner: owner, Log: slog.New(slog.DiscardHandler),
		Flows: []flow.File{file("orders", "shopify", "orders/paid"), file("thanks", "shopify", "orders/paid"),
			file("follow-up", "shopify-flow", "follow-up"), file("notes", "standard", "note"), file("plain-notes", "plain", "note")}}
}

// hear gives the handler one Lambda event and holds its answer against what is always true.
func (z fuzzed) hear(t *testing.T, c *counted, raw []byte) (intake.Response, answer) {
	t.Helper()
	before := *c
	out, err := z.over(c).Handle(t.Context(), raw)
	if err != nil {
		t.Fatalf("the function failed instead of answering: %v", err)
	}
	var a answer
	if err := json.Unmarshal([]byte(out.Body), &a); err != nil || len(out.Body) > answerBytesMax || out.IsBase64Encoded {
		t.Fatalf("%d answered with %q: %v", out.StatusCode, out.Body, err)
	}
	switch ok := out.StatusCode == http.StatusOK || out.StatusCode == http.StatusAccepted; {
	case !ok && (out.StatusCode < 400 || out.StatusCode > 599 || a.Error == "" || a.State != ""):
		t.Fatalf("%d %q", out.StatusCode, out.Body)
	case !ok && (c.writes != before.writes || c.started != before.started):
		t.Fatalf("%d %q, and %d writes", out.StatusCode, a.Error, c.writes-before.writes)
	case ok && (c.writes == before.writes || a.State == "" || a.ID == ""):
		t.Fatalf("a yes with %d writes: %q", c.writes-before.writes, out.Body)
	}
	if strings.Contains(out.Body, secret) || strings.Contains(out.Body, signer) {
		t.Fatal("the answer shows a secret")
	}
	return out, a
}

// gatewayEvents are the shapes in which API Gateway and its relatives hand a request to a function.
func gatewayEvents(source string, header map[string]string, body string, encoded bool) []map[string]any {
	path := "/hooks/" + source
	multi := map[string][]string{}
	for name, value := range header {
		multi[name] = []string{value}
	}
	context2 := map[string]any{"http": map[string]string{"method": "POST", "path": path}, "stage": "$default"}
	return []map[string]any{
		{"version": "2.0", "rawPath": path, "headers": header, "requestContext": context2, "pathParameters": map[string]string{"source": source}, "body": body, "isBase64Encoded": encoded},
		{"version": "2.0", "rawPath": path, "headers": header, "requestContext": context2, "body": body, "isBase64Encoded": encoded},
		{"resource": "/hooks/{source}", "path": "/prod" + path, "httpMethod": "POST", "headers": header, "multiValueHeaders": multi, "pathParameters": nil, "body": body, "isBase64Encoded": encoded},
		{"httpMethod": "POST", "path": path, "headers": header, "requestContext": map[string]any{"elb": map[string]any{"targetGroupArn": "arn:aws:x"}}, "body": body, "isBase64Encoded": encoded},
	}
}

// R13: whatever invokes the function, it answers as a proxy, and a refusal has written nothing.
//
//fuzz:slow
func FuzzHandle(f *testing.F) {
	z := newFuzzed(f)
	for name := range z.configs {
		body := []byte(`{"topic":"note","type":"note","handle":"follow-up","shop_id":1,"action_run_id":"r"}`)
		for _, e := range gatewayEvents(name, z.signed(f, name, "msg_1", body), base64.StdEncoding.EncodeToString(body), true) {
			raw, err := json.Marshal(e)
			apptest.Must(f, err)
			f.Add(raw)
		}
	}
	for _, seed := range []string{
		``, `null`, `[]`, `{}`, `{"Records":[]}`, `"text"`, `{"rawPath":"/hooks/standard","rawPath":"/hooks/shopify"}`,
		`{"httpMethod":"POST","path":"/hooks/shopify","body":{"id":1}}`, `{"httpMethod":"POST","path":"/hooks/shopify","body":"%%%","isBase64Encoded":true}`,
		`{"httpMethod":"GET","path":"/hooks/shopify","body":null}`, `{"httpMethod":"POST","path":"/hooks/` + strings.Repeat("a", 300) + `"}`,
		`{"httpMethod":"POST","path":"/hooks/shopify","headers":{"X-Shopify-Hmac-Sha256":"AA=="},"body":"\ud800"}`,
		`{"httpMethod":"POST","path":"/hooks/shopify","multiValueHeaders":{"x-shopify-hmac-sha256":["a","b"]},"body":"{}"}`,
		strings.Repeat(`{"body":`, 2000) + `1` + strings.Repeat(`}`, 2000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := newCounted()
		one, _ := z.hear(t, c, raw)
		two, _ := z.hear(t, c, raw)
		if one.StatusCode != two.StatusCode {
			t.Fatalf("the same event is answered with %d and then with %d", one.StatusCode, two.StatusCode)
		}
	})
}

func (z fuzzed) signed(t testing.TB, name, id string, body []byte) map[string]string {
	t.Helper()
	header, err := source.Sign(z.configs[name], source.NewSecret(secretOf(name)), id, still{}.Now(), body)
	apptest.Must(t, err)
	out := map[string]string{}
	for key := range header {
		out[key] = header.Get(key)
	}
	if name == "shopify" {
		out["X-Shopify-Topic"], out["X-Shopify-Shop-Domain"] = "orders/paid", "shop.example"
	}
	return out
}

// The identity ladder: any genuine body is recorded under one event however often and in whatever shape it comes, or is
// refused with nothing written; what names no event is held and starts nothing.
//
//fuzz:slow
func FuzzNotification(f *testing.F) {
	z := newFuzzed(f)
	for _, seed := range []struct{ name, id, body, header, value string }{
		{"standard", "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", `{"type":"note","timestamp":"2026-11-29T12:00:00Z","data":{"request_id":"r-1"}}`, "", ""},
		{"shopify", "98880550-7158-44d4-b7cd-2c97c8a091b5", `{"id":9007199254740993,"admin_graphql_api_id":"gid://shopify/Order/1","updated_at":"2026-11-29T07:00:00-05:00","total_price":"19.90"}`, "X-Shopify-Webhook-Id", "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043"},
		{"shopify", "", `{"id":7}`, "X-Shopify-Event-Id", " "},
		{"shopify", "E1", `{"id":7}`, "X-Shopify-Topic", "orders/paid,orders/create"},
		{"shopify", "E1", `{"id":7}`, "Shopify-Topic", "orders/paid"},
		{"shopify-flow", "", `{"shop_id":690933842,"shopify_domain":"johns-apparel.example","action_run_id":"bdb15e45-6e4f-4a3d-8f2a-1d0f7a9a3c11","action_definition_id":"follow-up","handle":"follow-up","step_reference":"01","properties":{"kind":"follow-up"}}`, "", ""},
		{"shopify-flow", "", `{"shop_id":1e3,"action_run_id":"","handle":null}`, "", ""},
		{"plain", "", `{"topic":"note","version":"7"}`, "", ""},
		{"plain", "", `{"topic":["note"]}`, "", ""},
		{"standard", "msg_1", `{"type":"note","type":"other"}`, "", ""},
		{"standard", "msg_1", strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40), "", ""},
		{"standard", "msg.1", `{"type":"note"}`, "svix-id", "msg_2"},
		{"standard", "msg_1", "\ufeff{\"type\":\"note\"}", "", ""},
	} {
		f.Add(seed.name, seed.id, []byte(seed.body), seed.header, seed.value)
	}
	f.Fuzz(func(t *testing.T, name, id string, body []byte, header, value string) {
		name = cmp.Or(map[string]string{name: name}[z.configs[name].Name], "standard")
		headers := z.signed(t, name, id, body)
		if header != "" {
			headers[header] = value
		}
		c, first := newCounted(), answer{}
		for i, e := range gatewayEvents(name, headers, base64.StdEncoding.EncodeToString(body), true) {
			raw, err := json.Marshal(e)
			apptest.Must(t, err)
			out, a := z.hear(t, c, raw)
			if i == 0 {
				first = a
				first.status = out.StatusCode
			}
			if out.StatusCode != first.status {
				t.Fatalf("shape %d is answered with %d %q, the first with %d %q", i, out.StatusCode, out.Body, first.status, first.Error)
			}
		}
		z.ladder(t, c, body)
	})
}

// ladder holds what was recorded against the rules of identity.
func (z fuzzed) ladder(t *testing.T, c *counted, body []byte) {
	t.Helper()
	events := 1
	for _, ev := range c.events {
		switch {
		case ev.Rung == string(source.RungBodyDigest):
			events = 2 // the later ones are one held event
		case ev.Reason == intake.ReasonIncomplete && (ev.Rung != "" || len(ev.Missing) == 0):
			t.Errorf("held for gaps %v on the rung %q", ev.Missing, ev.Rung)
		case ev.Account == "" && ev.Rung != "" || ev.Topic == "" && ev.Rung != "":
			t.Errorf("an identity without account or topic: %+v", ev)
		}
		if held := ev.Status == operation.EventHeld; held && ev.Owner == "" || ev.BodyDigest != ledger.DigestOf(body) {
			t.Errorf("%+v", ev)
		}
		if kept, there := c.payloads[ev.Payload]; !there || string(kept) != string(body) && ev.Reason != intake.ReasonOversize {
			t.Errorf("the payload of %s is not the body that came", ev.ID)
		}
		if ev.Status == operation.EventHeld {
			for _, id := range ev.Runs {
				if _, there := c.runs[id]; there {
					t.Errorf("a held event has a run: %+v", ev)
				}
			}
		}
	}
	if len(c.events) > events {
		t.Errorf("%d events of one notification", len(c.events))
	}
}
