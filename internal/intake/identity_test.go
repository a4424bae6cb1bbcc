package intake_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/flow"
	"holdfast/internal/intake"
	"holdfast/internal/operation"
	"holdfast/internal/source"
)

func version(v, rest string) []byte {
	return fmt.Appendf(nil, `{"topic":"note","version":%q,"rest":%q}`, v, rest)
}

// Without any id: the same body again within the source's retry horizon is held, visible and releasable; it is neither
// executed nor dropped. After the horizon it is an event of its own.
func TestCaseB070_EqualBodiesWithoutAnId(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	h := hook{from: "plain", body: []byte(`{"topic":"note"}`)}
	d.wants(d.send(h), http.StatusOK, source.StateRecorded)
	d.Parts.Clock.Move(30 * time.Millisecond)
	second := d.wants(d.send(h), http.StatusOK, source.StateHeld)
	third := d.wants(d.send(h), http.StatusOK, source.StateHeld)
	if second.ID != third.ID {
		t.Errorf("two questions about one likeness: %s and %s", second.ID, third.ID)
	}
	k := d.wantKept(2, 1, 1)
	for _, ev := range k.events {
		if ev.Status == operation.EventHeld && (ev.Reason != intake.ReasonPossibleRepeat || len(ev.Runs) != 1 || string(ev.ID) != second.ID) {
			t.Errorf("held %+v; want a possible repeat that can be released into its own run", ev)
		}
	}
	d.Parts.Clock.Move(2 * time.Hour)
	d.wants(d.send(h), http.StatusOK, source.StateRecorded)
	d.wantKept(3, 1, 2)
	d.wants(d.send(h), http.StatusOK, source.StateHeld)
	d.wantKept(4, 2, 2)
}

// A body that comes once a day for weeks is one event a day, and each costs the same.
func TestR10_EqualBodiesForWeeks(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	h := hook{from: "plain", body: []byte(`{"topic":"note"}`)}
	for day := range 20 {
		d.Faults.Set(nil) // counts calls from here
		d.wants(d.send(h), http.StatusOK, source.StateRecorded)
		if calls := len(d.Faults.Calls()); calls > 12 {
			t.Errorf("day %d: %d calls", day, calls)
		}
		d.Parts.Clock.Move(24 * time.Hour)
	}
	d.wantKept(20, 0, 20)
}

// Two horizons meet where a sender's repeats do not stop for them: what comes within a horizon of the one before is held.
func TestR10_RepeatAcrossTwoHorizons(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	h := hook{from: "plain", body: []byte(`{"topic":"note"}`)}
	d.send(h)
	d.Parts.Clock.Move(119 * time.Minute)
	d.wants(d.send(h), http.StatusOK, source.StateRecorded) // the second horizon's first, an hour and 59 minutes later
	d.Parts.Clock.Move(2 * time.Minute)
	d.wants(d.send(h), http.StatusOK, source.StateHeld) // the third horizon's first, two minutes after that
	d.wantKept(3, 1, 2)
}

// Each publish at the source registers the webhook again: one event with other delivery ids and no common event id.
func TestCaseB046_DoubleRegistration(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	send := func(delivery, updated, extra string) answer {
		t.Helper()
		body := bytes.Replace(order("7", updated), []byte("{"), []byte(`{"extra":"`+extra+`",`), 1)
		return d.send(hook{from: "shopify", body: body, header: map[string]string{"X-Shopify-Event-Id": "", "X-Shopify-Webhook-Id": delivery}})
	}
	d.wants(send("A", "2026-11-29T10:00:00Z", "x"), http.StatusOK, source.StateRecorded)
	d.wants(send("B", "2026-11-29T10:00:00Z", "x"), http.StatusOK, source.StateHeld)     // equal body
	d.wants(send("C", "2026-11-29T10:00:00Z", "y"), http.StatusOK, source.StateHeld)     // another shape of the same version
	d.wants(send("D", "2026-11-29T10:00:01Z", "x"), http.StatusOK, source.StateRecorded) // a later version
	d.wants(send("A", "2026-11-29T10:00:00Z", "x"), http.StatusOK, source.StateRecorded) // a repeat of the first is no new event
	d.wantKept(4, 2, 4)
}

