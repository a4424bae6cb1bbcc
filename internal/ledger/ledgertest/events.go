package ledgertest

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func eventCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"CaseB043_SameEventAtOnce": sameEventAtOnce,
		"R09_EventAnswers":         eventAnswers,
		"R09_DeliveryBeside":       deliveryBeside,
		"R10_RepeatGuardOvertaken": repeatGuardOvertaken,
		"R09_PayloadFirst":         payloadFirst,
		"R09_PayloadOf1MiB":        payloadOf1MiB,
		"R10_RepeatGuard":          repeatGuard,
		"R10_RepeatGuardAtOnce":    repeatGuardAtOnce,
	}
}

// came is an event as one delivery brought it.
func (b *bench) came(id operation.EventID, delivery string, body string) operation.Event {
	now, digest := b.at(), ledger.DigestOf([]byte(body))
	return operation.Event{ID: id, Source: "shopify", Account: "shop-1", Topic: "orders/updated", Rung: "event_id",
		BodyDigest: digest, Payload: digest, Received: now, Owner: "ops-lead@example.com", Flows: []string{"campaign-follow-up"},
		Deliveries: []operation.Delivery{{ID: delivery, At: now, BodyDigest: digest}},
		Step:       operation.Step{Action: operation.ActionWait, Due: now, Owner: "ops-lead@example.com"}}
}

func (b *bench) record(id operation.EventID, delivery, body string) ledger.Result[operation.Event] {
	b.t.Helper()
	res, err := b.RecordEvent(b.t.Context(), b.came(id, delivery, body), []byte(body))
	if err != nil {
		b.t.Errorf("record %s by %s: %v", id, delivery, err)
	}
	return res
}

func sameEventAtOnce(t *testing.T, b *bench) {
	const deliveries = 5
	var recorded, duplicate atomic.Int64
	together(deliveries, func(i int) {
		switch b.record("ev_1", fmt.Sprintf("d%d", i), `{"order":7}`).Verdict {
		case ledger.Recorded:
			recorded.Add(1)
		case ledger.Duplicate:
			duplicate.Add(1)
		}
	})
	if recorded.Load() != 1 || duplicate.Load() != deliveries-1 {
		t.Errorf("%d recorded and %d duplicates; want 1 and %d", recorded.Load(), duplicate.Load(), deliveries-1)
	}
	ev, err := b.Event(t.Context(), "ev_1")
	if err != nil || len(ev.Deliveries) != deliveries {
		t.Errorf("%d deliveries, %v; want all %d", len(ev.Deliveries), err, deliveries)
	}
}

