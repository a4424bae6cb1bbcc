package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/identity"
	"holdfast/internal/source"
)

const second = time.Second

func shopify(event, delivery, topic, body string) hook {
	return hook{source: "shopify", id: event, body: body, header: map[string]string{
		"X-Shopify-Event-Id": event, "X-Shopify-Webhook-Id": delivery, "X-Shopify-Topic": topic,
	}}
}

// pair receives two notifications, the second one later, and says how they relate and whether they share an event.
func pair(t *testing.T, first, later hook, apart time.Duration) (source.Relation, bool) {
	t.Helper()
	a, b := first.identity(t), later.identity(t)
	return source.Relate(a, b, apart), eventID(t, a) == eventID(t, b)
}

type related struct {
	first, later hook
	apart        time.Duration
	want         source.Relation
	same         bool
}

func check(t *testing.T, cases map[string]related) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, same := pair(t, c.first, c.later, c.apart)
			if got != c.want || same != c.same {
				t.Errorf("relation %s, one event %v; want %s, %v", got, same, c.want, c.same)
			}
		})
	}
}

// Right: with the event id one event; without it, the canonical form is one value and the second one is held.
func TestCaseB004_OtherKeyOrderIsTheSameContent(t *testing.T) {
	t.Parallel()
	const a, b = `{"order":7,"tag":"vip","type":"t"}`, `{ "tag":"vip", "type":"t", "order":7 }`
	check(t, map[string]related{
		"with the event id":    {shopify("E1", "A", "t", a), shopify("E1", "A", "t", b), second, source.RelationDuplicate, true},
		"without any id":       {shopify("", "", "t", a), shopify("", "", "t", b), second, source.RelationPossibleRepeat, true},
		"standard, same id":    {hook{source: "standard", id: "m", body: a}, hook{source: "standard", id: "m", body: b}, second, source.RelationDuplicate, true},
		"other value, no id":   {shopify("", "", "t", a), shopify("", "", "t", strings.Replace(b, "7", "8", 1)), second, source.RelationNone, false},
		"number for text":      {shopify("", "", "t", a), shopify("", "", "t", strings.Replace(b, "7", `"7"`, 1)), second, source.RelationNone, false},
		"after the repetition": {shopify("", "", "t", a), shopify("", "", "t", b), 4*time.Hour + second, source.RelationNone, true},
	})
}

// Right: same id with another body is flagged and held; other ids with one text are two events.
func TestCaseB011_IdentityComesFromIDsNotFromLookingAlike(t *testing.T) {
	t.Parallel()
	standard := func(id, text string) hook {
		return hook{source: "standard", id: id, body: `{"type":"t","text":"` + text + `"}`}
	}
	check(t, map[string]related{
		"same id, other body":     {standard("m1", "Hello   you"), standard("m1", `Hello\nyou`), second, source.RelationConflict, true},
		"other id, same body":     {standard("m1", "Hello you"), standard("m2", "Hello you"), second, source.RelationNone, false},
		"same delivery, other":    {shopify("E1", "A", "t", `{"t":"Hello   you"}`), shopify("E1", "A", "t", `{"t":"Hello\nyou"}`), second, source.RelationConflict, true},
		"no delivery id, other":   {shopify("E1", "", "t", `{"t":"Hello   you"}`), shopify("E1", "", "t", `{"t":"Hello\nyou"}`), second, source.RelationConflict, true},
		"delivery rung, other":    {shopify("", "A", "t", `{"t":"Hello   you"}`), shopify("", "A", "t", `{"t":"Hello\nyou"}`), second, source.RelationConflict, true},
		"other subscription":      {shopify("E1", "A", "t", `{"t":"Hello","more":1}`), shopify("E1", "B", "t", `{"t":"Hello"}`), second, source.RelationVariant, true},
		"unsigned id, equal body": {shopify("E1", "A", "t", `{"t":"Hello"}`), shopify("E2", "B", "t", `{"t":"Hello"}`), second, source.RelationPossibleRepeat, false},
	})
}

// Right, our part: five parallel deliveries name one event; the claim on it is the ledger's conditional write.
func TestCaseB043_ParallelDeliveriesNameOneEvent(t *testing.T) {
	t.Parallel()
	ids, deliveries := map[string]bool{}, map[string]bool{}
	for _, delivery := range []string{"A", "B", "C", "D", "E"} {
		i := shopify("E1", delivery, "orders/updated", `{"id":7}`).identity(t)
		ids[eventID(t, i)], deliveries[i.DeliveryID] = true, true
	}
	if len(ids) != 1 || len(deliveries) != 5 {
		t.Errorf("%d events of %d deliveries, want 1 of 5", len(ids), len(deliveries))
	}
}

