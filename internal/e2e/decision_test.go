package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/local/states"
	"holdfast/internal/operation"
)

// asked brings a run to its open approval and gives the newest invitation.
func asked(t *testing.T, changes ...change) (*world, invitation) {
	t.Helper()
	w := newWorld(t, changes...)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.quiesce()
	return w, w.reviewer()
}

// reviewer is the newest invitation of the flow's reviewer.
func (w *world) reviewer() invitation {
	w.t.Helper()
	for _, inv := range w.invitations() {
		if inv.to == "reviewer@example.com" {
			return inv
		}
	}
	w.t.Fatal("nobody was invited")
	return invitation{}
}

func (w *world) onlyRun() operation.Run {
	w.t.Helper()
	for _, r := range w.table().runs {
		return r
	}
	w.t.Fatal("there is no run")
	return operation.Run{}
}

func (w *world) effects() map[string]int {
	out := map[string]int{}
	for name, r := range w.sim.Effects() {
		if r.Effects > 0 {
			out[name] = r.Effects
		}
	}
	return out
}

// snapshot is the whole store, byte for byte.
func (w *world) snapshot() string {
	w.t.Helper()
	var b strings.Builder
	must(w.t, w.db.Snapshot(&b))
	return b.String()
}

func (w *world) wantEffects(hubspot, resend int) {
	w.t.Helper()
	got := w.effects()
	if got["hubspot"] != hubspot || got["resend"] != resend {
		w.t.Errorf("effects %v, want hubspot %d and resend %d\n%s", got, hubspot, resend, w.table())
	}
}

func TestR11_ScannersDecideNothing(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	was := w.table().version()
	var storm sync.WaitGroup
	for i := range 40 {
		storm.Go(func() {
			method := []string{http.MethodGet, http.MethodHead}[i%2]
			w.do(method, w.page(inv)+[]string{"", "?answer=approve", "?code=" + inv.code}[i%3], nil, nil)
		})
	}
	storm.Wait()
	w.quiesce()
	if now := w.table().version(); now != was {
		t.Errorf("scanners changed the ledger:\n%s\nto\n%s", was, now)
	}
	w.wantEffects(0, 0)
}

func TestCaseB029_ScannerOpensEveryLinkThenThePersonDecides(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	for _, m := range w.mails() {
		for _, link := range m.Links {
			w.do(http.MethodGet, link, nil, nil)
			w.do(http.MethodHead, link, nil, nil)
			if a := w.do(http.MethodPost, link, nil, nil); a.status/100 == 2 {
				t.Errorf("a bare POST was answered with %d", a.status)
			}
		}
		if strings.Contains(m.Text, "answer=") {
			t.Error("a mail holds a link that carries an answer")
		}
	}
	w.clock.Move(5 * time.Minute)
	form, open := w.form(inv)
	if !open {
		t.Fatal("the person's page asks no more")
	}
	approve(form)
	if a := w.post(inv, form); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, notice(a.body))
	}
	w.settle()
	w.wantEffects(1, 1)
}

func TestCaseB031_TwentyLinksFetchedByMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		w.deliver("shopify-flow", fmt.Sprint("m", i), followUp(fmt.Sprint("r", i), fmt.Sprint("c", i)))
	}
	w.quiesce()
	seen := 0
	for _, inv := range w.invitations() {
		seen++
		w.do(http.MethodGet, w.page(inv), http.Header{"User-Agent": {"Mozilla/5.0 (Windows NT 10.0; Win64; x64)"}}, nil)
	}
	s := w.table()
	if seen != 20 || len(s.ops) != 40 {
		t.Fatalf("%d links and %d operations, want 20 and 40", seen, len(s.ops))
	}
	for id, op := range s.ops {
		if op.Status != operation.StatusProposed || op.Approval != nil || op.Question == nil {
			t.Errorf("%s is %s, want proposed and asked", id, op.Status)
		}
	}
	w.wantEffects(0, 0)
}

func TestCaseB035_TwinApprovalsAtOnce(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	form, _ := w.form(inv)
	approve(form)
	var both sync.WaitGroup
	answers := make([]answered, 2)
	for i := range answers {
		both.Go(func() { answers[i] = w.post(inv, form) })
	}
	both.Wait()
	for _, a := range answers {
		if a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, notice(a.body))
		}
	}
	w.settle()
	w.wantEffects(1, 1)
	w.clock.Move(10 * time.Minute)
	if a := w.post(inv, form); a.status != http.StatusOK || !strings.Contains(notice(a.body), "Already approved by") {
		t.Errorf("the same answer again: %d %q, want 200 and the standing decision", a.status, notice(a.body))
	}
	decline(form)
	if a := w.post(inv, form); a.status != http.StatusConflict {
		t.Errorf("the opposite answer: %d %q, want 409", a.status, notice(a.body))
	}
	w.settle()
	w.wantEffects(1, 1)
}

func TestCaseB035_ApproveAgainstDecline(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		w, inv := asked(t)
		yes, _ := w.form(inv)
		no, _ := w.form(inv)
		approve(yes)
		decline(no)
		var race sync.WaitGroup
		var a, b answered
		race.Go(func() { a = w.post(inv, yes) })
		race.Go(func() { b = w.post(inv, no) })
		race.Wait()
		if (a.status == http.StatusOK) == (b.status == http.StatusOK) {
			t.Errorf("try %d: approve %d, decline %d; want one taken and one refused", i, a.status, b.status)
		}
		w.settle()
		if a.status == http.StatusOK {
			w.wantEffects(1, 1)
		} else {
			w.wantEffects(0, 0)
		}
	}
}