func eventAnswers(t *testing.T, b *bench) {
	steps := []struct {
		delivery, body string
		want           ledger.Verdict
	}{
		{"d1", `{"order":7}`, ledger.Recorded},
		{"d1", `{"order":7}`, ledger.Duplicate},
		{"d2", `{"order":7}`, ledger.Duplicate},
		{"d1", `{"order":8}`, ledger.Conflict},
		{"d1", `{"order":8}`, ledger.Conflict},
		{"d3", `{"order":7,"more":true}`, ledger.Variant},
		{"d3", `{"order":7,"more":true}`, ledger.Variant},
		{"d3", `{"order":9}`, ledger.Conflict},
		{"", `{"order":7}`, ledger.Duplicate},
	}
	for i, s := range steps {
		if got := b.record("ev_1", s.delivery, s.body); got.Verdict != s.want {
			t.Errorf("step %d: %q with %s: got %v, want %v", i, s.delivery, s.body, got.Verdict, s.want)
		}
	}
	ev, err := b.Event(t.Context(), "ev_1")
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		ID      string
		Count   int
		Variant bool
	}
	var got []line
	for _, d := range ev.Deliveries {
		got = append(got, line{d.ID, d.Count, d.Variant})
	}
	want := []line{{"d1", 2, false}, {"d2", 0, false}, {"d1", 2, false}, {"d3", 2, true}, {"d3", 0, false}, {"", 0, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if first, err := b.Payload(t.Context(), "ev_1", ev.Payload); err != nil || string(first) != `{"order":7}` {
		t.Errorf("payload %q, %v; want the first one's", first, err)
	}
	if _, err := b.Payload(t.Context(), "ev_1", ledger.DigestOf([]byte(`{"order":7,"more":true}`))); err != nil {
		t.Errorf("the variant's payload: %v; want it kept, it may supply what is missing", err)
	}
}

// Another delivery of the event is folded in before each of the first writes of ours: both are on the list.
func deliveryBeside(t *testing.T, b *bench) {
	b.record("ev_1", "d1", "{}")
	w := &wire{script: func(c string, n int, _ []byte) fault {
		if c != "UpdateItem" || n > 3 {
			return fault{}
		}
		return fault{before: func() { b.record("ev_1", fmt.Sprintf("beside%d", n), "{}") }}
	}}
	res, err := b.with(w).RecordEvent(t.Context(), b.came("ev_1", "d2", "{}"), []byte("{}"))
	if err != nil || res.Verdict != ledger.Duplicate || len(res.Current.Deliveries) != 5 {
		t.Errorf("got %v with %d deliveries, %v; want a duplicate and all 5", res.Verdict, len(res.Current.Deliveries), err)
	}
}

// A crash between payload and event leaves no event, and the sender's repeat makes it whole.
func payloadFirst(t *testing.T, b *bench) {
	w := &wire{script: func(c string, n int, _ []byte) fault { return fault{drop: c == "PutItem" && n >= 2} }}
	ev := b.came("ev_1", "d1", "{}")
	if res, err := b.with(w).RecordEvent(t.Context(), ev, []byte("{}")); !errors.Is(err, ledger.ErrUnclear) {
		t.Fatalf("got %v, %v; want unclear, so no 2xx", res.Verdict, err)
	}
	if _, err := b.Event(t.Context(), "ev_1"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("after the crash: %v; want no event", err)
	}
	if got := b.record("ev_1", "d1", "{}").Verdict; got != ledger.Recorded {
		t.Errorf("the repeat: %v; want recorded", got)
	}
}

func payloadOf1MiB(t *testing.T, b *bench) {
	body := bytes.Repeat([]byte("0123456789abcdef"), ledger.PayloadBytesMax/16)
	ev := b.came("ev_big", "d1", string(body))
	if res, err := b.RecordEvent(t.Context(), ev, body); err != nil || res.Verdict != ledger.Recorded {
		t.Fatalf("1 MiB: %v, %v", res.Verdict, err)
	}
	if got, err := b.Payload(t.Context(), "ev_big", ev.Payload); err != nil || !bytes.Equal(got, body) {
		t.Errorf("read %d bytes, %v; want the same %d", len(got), err, len(body))
	}
	over := append(body, 'x')
	if _, err := b.RecordEvent(t.Context(), b.came("ev_over", "d1", string(over)), over); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("1 MiB and a byte: %v; want too large", err)
	}
}

func (b *bench) guard(event operation.EventID, at operation.Time) ledger.Repeat {
	b.t.Helper()
	r, err := b.Guard(b.t.Context(), "digest-1", event, at, 4*time.Hour)
	if err != nil {
		b.t.Errorf("guard %s: %v", event, err)
	}
	return r
}

func repeatGuard(t *testing.T, b *bench) {
	t0 := b.at()
	steps := []struct {
		event operation.EventID
		after time.Duration
		want  operation.EventID
	}{
		{"ev_1", 0, ""}, {"ev_1", time.Minute, ""}, {"ev_2", 4 * time.Hour, "ev_1"},
		{"ev_3", 4*time.Hour + time.Millisecond, ""}, {"ev_4", 5 * time.Hour, "ev_3"}, {"ev_5", 0, "ev_3"},
	}
	for _, s := range steps {
		if got := b.guard(s.event, t0.Add(s.after)); got.Found != (s.want != "") || (got.Found && got.Event != s.want) {
			t.Errorf("%s after %v: got %+v, want %q", s.event, s.after, got, s.want)
		}
	}
}

// The guard's window had passed when we read it; before we replace it another event did.
func repeatGuardOvertaken(t *testing.T, b *bench) {
	t0 := b.at()
	b.guard("ev_old", t0.Add(-time.Hour*5))
	w := &wire{script: func(c string, n int, _ []byte) fault {
		if c != "PutItem" || n != 2 {
			return fault{}
		}
		return fault{before: func() { b.guard("ev_other", t0) }}
	}}
	got, err := b.with(w).Guard(t.Context(), "digest-1", "ev_ours", t0, 4*time.Hour)
	if err != nil || !got.Found || got.Event != "ev_other" {
		t.Errorf("got %+v, %v; want the other event found", got, err)
	}
}

func repeatGuardAtOnce(t *testing.T, b *bench) {
	const deliveries = 40
	t0 := b.at()
	b.guard("ev_old", t0.Add(-time.Hour*5))
	var first atomic.Int64
	together(deliveries, func(i int) {
		if !b.guard(operation.EventID(fmt.Sprintf("ev_%d", i)), t0).Found {
			first.Add(1)
		}
	})
	if first.Load() != 1 {
		t.Errorf("%d of %d equal bodies counted as the first; want 1", first.Load(), deliveries)
	}
}
