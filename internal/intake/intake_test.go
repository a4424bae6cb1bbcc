package intake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/operation"
	"holdfast/internal/source"
)

// The first notification is durable and started before it is answered; a repeat gets the same run's state.
func TestR09_RecordedThenDuplicate(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	first := d.wants(d.send(hook{from: "standard", id: "msg_1", body: note("a")}), http.StatusOK, source.StateRecorded)
	k := d.wantKept(1, 0, 1)
	d.Reaches(t, k.runs[0].ID, 1, "TaskSubmitted", 1)
	if k.runs[0].Owner != owner || k.runs[0].Step.Due == 0 || k.runs[0].Flow != "notes" || string(k.runs[0].ID) != first.ID {
		t.Errorf("run %+v; want it owned, due, and named in the answer %q", k.runs[0], first.ID)
	}
	again := d.wants(d.send(hook{from: "standard", id: "msg_1", body: note("a")}), http.StatusOK, source.StateRecorded)
	if diff := cmp.Diff(first.ID, again.ID); diff != "" {
		t.Errorf("another id for a repeat (-first +again):\n%s", diff)
	}
	if k := d.wantKept(1, 0, 1); k.events[0].Deliveries[0].Count != 2 {
		t.Errorf("the repeat is not counted: %+v", k.events[0].Deliveries)
	}
	body, err := d.Ledger.Payload(t.Context(), k.events[0].ID, k.events[0].Payload)
	if err != nil || string(body) != string(note("a")) {
		t.Errorf("payload %q, %v", body, err)
	}
}

// What the sender hears follows from the run's state and from its source's rule.
func TestAnswersFollowTheSourcesRule(t *testing.T) {
	t.Parallel()
	states := map[string]struct {
		change        func(*operation.Run)
		flow, durable int
		state         source.State
	}{
		"recorded": {func(*operation.Run) {}, 202, 200, source.StateRecorded},
		"running": {func(r *operation.Run) {
			r.Planned(1, []operation.StageRef{{Name: "s", Operation: "op_1"}}, r.Created)
		}, 202, 200, source.StateRunning},
		"held":           {func(r *operation.Run) { r.Hold("missing_data", r.Created) }, 202, 200, source.StateHeld},
		"done":           {func(r *operation.Run) { r.Finish(operation.RunDone, "confirmed", r.Created) }, 200, 200, source.StateDone},
		"not applicable": {func(r *operation.Run) { r.Finish(operation.RunNotApplicable, "trigger_says_no", r.Created) }, 200, 200, source.StateDone},
		"stopped": {func(r *operation.Run) {
			r.Finish(operation.RunStopped, operation.ReasonWithdrawn, r.Created)
		}, 202, 200, source.StateStopped},
		"refused": {func(r *operation.Run) {
			r.Finish(operation.RunStopped, operation.ReasonDataRejected, r.Created)
		}, 422, 200, source.StateRefused},
	}
	for name, c := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			flow, standard := hook{from: "shopify-flow", body: action("r1")}, hook{from: "standard", id: "msg_1", body: note("a")}
			d.send(flow)
			d.send(standard)
			for _, run := range d.wantKept(2, 0, 2).runs {
				next := run
				c.change(&next)
				_, err := d.Ledger.UpdateRun(t.Context(), run, next)
				apptest.Must(t, err)
			}
			d.wants(d.send(flow), c.flow, c.state)
			d.wants(d.send(standard), c.durable, c.state)
		})
	}
}

// Shopify Flow repeats for up to 36 hours while the run waits: one run, and its state at once each time, the last one
// too; nothing depends on the caller honouring Retry-After.
func TestCaseB049_RepeatsWhileItWaits(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	h := hook{from: "shopify-flow", body: action("r1")}
	first := d.wants(d.send(h), http.StatusAccepted, source.StateRecorded)
	for _, wait := range []time.Duration{30 * time.Second, time.Minute, 10 * time.Minute, 20 * time.Hour, 15 * time.Hour} {
		d.Parts.Clock.Move(wait)
		if got := d.wants(d.send(h), http.StatusAccepted, source.StateRecorded); got.ID != first.ID {
			t.Errorf("after %s: run %s, want %s", wait, got.ID, first.ID)
		}
	}
	d.wantKept(1, 0, 1)
}

