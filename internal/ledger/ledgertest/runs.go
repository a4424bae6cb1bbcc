package ledgertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func runCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"CaseB070_RunsAtOnce":     runsAtOnce,
		"R01_StaleRunWriter":      staleRunWriter,
		"R05_FirstPlanStands":     firstPlan,
		"CaseB023_TokenStaysHere": tokenStays,
		"CaseB037_Links":          links,
		"CaseB037_TriesAtOnce":    triesAtOnce,
		"CaseB037_TryGivenBack":   tryGivenBack,
		"R10_ShapeIsPermanent":    shapePermanent,
		"R07_EventRevision":       eventRevision,
	}
}

func (b *bench) run(id operation.RunID) operation.Run {
	now := b.at()
	return operation.Run{ID: id, Flow: "campaign-follow-up", Event: "ev_1", Source: "shopify", Owner: "ops-lead@example.com", Created: now,
		Generation: 1, Token: "secret", Step: operation.Step{Action: operation.ActionWait, Due: now, Owner: "ops-lead@example.com"}}
}

func runsAtOnce(t *testing.T, b *bench) {
	var created atomic.Int64
	together(20, func(int) {
		res, err := b.CreateRun(t.Context(), b.run("run_1"))
		if err != nil || (res.Verdict != ledger.Created && res.Verdict != ledger.Exists) {
			t.Errorf("got %v, %v", res.Verdict, err)
		}
		if res.Verdict == ledger.Created {
			created.Add(1)
		}
	})
	if created.Load() != 1 {
		t.Errorf("%d created; want 1", created.Load())
	}
}

func staleRunWriter(t *testing.T, b *bench) {
	res, err := b.CreateRun(t.Context(), b.run("run_1"))
	if err != nil {
		t.Fatal(err)
	}
	old, next := res.Current, res.Current
	next.Status, next.Generation = operation.RunHeld, 2
	if res, err = b.UpdateRun(t.Context(), old, next); err != nil || res.Verdict != ledger.Written {
		t.Fatalf("got %v, %v", res.Verdict, err)
	}
	if res, err = b.UpdateRun(t.Context(), old, next); err != nil || res.Verdict != ledger.Lost || res.Current.Generation != 2 {
		t.Errorf("stale: %v, %v; want lost", res.Verdict, err)
	}
	if got, err := b.Run(t.Context(), "run_1"); err != nil || got.Status != operation.RunHeld || got.Token != "" {
		t.Errorf("got %s with token %q, %v", got.Status, got.Token, err)
	}
	nobody := res.Current
	nobody.Step.Owner = ""
	if _, err := b.UpdateRun(t.Context(), res.Current, nobody); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("a step that nobody waits for: %v; want refused (R7)", err)
	}
}

