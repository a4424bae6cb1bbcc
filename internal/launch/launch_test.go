package launch_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/app/apptest"
	"holdfast/internal/operation"
)

// Whatever became of the execution, a run that is not over goes on, and never twice.
func TestResume(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(*operation.Run)
		before     func(*stage, operation.Run)
		generation int
		status     operation.RunStatus
		path       string // of the generation that stands
	}{
		"it waits with its token": {
			before:     func(s *stage, r operation.Run) { s.asks(r) },
			generation: 1, path: "Plan Ask Execute Route Done",
		},
		"it was never started": {generation: 1, path: "Plan Ask"},
		"its execution came to its end": {
			before: func(s *stage, r operation.Run) {
				s.asks(r)
				s.resume(r.ID)
				s.Ends(s.t, r.ID, 1)
			},
			generation: 2, path: "Plan Ask",
		},
		"it is held and the decision came": {
			change: func(r *operation.Run) { r.Hold(operation.ReasonAbsent, r.Created) }, generation: 2, path: "Plan Ask",
		},
		"it is held and its question is open": {
			change: func(r *operation.Run) {
				operation.AskAboutRun(r, operation.Question{ID: "q_1", Reason: operation.ReasonOtherContent, Reviewers: []operation.Person{owner}}, r.Created)
				r.Hold(operation.ReasonOtherContent, r.Created)
			},
			generation: 1, status: operation.RunHeld,
		},
		"it has ended": {
			change:     func(r *operation.Run) { r.Finish(operation.RunStopped, operation.ReasonWithdrawn, r.Created) },
			generation: 1, status: operation.RunStopped,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			run := s.run(c.change)
			if c.before != nil {
				c.before(s, run)
			}
			s.resume(run.ID)
			got := s.now(run.ID)
			if got.Generation != c.generation || got.Status != c.status {
				t.Errorf("generation %d, status %s; want %d, %s", got.Generation, got.Status, c.generation, c.status)
			}
			s.awaitPath(run.ID, c.generation, c.path)
			if next := s.Path(run.ID, c.generation+1); next != "" {
				t.Errorf("one generation too many: %s", next)
			}
		})
	}
}

// awaitPath waits for the last state of the path and compares the whole.
func (s *stage) awaitPath(id operation.RunID, generation int, want string) {
	s.t.Helper()
	if strings.HasSuffix(want, "Ask") {
		s.Reaches(s.t, id, generation, "TaskSubmitted", 1)
	} else if want != "" {
		s.Ends(s.t, id, generation)
	}
	if got := s.Path(id, generation); got != want {
		s.t.Errorf("path %q, want %q", got, want)
	}
}

// Two decisions at once, or a decision and the sweep: one generation, one execution.
func TestResumedByManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mute = true
	run := s.run(func(r *operation.Run) { r.Hold(operation.ReasonAbsent, r.Created) })
	var rivals sync.WaitGroup
	for range 8 {
		rivals.Go(func() {
			if err := s.Launcher.Resume(t.Context(), run.ID, operation.ReasonAnswered); err != nil {
				t.Error(err)
			}
		})
	}
	rivals.Wait()
	if got := s.now(run.ID); got.Generation != 2 || got.Status != operation.RunStarted {
		t.Errorf("generation %d, %s; want 2, started", got.Generation, got.Status)
	}
}

// A writer that only moves the due time must not swallow the resumption of a decision.
func TestResumedBesideAnotherWriter(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.run(func(r *operation.Run) { r.Hold(operation.ReasonAbsent, r.Created) })
	var once atomic.Bool
	s.Faults.Set(func(op string, _ []byte) apptest.Fault {
		if op == "UpdateItem" && once.CompareAndSwap(false, true) {
			return apptest.Fault{Before: func() {
				s.update(run.ID, func(r *operation.Run) { r.Step.Due = r.Step.Due.Add(time.Hour) })
			}}
		}
		return apptest.Fault{}
	})
	s.resume(run.ID)
	if got := s.now(run.ID); got.Generation != 2 {
		t.Errorf("generation %d, want 2: the resumption was lost", got.Generation)
	}
	s.awaitPath(run.ID, 2, "Plan Ask")
}

// A rival that opened the generation and ended before its start: the next one starts it.
func TestR09_GenerationOpenedAndNotStarted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.run(func(r *operation.Run) { r.Hold(operation.ReasonAbsent, r.Created) })
	s.Faults.Set(func(op string, _ []byte) apptest.Fault {
		if op == "StartExecution" {
			return apptest.Fault{Code: "ThrottlingException"}
		}
		return apptest.Fault{}
	})
	if err := s.Launcher.Resume(t.Context(), run.ID, operation.ReasonAnswered); err == nil {
		t.Fatal("a refused start was no error")
	}
	s.Faults.Set(nil)
	s.resume(run.ID)
	if got := s.now(run.ID); got.Generation != 2 {
		t.Errorf("generation %d, want 2", got.Generation)
	}
	s.awaitPath(run.ID, 2, "Plan Ask")
}