func TestCaseB043_SameUpdateAtOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const senders = 200
	d.Faults.Set(func(op string, _ []byte) apptest.Fault { // whoever waits for its turn need not wait in real time
		if op == "UpdateItem" {
			d.Parts.Clock.Move(100 * time.Millisecond)
		}
		return apptest.Fault{}
	})
	var all sync.WaitGroup
	answers := make([]answer, senders)
	for i := range senders {
		raw := d.event(hook{from: "shopify", id: "E1", body: order("7", "t1"), header: map[string]string{"X-Shopify-Webhook-Id": fmt.Sprintf("d%d", i%5)}})
		all.Go(func() { answers[i] = d.hears(raw) })
	}
	all.Wait()
	for i, a := range answers {
		if a.status != http.StatusOK || a.ID != answers[0].ID {
			t.Errorf("sender %d heard %d %q %s", i, a.status, a.ID, a.Error)
		}
	}
	k := d.wantKept(1, 0, 2) // two flows take this topic
	if diff := cmp.Diff([]string{"orders", "thanks"}, k.events[0].Flows); diff != "" {
		t.Errorf("flows of the event (-want +got):\n%s", diff)
	}
}

// Event id and delivery id are different things: one names what happened, the other one notification of it.
func TestCaseB044_EventIdAndDeliveryId(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	send := func(event, delivery, topic, number string) {
		t.Helper()
		a := d.send(hook{from: "shopify", id: event, body: order(number, number), header: map[string]string{
			"X-Shopify-Event-Id": event, "X-Shopify-Webhook-Id": delivery, "X-Shopify-Topic": topic,
		}})
		if a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.Error)
		}
	}
	send("E1", "A", "orders/paid", "1")
	send("E1", "B", "orders/paid", "1")
	d.wantKept(1, 0, 2)
	send("E2", "A", "orders/paid", "2") // another event, whatever the other header repeats
	d.wantKept(2, 0, 4)
	send("", "C", "orders/paid", "3") // falls back, marked
	k := d.wantKept(3, 0, 6)
	rungs := map[string]int{}
	for _, ev := range k.events {
		rungs[ev.Rung]++
	}
	if diff := cmp.Diff(map[string]int{"event_id": 2, "delivery_id": 1}, rungs); diff != "" {
		t.Errorf("rungs (-want +got):\n%s", diff)
	}
	send("E1", "D", "orders/create", "1") // the topic is part of the identity; no flow takes this one
	d.wantKept(4, 0, 6)
}

// A crash after the event's put: the repeat makes the runs it names and starts them.
func TestR09_RepeatMakesWhatACrashLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ op, code string }{
		"before the first run": {"run", "InternalServerError"}, "before the second run": {"second run", "InternalServerError"},
		"before the start": {"StartExecution", "ThrottlingException"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			h := hook{from: "shopify", id: "E1", body: order("7", "t1"), header: map[string]string{"X-Shopify-Webhook-Id": "A"}}
			runs := 0
			d.Faults.Set(func(call string, body []byte) apptest.Fault {
				if call == "PutItem" && strings.Contains(string(body), `"sk":{"S":"run"}`) {
					runs++
					if c.op == "run" || c.op == "second run" && runs > 1 {
						return apptest.Fault{Code: c.code}
					}
				}
				if call == c.op {
					return apptest.Fault{Code: c.code}
				}
				return apptest.Fault{}
			})
			a := d.send(h)
			if c.op == "StartExecution" { // the runs are durable and due: the sweep starts them
				d.wants(a, http.StatusOK, source.StateRecorded)
			} else if a.status != http.StatusServiceUnavailable {
				t.Errorf("%d for what is not durable", a.status)
			}
			d.Faults.Set(nil)
			d.wants(d.send(h), http.StatusOK, source.StateRecorded)
			for _, run := range d.wantKept(1, 0, 2).runs {
				d.Reaches(t, run.ID, 1, "TaskSubmitted", 1)
			}
		})
	}
}