func firstPlan(t *testing.T, b *bench) {
	if _, err := b.Plan(t.Context(), "run_1"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	w := first("PutItem", nil)
	w.script = func(c string, n int, _ []byte) fault { return fault{lose: c == "PutItem" && n == 1} }
	res, err := b.with(w).PutPlan(t.Context(), "run_1", []byte("plan of version 3"))
	if err != nil || res.Verdict != ledger.Created {
		t.Fatalf("its answer lost: %v, %v; want created", res.Verdict, err)
	}
	res, err = b.PutPlan(t.Context(), "run_1", []byte("plan of version 4"))
	if err != nil || res.Verdict != ledger.Exists || string(res.Current) != "plan of version 3" {
		t.Errorf("after a deploy: %v %q, %v; want the first", res.Verdict, res.Current, err)
	}
	if got, err := b.Plan(t.Context(), "run_1"); err != nil || string(got) != "plan of version 3" {
		t.Errorf("read %q, %v", got, err)
	}
}

func tokenStays(t *testing.T, b *bench) {
	const token = "AAAA+/x=="
	for generation, token := range []string{1: "first", 2: token} {
		if err := b.PutToken(t.Context(), "run_1", generation, token+"x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.PutToken(t.Context(), "run_1", 2, token); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Token(t.Context(), "run_1", 2); err != nil || got != token {
		t.Errorf("got %q, %v; want the latest, unchanged", got, err)
	}
	if _, err := b.Token(t.Context(), "run_1", 3); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the next generation's: %v; want none", err)
	}
}

func (b *bench) link(id ledger.LinkID) ledger.Link {
	now := b.at()
	return ledger.Link{ID: id, Person: "reviewer@example.com", Question: "q_1", Round: 1, Operations: []operation.ID{"op_1"}, Created: now, Expires: now.Add(20 * 3600e9)}
}

func links(t *testing.T, b *bench) {
	res, err := b.CreateLink(t.Context(), b.link("k3m9"))
	if err != nil || res.Verdict != ledger.Created {
		t.Fatalf("got %v, %v", res.Verdict, err)
	}
	other := b.link("k3m9")
	other.Person = "somebody@example.com"
	if res, err = b.CreateLink(t.Context(), other); err != nil || res.Verdict != ledger.Exists || res.Current.Person != "reviewer@example.com" {
		t.Errorf("the same id again: %v for %s, %v", res.Verdict, res.Current.Person, err)
	}
	for _, c := range []struct {
		browser string
		want    bool
	}{{"b1", true}, {"b1", true}, {"b2", false}} {
		if ok, err := b.BindLink(t.Context(), "k3m9", c.browser); err != nil || ok != c.want {
			t.Errorf("bind %s: %v, %v; want %v", c.browser, ok, err, c.want)
		}
	}
	got, err := b.Link(t.Context(), "k3m9")
	if err != nil || got.Bound != "b1" || got.Round != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := b.Link(t.Context(), "mangled"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a mangled id: %v; want not found", err)
	}
	if _, err := b.BindLink(t.Context(), "mangled", "b1"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("bind a mangled id: %v; want not found", err)
	}
}

func triesAtOnce(t *testing.T, b *bench) {
	if _, err := b.CreateLink(t.Context(), b.link("k3m9")); err != nil {
		t.Fatal(err)
	}
	var allowed atomic.Int64
	together(99, func(int) {
		ok, err := b.CountTry(t.Context(), "k3m9")
		if err != nil {
			t.Error(err)
		}
		if ok {
			allowed.Add(1)
		}
	})
	if allowed.Load() != ledger.LinkTriesMax {
		t.Errorf("%d codes were compared; want %d", allowed.Load(), ledger.LinkTriesMax)
	}
}

func tryGivenBack(t *testing.T, b *bench) {
	if _, err := b.CreateLink(t.Context(), b.link("k3m9")); err != nil {
		t.Fatal(err)
	}
	give := func() {
		if err := b.GiveTryBack(t.Context(), "k3m9"); err != nil {
			t.Fatal(err)
		}
	}
	give() // nothing was counted: the bound must not grow
	for i := range 3 * ledger.LinkTriesMax {
		if ok, err := b.CountTry(t.Context(), "k3m9"); err != nil || !ok {
			t.Fatalf("right code %d: %v, %v", i, ok, err)
		}
		give()
	}
	allowed := 0
	for range 3 * ledger.LinkTriesMax {
		if ok, err := b.CountTry(t.Context(), "k3m9"); err != nil {
			t.Fatal(err)
		} else if ok {
			allowed++
		}
	}
	if allowed != ledger.LinkTriesMax {
		t.Errorf("%d wrong codes were compared; want %d", allowed, ledger.LinkTriesMax)
	}
	if err := b.GiveTryBack(t.Context(), "mangled"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a mangled id: %v; want not found", err)
	}
}

func shapePermanent(t *testing.T, b *bench) {
	for i, c := range []struct{ shape, want string }{{"campaign,customer", "campaign,customer"}, {"campaign,customer", "campaign,customer"}, {"customer", "campaign,customer"}} {
		if got, err := b.KeepShape(t.Context(), "follow-up", "email", c.shape); err != nil || got != c.want {
			t.Errorf("%d: got %q, %v; want %q", i, got, err, c.want)
		}
	}
	if _, err := b.KeepShape(t.Context(), "follow#up", "email", "x"); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("a name that could meet another: %v; want refused", err)
	}
}

func eventRevision(t *testing.T, b *bench) {
	ev := b.record("ev_1", "d1", "{}").Current
	next := ev
	next.Status, next.Step = operation.EventPlanned, operation.Step{Action: operation.ActionDone}
	next.Runs = []operation.RunID{"run_1"}
	for i, want := range []ledger.Verdict{ledger.Written, ledger.Lost} {
		if res, err := b.UpdateEvent(t.Context(), ev, next); err != nil || res.Verdict != want {
			t.Errorf("%s: %v, %v; want %v", fmt.Sprint("write ", i+1), res.Verdict, err, want)
		}
	}
}
