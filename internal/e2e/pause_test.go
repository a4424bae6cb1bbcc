package e2e

import (
	"testing"
	"time"

	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

// TestCaseB067_WhatWasDoneBeforeThePauseIsNotDoneAgain: the first stage is confirmed, then the second one's approval lapses
// while its target asks to wait. Whatever the person answers to the new question, or if nobody answers, the first
// stage's effect stays one.
func TestCaseB067_WhatWasDoneBeforeThePauseIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer reply // nil: nobody answers until the question has lapsed twice
		resend int
	}{"approved again": {approve, 1}, "declined": {decline, 0}, "asked twice": {nil, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := asked(t)
			w.fault("resend-email", simtarget.KindLimited, 2, 24*time.Hour)
			if !w.answer(approve) {
				t.Fatal("nobody was asked")
			}
			w.pause()
			w.wantEffects(1, 0)
			if c.answer != nil && !w.answer(c.answer) {
				t.Fatalf("the lapsed approval was not asked for again\n%s", w.table())
			}
			for range 4 { // the longest wait is a day; a question stands for less
				w.quiesce()
				w.sweep()
				w.quiesce()
				w.clock.Move(25 * time.Hour)
			}
			w.wantEffects(1, c.resend)
		})
	}
}

// pause lets time pass until the approval of what was not executed has lapsed and a person is asked once more.
func (w *world) pause() {
	w.t.Helper()
	for range roundsMax {
		w.quiesce()
		s := w.table()
		for _, op := range s.ops {
			if q := op.Question; q != nil && q.Kind == operation.QuestionApprove && len(op.Attempts) > 0 {
				return
			}
		}
		w.sweep()
		w.pass(s)
	}
	w.t.Fatalf("no approval lapsed:\n%s", w.table())
}