// No answer of the ledger, no 2xx: the sender comes again, and nothing is half there that a repeat would trip over.
func TestR09_LedgerFailuresPromiseNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ code, says string }{
		"throttled":       {"ProvisionedThroughputExceededException", "takes no more requests"},
		"too many":        {"ThrottlingException", "takes no more requests"},
		"failing":         {"InternalServerError", "not certain"},
		"not allowed":     {"AccessDeniedException", "not certain"},
		"no table at all": {"ResourceNotFoundException", "not certain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			h := hook{from: "standard", id: "msg_1", body: note("a")}
			d.fails("PutItem", c.code)
			a := d.send(h)
			if a.status != http.StatusServiceUnavailable || a.header["Retry-After"] == "" || !strings.Contains(a.Error, c.says) {
				t.Errorf("%d, Retry-After %q, %q; want 503, some seconds, and %q", a.status, a.header["Retry-After"], a.Error, c.says)
			}
			if !strings.Contains(d.Written.String(), c.code) {
				t.Error("the log does not say what failed")
			}
			d.wantKept(0, 0, 0)
			d.Faults.Set(nil)
			d.wants(d.send(h), http.StatusOK, source.StateRecorded)
			d.wantKept(1, 0, 1)
		})
	}
}

// A write that was done while its answer was lost: the repeat is a duplicate, and one run starts.
func TestR09_AnswerOfTheLedgerLost(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	h := hook{from: "standard", id: "msg_1", body: note("a")}
	d.Faults.Set(func(call string, _ []byte) apptest.Fault { return apptest.Fault{Lose: call == "PutItem"} })
	if a := d.send(h); a.status < 500 && a.State == "" {
		t.Errorf("%d", a.status)
	}
	d.Faults.Set(nil)
	d.wants(d.send(h), http.StatusOK, source.StateRecorded)
	d.wantKept(1, 0, 1)
}

// Every kind of bad input gets a precise answer, and nothing is kept of it.
func TestR13_BadInput(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	good := d.event(hook{from: "standard", id: "msg_1", body: note("a")})
	for name, c := range map[string]struct {
		raw    string
		status int
		says   string
	}{
		"another signature": {strings.Replace(string(good), "v1,", "v1,x", 1), 401, "signature"},
		"another source":    {strings.Replace(string(good), "/hooks/standard", "/hooks/nobody", 1), 404, "nobody"},
		"a GET":             {strings.Replace(string(good), "POST", "GET", 1), 405, "POST"},
		"no HTTP event":     {`{"Records":[]}`, 503, "send it again"},
		"no JSON":           {string(d.event(hook{from: "standard", id: "msg_1", body: []byte("name=value")})), 400, "JSON"},
	} {
		a := d.hears(json.RawMessage(c.raw))
		if a.status != c.status || !strings.Contains(a.Error, c.says) {
			t.Errorf("%s: %d %q, want %d and %q", name, a.status, a.Error, c.status, c.says)
		}
	}
	d.wantKept(0, 0, 0)
}

// Bodies are bytes: what is verified is what is kept, and no log shows any of it, nor a secret.
func TestR10_NoContentInTheLog(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const private = "Zofia-Ⓩ"
	body := []byte("{\"type\":\"note\",\"text\":\"" + private + " 🎁 \\u0000 A\\u0026B \\/\"}")
	h := hook{from: "standard", id: "msg_" + "private", body: body}
	d.wants(d.send(h), http.StatusOK, source.StateRecorded)
	ev := d.wantKept(1, 0, 1).events[0]
	got, err := d.Ledger.Payload(t.Context(), ev.ID, ev.Payload)
	if diff := cmp.Diff(string(body), string(got)); err != nil || diff != "" {
		t.Errorf("payload (-sent +kept): %v\n%s", err, diff)
	}
	stored, err := json.Marshal(ev)
	if err != nil || strings.Contains(string(stored), private) {
		t.Errorf("the event's record shows content: %v\n%s", err, stored)
	}
	d.send(hook{from: "standard", id: "msg_2", body: []byte(private)})                                       // no JSON
	d.send(hook{from: "shopify", id: "", body: body, header: map[string]string{"X-Shopify-Topic": private}}) // incomplete
	d.fails("PutItem", "InternalServerError")
	d.send(h)
	log := d.Written.String()
	for _, never := range []string{private, "🎁", secret, signer, strings.TrimPrefix(signer, "whsec_"), "v1,", "msg_private"} {
		if strings.Contains(log, never) {
			t.Errorf("the log shows %q:\n%s", never, log)
		}
	}
}

func TestNoFlowIsDone(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.wants(d.send(hook{from: "standard", id: "msg_1", body: []byte(`{"type":"other"}`)}), http.StatusOK, source.StateDone)
	if ev := d.wantKept(1, 0, 0).events[0]; ev.Status != operation.EventPlanned || ev.Step.Action != operation.ActionDone {
		t.Errorf("%s, next step %s; want planned, nothing", ev.Status, ev.Step.Action)
	}
}