// Right: A, B with E1 one event; E2 another even if the delivery id repeats; E1 missing falls back, marked; the topic
// is part of the key.
func TestCaseB044_EventIDAndDeliveryIDAreTwoThings(t *testing.T) {
	t.Parallel()
	const body, other = `{"id":7}`, `{"id":8}`
	check(t, map[string]related{
		"A then B with E1":        {shopify("E1", "A", "orders/paid", body), shopify("E1", "B", "orders/paid", body), second, source.RelationDuplicate, true},
		"E2 with A again":         {shopify("E1", "A", "orders/paid", body), shopify("E2", "A", "orders/paid", other), second, source.RelationNone, false},
		"one E1, two topics":      {shopify("E1", "A", "orders/create", body), shopify("E1", "B", "orders/paid", body), second, source.RelationNone, false},
		"E1 lost on the repeat":   {shopify("E1", "A", "orders/paid", body), shopify("", "A", "orders/paid", body), second, source.RelationPossibleRepeat, false},
		"event id as delivery id": {shopify("", "X", "orders/paid", body), shopify("X", "", "orders/paid", other), second, source.RelationNone, false},
	})
	i := shopify("", "A", "orders/paid", body).identity(t)
	if i.Rung != source.RungDeliveryID || i.Value != "A" || i.SignedID {
		t.Errorf("without an event id: rung %s, value %q, signed %v; want the delivery id, marked and unsigned", i.Rung, i.Value, i.SignedID)
	}
}

// Right: with an event id one event; without, the first runs and the rest are likely repeats, told by object, version
// and topic even where the subscriptions' bodies differ.
func TestCaseB046_DoubleRegistrationIsALikelyRepeat(t *testing.T) {
	t.Parallel()
	const full, slim = `{"admin_graphql_api_id":"gid://x/7","updated_at":"2026-11-29T11:59:00Z","note":"n"}`, `{"admin_graphql_api_id":"gid://x/7","updated_at":"2026-11-29T11:59:00Z"}`
	later := strings.Replace(slim, "11:59", "11:58", 1)
	check(t, map[string]related{
		"with the event id":      {shopify("E1", "A", "t", full), shopify("E1", "B", "t", slim), second, source.RelationVariant, true},
		"same object, version":   {shopify("", "A", "t", full), shopify("", "B", "t", slim), second, source.RelationPossibleRepeat, false},
		"equal bodies":           {shopify("", "A", "t", `{"id":7}`), shopify("", "B", "t", `{"id":7}`), second, source.RelationPossibleRepeat, false},
		"another version":        {shopify("", "A", "t", full), shopify("", "B", "t", later), second, source.RelationNone, false},
		"another topic":          {shopify("", "A", "t", full), shopify("", "B", "u", slim), second, source.RelationNone, false},
		"after the horizon":      {shopify("", "A", "t", full), shopify("", "B", "t", slim), 4*time.Hour + second, source.RelationNone, false},
		"two ids in one second":  {shopify("E1", "A", "t", full), shopify("E2", "B", "t", slim), second, source.RelationNone, false},
		"the horizon's last bit": {shopify("", "A", "t", full), shopify("", "B", "t", slim), 4 * time.Hour, source.RelationPossibleRepeat, false},
	})
}

// Right, our part: create and paid are two events of one order whichever comes first, and each says when it happened.
func TestCaseB047_FollowUpBeforeCreateKeepsItsOwnTime(t *testing.T) {
	t.Parallel()
	paid, create := shopify("E2", "A", "orders/paid", `{"id":7}`), shopify("E1", "B", "orders/create", `{"id":7}`)
	paid.header["X-Shopify-Triggered-At"], create.header["X-Shopify-Triggered-At"] = "2026-11-29T12:00:00.3+01:00", "2026-11-29T11:00:00Z"
	a, b := paid.identity(t), create.identity(t)
	if eventID(t, a) == eventID(t, b) || source.Relate(a, b, second) != source.RelationNone {
		t.Error("paid and create are taken for one event")
	}
	if !b.OccurredAt.Before(a.OccurredAt) || a.OccurredAtSigned {
		t.Errorf("create at %s, paid at %s, signed %v; want create first, unsigned", b.OccurredAt, a.OccurredAt, a.OccurredAtSigned)
	}
}