// The same version without any id at all, in another shape.
func TestCaseB046_SameVersionWithoutAnyId(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.wants(d.send(hook{from: "plain", body: version("7", "x")}), http.StatusOK, source.StateRecorded)
	d.wants(d.send(hook{from: "plain", body: version("7", "y")}), http.StatusOK, source.StateHeld)
	d.wants(d.send(hook{from: "plain", body: version("8", "y")}), http.StatusOK, source.StateRecorded)
	d.wantKept(3, 1, 2)
}

// Where the signature does not cover the id header, an equal body under another id is a possible repeat.
func TestR10_EqualBodyUnderAnotherUnsignedId(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	send := func(id string) answer {
		return d.send(hook{from: "shopify", id: id, body: order("7", "t1"), header: map[string]string{"X-Shopify-Webhook-Id": id}})
	}
	d.wants(send("E1"), http.StatusOK, source.StateRecorded)
	d.wants(send("E2"), http.StatusOK, source.StateHeld)
	d.wants(send("E1"), http.StatusOK, source.StateRecorded)
	d.wantKept(2, 1, 2)
	d.Parts.Clock.Move(5 * time.Hour) // past Shopify's four hours
	d.wants(send("E3"), http.StatusOK, source.StateRecorded)
	// A signed id settles it: equal bodies under other ids are other events.
	d.wants(d.send(hook{from: "standard", id: "m1", body: note("a")}), http.StatusOK, source.StateRecorded)
	d.wants(d.send(hook{from: "standard", id: "m2", body: note("a")}), http.StatusOK, source.StateRecorded)
}

// A crash between the mark of the likeness and the event: the sender's repeat is still the first.
func TestR09_LikenessMarkedAndEventNotWritten(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	h := hook{from: "shopify", id: "E1", body: order("7", "t1"), header: map[string]string{"X-Shopify-Webhook-Id": "A"}}
	puts := 0
	d.Faults.Set(func(call string, _ []byte) apptest.Fault {
		if call == "PutItem" {
			puts++
		}
		if puts > 1 {
			return apptest.Fault{Code: "InternalServerError"}
		}
		return apptest.Fault{}
	})
	if a := d.send(h); a.status != http.StatusServiceUnavailable {
		t.Fatalf("%d", a.status)
	}
	d.Faults.Set(nil)
	d.wants(d.send(h), http.StatusOK, source.StateRecorded)
	d.wantKept(1, 0, 2)
}

// What names the event is missing, blank or given twice: held, never a shared id.
func TestR10_IncompleteIdentity(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	send := func(number, header, value string) {
		t.Helper()
		headers := map[string]string{"X-Shopify-Webhook-Id": "d" + number, header: value}
		d.wants(d.send(hook{from: "shopify", id: "E" + number, body: order(number, number), header: headers}), http.StatusOK, source.StateHeld)
	}
	send("1", "X-Shopify-Shop-Domain", "")
	send("2", "X-Shopify-Topic", "")
	send("3", "X-Shopify-Event-Id", " ")
	send("4", "X-Shopify-Event-Id", "E9, E8")
	k := d.wantKept(4, 4, 0)
	missing := map[string]int{}
	for _, ev := range k.events {
		if ev.Reason != intake.ReasonIncomplete || ev.Owner == "" {
			t.Errorf("%s for %s, owner %q", ev.Status, ev.Reason, ev.Owner)
		}
		for _, part := range ev.Missing {
			missing[part]++
		}
	}
	if diff := cmp.Diff(map[string]int{"account": 1, "topic": 1, "event id": 2}, missing); diff != "" {
		t.Errorf("missing parts (-want +got):\n%s", diff)
	}
	send("1", "X-Shopify-Shop-Domain", "") // its repeat is the same held event
	d.wantKept(4, 4, 0)
}