func TestCaseB026_ExpiryASecondBeforeAndAfter(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	form, _ := w.form(inv)
	approve(form)
	w.clock.Move(20*time.Hour - time.Minute)
	w.sweep()
	if a := w.post(inv, form); a.status != http.StatusOK {
		t.Fatalf("before the expiry: %d %s", a.status, notice(a.body))
	}
	w.settle()
	w.wantEffects(1, 1)

	w, inv = asked(t)
	form, _ = w.form(inv)
	approve(form)
	w.clock.Move(20*time.Hour + time.Second)
	if a := w.post(inv, form); a.status == http.StatusOK {
		t.Errorf("after the expiry the answer was taken: %s", notice(a.body))
	}
	w.settle()
	w.wantEffects(0, 0)
	if op, _ := w.table().stage("crm_task"); op.Status != operation.StatusDeclined || op.Reason != operation.ReasonApprovalExpired {
		t.Errorf("%s %s, want declined, approval_expired", op.Status, op.Reason)
	}
	if a := w.post(inv, form); a.status == http.StatusOK {
		t.Errorf("after the expiry was written the answer was taken: %s", notice(a.body))
	}
}

func TestCaseB026_LostWakeIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	w.probe.arm(-1, before, noFate)
	dropped := 0
	w.probe.mu.Lock()
	w.probe.refuse = func(name string) bool {
		if name == "states SendTaskSuccess" && dropped < 3 {
			dropped++
			return true
		}
		return false
	}
	w.probe.mu.Unlock()
	form, _ := w.form(inv)
	approve(form)
	if a := w.post(inv, form); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, notice(a.body))
	}
	w.quiesce()
	w.wantEffects(0, 0)
	if dropped == 0 {
		t.Fatal("no wake was dropped")
	}
	w.settle()
	w.wantEffects(1, 1)
}

func TestR11_WrongCodesAreBounded(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	form, _ := w.form(inv)
	approve(form)
	form.Set("code", "WRONG234")
	spent := false
	for range 20 {
		a := w.post(inv, form)
		if a.status == http.StatusOK {
			t.Fatalf("a wrong code was taken: %s", notice(a.body))
		}
		if strings.Contains(a.body, inv.code) {
			t.Fatal("the page shows the code")
		}
		spent = spent || strings.Contains(notice(a.body), "too often") || a.status == http.StatusTooManyRequests || a.status == http.StatusLocked
	}
	form.Set("code", inv.code)
	if a := w.post(inv, form); a.status == http.StatusOK {
		t.Errorf("after 20 wrong codes the right one was taken: %s", notice(a.body))
	} else {
		t.Logf("then the right one: %d %s", a.status, notice(a.body))
	}
	w.wantEffects(0, 0)
}

func TestCaseB037_ALinkAnswersItsOwnRoundOnly(t *testing.T) {
	t.Parallel()
	w, first := asked(t)
	old, _ := w.form(first)
	approve(old)
	w.clock.Move(20*time.Hour + time.Second)
	w.settle()
	run := w.onlyRun()
	if _, err := w.local.App.Runner.Again(t.Context(), run.ID, "ops-lead@example.com"); err != nil {
		t.Fatal(err)
	}
	w.quiesce()
	second := w.reviewer()
	if second.link == first.link {
		t.Fatal("nobody was asked again")
	}
	if a := w.post(first, old); a.status == http.StatusOK {
		t.Errorf("the first round's link decided the second: %s", notice(a.body))
	}
	mixed, _ := w.form(second)
	approve(mixed)
	mixed.Set("code", first.code)
	if a := w.post(second, mixed); a.status == http.StatusOK {
		t.Errorf("the first round's code decided the second: %s", notice(a.body))
	}
	w.wantEffects(0, 0)
	w.settle()
	w.wantEffects(1, 1)
}

func TestR07_AbortedExecutionIsHeldAndNeverRescued(t *testing.T) {
	t.Parallel()
	w, _ := asked(t)
	run := w.onlyRun()
	if _, err := w.local.States.Stop(arn(run.ID, 1), "", "a person stopped it"); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		w.sweep()
		w.quiesce()
		w.clock.Move(5 * time.Hour / 12)
	}
	run = w.onlyRun()
	if run.Status != operation.RunHeld || run.Reason != operation.ReasonAborted || run.Generation != 1 {
		t.Fatalf("%s %s generation %d, want held, execution_aborted, 1", run.Status, run.Reason, run.Generation)
	}
	if run.Question == nil {
		t.Fatal("nobody is asked about it")
	}
	w.wantEffects(0, 0)
	if !w.answerTo("ops-lead@example.com", func(v url.Values) { v.Set("answer", "retry"); v.Set("how", "it was a mistake") }) {
		t.Fatal("the owner has no page that asks")
	}
	w.settle()
	w.wantEffects(1, 1)
}

func TestR07_DeadExecutionGetsItsNextGeneration(t *testing.T) {
	t.Parallel()
	w, _ := asked(t)
	w.restart() // the execution is gone
	w.settle()
	w.wantEffects(1, 1)
}

func TestR07_LongWaitNeedsNoExecution(t *testing.T) {
	t.Parallel()
	w, _ := asked(t)
	for range 10 * 19 {
		w.sweep()
		w.clock.Move(6 * time.Minute)
	}
	if n := w.local.States.Transitions(); n > 2 {
		t.Errorf("waiting for a person cost %d transitions, want the 2 up to Ask", n)
	}
	w.settle()
	w.wantEffects(1, 1)
	if n := w.local.States.Transitions(); n != 5 {
		t.Errorf("the run took %d transitions, want 5", n)
	}
}

var _ = states.StatusRunning