// Right: no id, same bytes, same source, 30 ms apart: a possible repeat, not one event and not dropped.
func TestCaseB070_SameBytesWithoutAnIDArePossibleRepeats(t *testing.T) {
	t.Parallel()
	first := shopify("", "", "t", `{"id":7}`)
	check(t, map[string]related{
		"30 ms apart":     {first, first, 30 * time.Millisecond, source.RelationPossibleRepeat, true},
		"another account": {first, hook{source: "shopify", body: first.body, header: map[string]string{"X-Shopify-Event-Id": "", "X-Shopify-Topic": "t", "X-Shopify-Shop-Domain": "other.example"}}, second, source.RelationNone, false},
	})
	i := first.identity(t)
	if i.Rung != source.RungBodyDigest || i.Value != i.CanonicalDigest || i.Horizon != 4*time.Hour {
		t.Errorf("identity stands on %s with horizon %s", i.Rung, i.Horizon)
	}
}

func TestR10_MissingBlankOrAmbiguousPartsAreHeld(t *testing.T) {
	t.Parallel()
	flow := func(body string) hook { return hook{source: "shopify-flow", body: body} }
	head := func(name, value string) hook {
		h := shopify("E1", "A", "t", `{"id":7}`)
		h.header[name] = value
		return h
	}
	for name, c := range map[string]struct {
		hook hook
		want []source.Gap
	}{
		"nothing at all": {flow(`{}`), []source.Gap{{Part: "account", Problem: "body.shop_id or body.shopify_domain is missing"}, {Part: "topic", Problem: "body.handle or body.action_definition_id is missing"}}},
		"no object":      {flow(`[1]`), []source.Gap{{Part: "account", Problem: "body.shop_id or body.shopify_domain is missing"}, {Part: "topic", Problem: "body.handle or body.action_definition_id is missing"}}},
		"blank run id": {flow(`{"shop_id":7,"handle":"h","action_run_id":" "}`), []source.Gap{
			{Part: "event id", Problem: "body.action_run_id is blank"}, {Part: "delivery id", Problem: "body.action_run_id is blank"}}},
		"blank hides no other": {flow(`{"shop_id":"","shopify_domain":"x","handle":"h","action_run_id":"R"}`), []source.Gap{{Part: "account", Problem: "body.shop_id is blank"}}},
		"exponent":             {flow(`{"shop_id":1e3,"handle":"h","action_run_id":"R"}`), []source.Gap{{Part: "account", Problem: "body.shop_id is a number with an exponent; identities need plain digits"}}},
		"list as topic":        {flow(`{"shop_id":7,"handle":["h"],"action_run_id":"R"}`), []source.Gap{{Part: "topic", Problem: "body.handle is neither a text nor a number"}}},
		"true as id":           {flow(`{"shop_id":7,"handle":"h","action_run_id":true}`), []source.Gap{{Part: "event id", Problem: "body.action_run_id is neither a text nor a number"}, {Part: "delivery id", Problem: "body.action_run_id is neither a text nor a number"}}},
		"no topic header":      {head("X-Shopify-Topic", ""), []source.Gap{{Part: "topic", Problem: "header.X-Shopify-Topic or header.Shopify-Topic is missing"}}},
		"blank id header":      {head("X-Shopify-Event-Id", " "), []source.Gap{{Part: "event id", Problem: "header.X-Shopify-Event-Id is blank"}}},
		"two ids in a header":  {head("X-Shopify-Event-Id", "E1, E2"), []source.Gap{{Part: "event id", Problem: "header.X-Shopify-Event-Id is given more than once"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := c.hook.identity(t)
			if diff := cmp.Diff(c.want, i.Incomplete); diff != "" || i.Complete() || i.Value != "" || len(i.Likenesses) != 0 {
				t.Errorf("complete %v, value %q, gaps (-want +got):\n%s", i.Complete(), i.Value, diff)
			}
			if got := source.Relate(i, i, 0); got != source.RelationNone {
				t.Errorf("an incomplete identity relates to itself as %s", got)
			}
		})
	}
}

func TestR10_HeldNotificationsShareAnIDOnlyWithTheirOwnBytes(t *testing.T) {
	t.Parallel()
	held := func(body string) string { return eventID(t, hook{source: "shopify-flow", body: body}.identity(t)) }
	first, again, other := held(`{"handle":"h"}`), held(`{"handle":"h"}`), held(`{"handle":"i"}`)
	if first != again || first == other || !strings.HasPrefix(first, "ev_") {
		t.Errorf("ids %s, again %s, other bytes %s", first, again, other)
	}
}

func TestFlowIdentityComesFromTheSignedBody(t *testing.T) {
	t.Parallel()
	const body = `{"shop_id":7,"shopify_domain":"shop.example","action_run_id":"R","action_definition_id":"follow-up-v1","handle":"follow-up","properties":{"kind":"follow-up"}}`
	got := hook{source: "shopify-flow", body: body, header: map[string]string{"X-Shopify-Event-Id": "forged", "X-Shopify-Topic": "forged"}}.identity(t)
	want := source.Identity{
		Source: "shopify-flow", Account: "7", Topic: "follow-up", Rung: source.RungEventID, Value: "R", DeliveryID: "R",
		BodyDigest: got.BodyDigest, CanonicalDigest: got.CanonicalDigest, SignedID: true, Horizon: 36 * time.Hour,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	older := hook{source: "shopify-flow", body: strings.Replace(body, `"handle":"follow-up",`, "", 1)}.identity(t)
	if older.Topic != "follow-up-v1" {
		t.Errorf("without a handle the topic is %q", older.Topic)
	}
	asText := hook{source: "shopify-flow", body: strings.Replace(body, `:7,`, `:"7",`, 1)}.identity(t)
	if eventID(t, asText) != eventID(t, got) {
		t.Error("the sender's own id changed with its JSON type")
	}
}

func TestSignedIDNeedsEveryPartSigned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook   hook
		signed bool
		alike  int
	}{
		"standard":           {hook{source: "standard", id: "m", body: `{"type":"t"}`}, true, 0},
		"generic, signed id": {hook{source: "crm", id: "m", body: `{"topic":"t"}`}, true, 0},
		"flow without id":    {hook{source: "shopify-flow", body: `{"shop_id":7,"handle":"h"}`}, true, 1},
		"shopify":            {shopify("E1", "A", "t", `{"id":7}`), false, 1},
		"shopify, no id":     {shopify("", "A", "t", `{"admin_graphql_api_id":"g","updated_at":"u"}`), false, 2},
		"digest, bare topic": {shopify("", "", "t", `{"id":7}`), false, 1},
	} {
		i := c.hook.identity(t)
		if i.SignedID != c.signed || len(i.Likenesses) != c.alike {
			t.Errorf("%s: signed %v with %d likenesses, want %v with %d", name, i.SignedID, len(i.Likenesses), c.signed, c.alike)
		}
	}
}

