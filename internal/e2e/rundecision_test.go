package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"holdfast/internal/operation"
)

// conflicting brings a second event for the same campaign and customer, with other words: its run asks its owner.
func conflicting(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.settle()
	w.wantEffects(1, 1)
	w.deliver("shopify-flow", "m2", bytes.Replace(followUp("r2", "c1"), []byte("Ada"), []byte("Eve"), 1))
	w.quiesce()
	return w
}

// aboutRun answers the question about the run itself, again until it stands, as a person does who gets no page.
func (w *world) aboutRun(answer string) {
	w.t.Helper()
	for range 4 {
		w.revive()
		for _, inv := range w.invitations() {
			form, open := w.form(inv)
			if w.probe.isDead() {
				break
			}
			if !open {
				continue
			}
			form.Set("answer", answer)
			form.Set("how", "the words were changed on purpose")
			if a := w.post(inv, form); a.status == http.StatusOK {
				return
			}
			break
		}
	}
}

func TestR03_DeliberateSecondIsAskedAboutApart(t *testing.T) {
	t.Parallel()
	w := conflicting(t)
	w.settle()
	w.wantEffects(1, 1)
	w.aboutRun("second")
	w.quiesce()
	w.wantEffects(1, 1) // it has its own approval
	w.settle()
	w.wantEffects(2, 2)
}

func TestR08_ReuseSendsNothing(t *testing.T) {
	t.Parallel()
	w := conflicting(t)
	w.aboutRun("reuse")
	s := w.settle()
	w.wantEffects(1, 1)
	for _, r := range s.runs {
		if r.Status != operation.RunDone {
			t.Errorf("run %s is %s, want done", r.ID, r.Status)
		}
	}
}

// TestR09_ADecisionAboutARunSurvivesEveryCrash walks the boundaries of a decision whose work is not one write.
func TestR09_ADecisionAboutARunSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	for answer, effects := range map[string]int{"second": 2, "stop": 1, "reuse": 1} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			w := conflicting(t)
			w.probe.arm(-1, before, noFate)
			w.aboutRun(answer)
			boundaries := w.probe.disarm()
			if len(boundaries) < 2 {
				t.Fatalf("only %v", boundaries)
			}
			for _, how := range []fate{restart, killed} {
				for _, m := range []moment{before, after} {
					for k, name := range boundaries {
						t.Run(fmt.Sprintf("%s/%s/%02d %s", how, m, k, name), func(t *testing.T) {
							t.Parallel()
							decideAndCrash(t, answer, effects, k, m, how)
						})
					}
				}
			}
		})
	}
}

func decideAndCrash(t *testing.T, answer string, effects, k int, m moment, how fate) {
	w := conflicting(t)
	w.probe.arm(k, m, how)
	w.aboutRun(answer)
	s := w.settle()
	w.probe.disarm()
	must(t, s.nobodyWaits())
	w.settled(s)
	w.wantEffects(effects, effects)
	for _, r := range s.runs {
		if !r.Ended() {
			t.Errorf("run %s is %s %s\n%s", r.ID, r.Status, r.Reason, s)
		}
	}
}