// What a person aborted is held, whoever resumes it, until a person says about it that it goes on.
func TestAbortedIsNeverRescued(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.run(nil)
	s.asks(run)
	s.abort(run)
	for range 3 { // an approval, a settled operation, the sweep
		s.resume(run.ID)
		got := s.now(run.ID)
		if got.Status != operation.RunHeld || got.Reason != operation.ReasonAborted || got.Generation != 1 {
			t.Fatalf("%s for %s, generation %d; want held for being aborted, generation 1", got.Status, got.Reason, got.Generation)
		}
		if got.Step.Due > s.Now() || got.Step.Owner != owner {
			t.Errorf("next step %+v; want its owner to be asked now", got.Step)
		}
	}
	s.answer(run.ID, operation.AnswerRetry)
	s.resume(run.ID)
	s.awaitPath(run.ID, 2, "Plan Ask")

	s.abort(s.now(run.ID)) // and a second time: the answer about the first says nothing about it
	s.Clock.Move(time.Minute)
	s.resume(run.ID)
	s.resume(run.ID)
	if got := s.now(run.ID); got.Generation != 2 || got.Status != operation.RunHeld {
		t.Errorf("generation %d, %s; want 2, held", got.Generation, got.Status)
	}
}

// answer asks about the run and decides.
func (s *stage) answer(id operation.RunID, a operation.Answer) {
	s.t.Helper()
	q := operation.Question{ID: operation.QuestionID(s.ID("q_")), Reason: operation.ReasonAborted, Reviewers: []operation.Person{owner}}
	asked := s.update(id, func(r *operation.Run) { operation.AskAboutRun(r, q, s.Now()) })
	s.update(id, func(r *operation.Run) {
		refused := operation.DecideRun(r, operation.Decided{At: s.Now(), Question: q.ID, Round: asked.Question.Round, Rev: asked.Rev, By: owner, Answer: a, How: "I stopped it by mistake"})
		if refused != nil {
			s.t.Fatal(refused)
		}
	})
}

// Check is for what waits for an answer: it never touches a living execution, and replaces a dead one.
func TestCheckWakesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.run(nil)
	s.asks(run)
	apptest.Must(t, s.Launcher.Check(t.Context(), run.ID, operation.ReasonLaunch))
	if got := s.Path(run.ID, 1); got != "Plan Ask" {
		t.Errorf("path %q: it was woken", got)
	}
	s.resume(run.ID)
	s.Ends(t, run.ID, 1)
	apptest.Must(t, s.Launcher.Check(t.Context(), run.ID, operation.ReasonLaunch))
	s.awaitPath(run.ID, 2, "Plan Ask")
}

// An ended run stays ended; it only gets an execution for what is still to be found out.
func TestSettle(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.run(nil)
	s.asks(run)
	s.update(run.ID, func(r *operation.Run) { r.Finish(operation.RunDone, operation.ReasonConfirmed, s.Now()) })
	settle := func() { t.Helper(); apptest.Must(t, s.Launcher.Settle(t.Context(), run.ID)) }
	settle() // the execution still runs
	if got := s.now(run.ID); got.Generation != 1 {
		t.Errorf("generation %d beside one that runs", got.Generation)
	}
	token, err := s.Ledger.Token(t.Context(), run.ID, 1)
	apptest.Must(t, err)
	_, err = s.Executions.Wake(t.Context(), token, run.ID)
	apptest.Must(t, err)
	s.Ends(t, run.ID, 1)
	settle()
	s.awaitPath(run.ID, 2, "Plan Ask")
	got := s.now(run.ID)
	if got.Status != operation.RunDone || got.Step.Action != operation.ActionDone {
		t.Errorf("%s, step %s; want done as before", got.Status, got.Step.Action)
	}
	s.abort(got)
	settle() // nobody else would ever be asked about what is open
	s.awaitPath(run.ID, 3, "Plan Ask")
	if got := s.now(run.ID); got.Status != operation.RunDone {
		t.Errorf("%s; want done as before", got.Status)
	}
	open := s.run(nil)
	apptest.Must(t, s.Launcher.Settle(t.Context(), open.ID))
	if got := s.Path(open.ID, 1); got != "" {
		t.Errorf("a run that has not ended was settled: %s", got)
	}
}

func TestR13_ServiceFailuresSurface(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.run(nil)
	s.asks(run)
	for _, op := range []string{"SendTaskSuccess", "GetItem"} {
		s.Faults.Set(func(call string, _ []byte) apptest.Fault {
			if call == op {
				return apptest.Fault{Code: "ThrottlingException"}
			}
			return apptest.Fault{}
		})
		if err := s.Launcher.Resume(t.Context(), run.ID, operation.ReasonAnswered); err == nil {
			t.Errorf("%s was refused and Resume said nothing", op)
		}
	}
	s.Faults.Set(nil)
	if got := s.now(run.ID); got.Generation != 1 || got.Status != operation.RunStarted {
		t.Errorf("generation %d, %s; want nothing changed", got.Generation, got.Status)
	}
}