func TestLikenessIDsAreScopedAndHideTheBody(t *testing.T) {
	t.Parallel()
	key, err := identity.NewKey(make([]byte, identity.KeyBytesMin))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, h := range []hook{shopify("E1", "A", "t", `{"id":7}`), shopify("E1", "A", "u", `{"id":7}`), shopify("E1", "A", "t", `{"id":8}`)} {
		got, err := h.identity(t).LikenessIDs(key)
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "lk_") || ids[got[0]] != "" {
			t.Fatalf("likenesses %v of %s, error %v; want one of its own", got, h.body, err)
		}
		ids[got[0]] = h.body
	}
}

func TestCaseB077_OccurredAtInAnotherUnitIsUnknown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		`"2026-11-29T11:59:58.5Z"`:    time.Date(2026, 11, 29, 11, 59, 58, 5e8, time.UTC),
		`1795953600`:                  time.Unix(1795953600, 0).UTC(),
		`"2026-11-29T13:00:00+01:00"`: testNow,
		`1795953600000`:               {},
		`"2019-12-31T23:59:59Z"`:      {},
		`"2101-01-01T00:00:00Z"`:      {},
		`"2026-11-29T12:05:01Z"`:      {}, // the future
		`"yesterday"`:                 {},
		`null`:                        {},
	} {
		i := hook{source: "standard", id: "m", body: `{"type":"t","timestamp":` + text + `}`}.identity(t)
		if !i.OccurredAt.Equal(want) || i.OccurredAtSigned != !want.IsZero() {
			t.Errorf("%s is read as %s, signed %v; want %s", text, i.OccurredAt, i.OccurredAtSigned, want)
		}
	}
}