// A genuine notification larger than we read is recorded by its digest and held, not lost and not refused.
func TestR13_Oversize(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	big := append([]byte(`{"type":"note","x":"`), bytes.Repeat([]byte("x"), source.BodyBytesMax)...)
	h := hook{from: "shopify", id: "E1", body: append(big, `"}`...), header: map[string]string{"X-Shopify-Webhook-Id": "A"}}
	for range 2 {
		d.wants(d.send(h), http.StatusOK, source.StateHeld)
	}
	ev := d.wantKept(1, 1, 0).events[0]
	if ev.Reason != intake.ReasonOversize || ev.BodyDigest != operation.Digest(source.Digest(h.body)) {
		t.Errorf("held for %s with digest %s", ev.Reason, ev.BodyDigest)
	}
}

// The same delivery with another body: the first one stands, the event is held for a person, and is asked about once.
func TestR09_ConflictIsHeldOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	first, other := hook{from: "standard", id: "msg_1", body: note("a")}, hook{from: "standard", id: "msg_1", body: note("b")}
	d.wants(d.send(first), http.StatusOK, source.StateRecorded)
	d.wants(d.send(other), http.StatusOK, source.StateHeld)
	ev := d.wantKept(1, 1, 1).events[0]
	if ev.Reason != intake.ReasonConflict || ev.Payload != operation.Digest(source.Digest(first.body)) {
		t.Errorf("held for %s with payload %s; want the conflict, and the first body", ev.Reason, ev.Payload)
	}
	released := ev
	if !released.Decide(true, owner, "the second one was a test", d.Now()) {
		t.Fatal("not releasable")
	}
	_, err := d.Ledger.UpdateEvent(t.Context(), ev, released)
	apptest.Must(t, err)
	d.wants(d.send(other), http.StatusOK, source.StateRecorded) // a repeat of what a person has decided about
	d.wantKept(1, 0, 1)
	d.wants(d.send(hook{from: "standard", id: "msg_1", body: note("c")}), http.StatusOK, source.StateHeld) // a third body is asked about
	d.wantKept(1, 1, 1)
}

// Another writer at the same moment must not swallow the hold.
func TestR09_ConflictBesideAnotherWriter(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.send(hook{from: "standard", id: "msg_1", body: note("a")})
	updates := 0
	d.Faults.Set(func(call string, _ []byte) apptest.Fault {
		if call != "UpdateItem" {
			return apptest.Fault{}
		}
		if updates++; updates != 2 { // the first folds the delivery, the second holds
			return apptest.Fault{}
		}
		return apptest.Fault{Before: func() {
			ev := d.kept().events[0]
			next := ev
			next.Close(operation.EventPlanned, d.Now())
			if _, err := d.Ledger.UpdateEvent(t.Context(), ev, next); err != nil {
				t.Error(err)
			}
		}}
	})
	d.wants(d.send(hook{from: "standard", id: "msg_1", body: note("b")}), http.StatusOK, source.StateHeld)
	d.wantKept(1, 1, 1)
}

