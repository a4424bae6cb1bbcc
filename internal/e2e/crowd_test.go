package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/execution"
	"holdfast/internal/operation"
)

// metaobject is the body of the shipped webhook flow's event; order makes the same content in another subscription's shape.
func metaobject(shape int) []byte {
	fields := `"fields":{"campaign_id":"spring","customer_id":"c1","email":"ada@example.com","first_name":"Ada","due":"2026-12-24T09:00:00Z"}`
	if shape == 0 {
		return fmt.Appendf(nil, `{"type":"campaign_follow_up","id":"gid://shopify/Metaobject/1",%s}`, fields)
	}
	return fmt.Appendf(nil, `{"id":"gid://shopify/Metaobject/1","type":"campaign_follow_up",%s,"extra":true}`, fields)
}

func (w *world) webhook(delivery string, shape int) answered {
	header, err := w.local.Sign("shopify", delivery, metaobject(shape))
	must(w.t, err)
	header.Set("X-Shopify-Topic", "metaobjects/create")
	header.Set("X-Shopify-Event-Id", "event-1")
	header.Set("X-Shopify-Webhook-Id", delivery)
	header.Set("X-Shopify-Shop-Domain", "demo.myshopify.com")
	return w.do(http.MethodPost, w.local.Hooks+"/shopify", header, metaobject(shape))
}

// TestCaseB043_TwoHundredAtOnce: one event, 200 deliveries at once, half of them through a second subscription in
// another shape.
func TestCaseB043_TwoHundredAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answers := make([]answered, 200)
	var all sync.WaitGroup
	gate := make(chan struct{}, 16)
	for i := range answers {
		all.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			answers[i] = w.webhook(fmt.Sprint("d", i), i%2)
		})
	}
	all.Wait()
	run := w.onlyRun()
	for i, a := range answers {
		if a.status/100 != 2 || !strings.Contains(a.body, string(run.ID)) {
			t.Fatalf("delivery %d: %d %s; want 2xx naming %s", i, a.status, a.body, run.ID)
		}
	}
	s := w.settle()
	if len(s.events) != 1 || len(s.runs) != 1 || len(s.ops) != 2 {
		t.Errorf("%d events, %d runs, %d operations; want 1, 1, 2", len(s.events), len(s.runs), len(s.ops))
	}
	w.wantEffects(1, 1)
	if a := w.webhook("late", 0); a.status/100 != 2 || !strings.Contains(a.body, string(run.ID)) {
		t.Errorf("a later delivery: %d %s", a.status, a.body)
	}
	w.settle()
	w.wantEffects(1, 1)
}

// TestCaseB073_FiftyExecutesAtOnce: the function that sends is called 50 times at once for one run.
func TestCaseB073_FiftyExecutesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.quiesce()
	run := w.onlyRun()
	w.probe.mu.Lock()
	w.probe.refuse = func(name string) bool { return name == "states SendTaskSuccess" }
	w.probe.mu.Unlock()
	w.answer(approve)
	in, err := json.Marshal(execution.Travel{Run: run.ID, Next: execution.NextExecute})
	must(t, err)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			var travel execution.Travel
			must(t, json.Unmarshal(in, &travel))
			if _, err := w.local.App.Runner.Execute(context.Background(), travel); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.probe.mu.Lock()
	w.probe.refuse = nil
	w.probe.mu.Unlock()
	s := w.settle()
	w.settled(s)
	w.wantEffects(1, 1)
	for _, op := range s.ops {
		if op.Status != operation.StatusConfirmed || len(op.Attempts) != 1 {
			t.Errorf("%s is %s with %d attempts, want confirmed with 1", op.Stage, op.Status, len(op.Attempts))
		}
	}
}

// TestCaseB028_TheSameEventLater: a delivery 90 seconds later, and after the name's 90 days, finds what was done.
func TestCaseB028_TheSameEventLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.settle()
	w.clock.Move(90 * 1e9)
	second := w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.clock.Move(91 * 24 * 3600 * 1e9)
	third := w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.settle()
	w.wantEffects(1, 1)
	if first.status != http.StatusAccepted || second.status != http.StatusOK || third.status != http.StatusOK {
		t.Errorf("answers %d, %d, %d; want 202 and then 200", first.status, second.status, third.status)
	}
}

// TestR08_AnotherEventForTheSameOperation reuses what was done: another action run for the same campaign and customer.
func TestR08_AnotherEventForTheSameOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	before := w.settle()
	w.deliver("shopify-flow", "m2", followUp("r2", "c1"))
	after := w.settle()
	w.wantEffects(1, 1)
	if len(after.runs) != 2 || len(after.ops) != 2 {
		t.Fatalf("%d runs, %d operations; want 2, 2", len(after.runs), len(after.ops))
	}
	for id, op := range after.ops {
		if op.Reference != before.ops[id].Reference || op.Status != operation.StatusConfirmed {
			t.Errorf("%s: reference %q, then %q", op.Stage, before.ops[id].Reference, op.Reference)
		}
	}
	for _, r := range after.runs {
		if r.Status != operation.RunDone {
			t.Errorf("run %s is %s, want done", r.ID, r.Status)
		}
	}
}

// TestR01_TwoRunsOneOperation: one claims, both end when it settles.
func TestR01_TwoRunsOneOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.quiesce()
	w.deliver("shopify-flow", "m2", followUp("r2", "c1"))
	s := w.settle()
	w.wantEffects(1, 1)
	for _, r := range s.runs {
		if r.Status != operation.RunDone {
			t.Errorf("run %s is %s, want done\n%s", r.ID, r.Status, s)
		}
	}
}