// Another subscription's shape of the same event: the first one wins, unless its run waits for what the other one has.
func TestR09_VariantSuppliesWhatIsMissing(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	send := func(delivery, extra string) answer {
		t.Helper()
		body := bytes.Replace(order("7", "t1"), []byte("{"), []byte(`{"extra":"`+extra+`",`), 1)
		return d.send(hook{from: "shopify", id: "E1", body: body, header: map[string]string{"X-Shopify-Webhook-Id": delivery}})
	}
	send("A", "none")
	first := d.wantKept(1, 0, 2).events[0].Payload
	send("B", "some")
	k := d.wantKept(1, 0, 2)
	if k.events[0].Payload != first || !k.events[0].Deliveries[1].Variant {
		t.Errorf("the first one did not win, or the other one is not visible: %+v", k.events[0])
	}
	hold := func(run operation.Run) {
		next := run
		operation.AskAboutRun(&next, operation.Question{ID: "q_1", Reason: flow.ReasonMissing, Reviewers: []operation.Person{owner}}, d.Now())
		next.Hold(flow.ReasonMissing, d.Now())
		_, err := d.Ledger.UpdateRun(t.Context(), run, next)
		apptest.Must(t, err)
	}
	hold(k.runs[0])
	d.Parts.Clock.Move(time.Second)
	send("B", "some")
	again := d.wantKept(1, 0, 2)
	for _, run := range again.runs {
		want := 1
		if run.ID == k.runs[0].ID {
			want = 2
		}
		if run.Generation != want || run.Status != operation.RunStarted || run.Question != nil {
			t.Errorf("%s: generation %d, %s; want %d, started, nobody asked", run.Flow, run.Generation, run.Status, want)
		}
	}
	if again.events[0].Payload == first || len(again.events[0].Evidence) == 0 {
		t.Error("planning would read the body that lacks something, or nothing says why it does not")
	}
	d.Reaches(t, k.runs[0].ID, 2, "TaskSubmitted", 1)

	// It still lacks something: a repeat of that notification changes nothing more, and asks nobody again.
	d.Parts.Clock.Move(time.Second)
	for _, run := range again.runs {
		if run.ID == k.runs[0].ID {
			hold(run)
		}
	}
	send("B", "some")
	for _, run := range d.wantKept(1, 0, 2).runs {
		if run.ID == k.runs[0].ID && (run.Generation != 2 || run.Status != operation.RunHeld) {
			t.Errorf("generation %d, %s; want 2, held", run.Generation, run.Status)
		}
	}
}

// A crash after the payload was switched: the repeat of the notification plans the run again.
func TestR09_VariantAndACrashBetween(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.send(hook{from: "shopify", id: "E1", body: order("7", "t1"), header: map[string]string{"X-Shopify-Webhook-Id": "A"}})
	for _, run := range d.kept().runs {
		next := run
		next.Hold(flow.ReasonMissing, d.Now())
		_, err := d.Ledger.UpdateRun(t.Context(), run, next)
		apptest.Must(t, err)
	}
	d.Parts.Clock.Move(time.Second)
	variant := hook{from: "shopify", id: "E1", body: order("7", "t2"), header: map[string]string{"X-Shopify-Webhook-Id": "B"}}
	d.Faults.Set(func(call string, body []byte) apptest.Fault {
		if call == "UpdateItem" && bytes.Contains(body, []byte(`"sk":{"S":"run"}`)) {
			return apptest.Fault{Code: "InternalServerError"}
		}
		return apptest.Fault{}
	})
	if a := d.send(variant); a.status != http.StatusServiceUnavailable {
		t.Fatalf("%d for what is not done", a.status)
	}
	d.Faults.Set(nil)
	d.wants(d.send(variant), http.StatusOK, source.StateRecorded)
	for _, run := range d.wantKept(1, 0, 2).runs {
		if run.Generation != 2 {
			t.Errorf("%s: generation %d, want 2", run.Flow, run.Generation)
		}
	}
}

// A follow-up event before the event that creates its object: each is an event of its own, and starts its own flows.
func TestCaseB047_FollowUpComesFirst(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.wants(d.send(hook{from: "shopify", id: "E2", body: order("7", "t2"), header: map[string]string{"X-Shopify-Webhook-Id": "A"}}), http.StatusOK, source.StateRecorded)
	d.wants(d.send(hook{from: "shopify", id: "E1", body: order("7", "t1"), header: map[string]string{"X-Shopify-Webhook-Id": "B", "X-Shopify-Topic": "orders/create"}}), http.StatusOK, source.StateDone)
	d.wantKept(2, 0, 2)
}
