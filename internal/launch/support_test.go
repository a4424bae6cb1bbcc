package launch_test

import (
	"encoding/json"
	"testing"

	"holdfast/internal/app/apptest"
	"holdfast/internal/operation"
)

const owner operation.Person = "owner@example.com"

// stage is the parts, with an Ask that keeps its token in the ledger as the real one does.
type stage struct {
	*apptest.Parts
	t    *testing.T
	mute bool // Ask keeps no token, so that nothing can be woken
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t}
	s.Parts = apptest.New(t, apptest.Options{Functions: map[string]apptest.Function{"ask": s.ask}})
	return s
}

func (s *stage) ask(payload []byte) (any, error) {
	var in struct {
		Run   operation.RunID
		Token string
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	run, err := s.Ledger.Run(s.t.Context(), in.Run)
	if err != nil || s.mute {
		return nil, err
	}
	return nil, s.Ledger.PutToken(s.t.Context(), in.Run, run.Generation, in.Token)
}

// run keeps a run in the ledger, changed as the test wants.
func (s *stage) run(change func(*operation.Run)) operation.Run {
	s.t.Helper()
	run := operation.Run{ID: operation.RunID(s.ID("run_")), Flow: "f", Event: "ev_1", Source: "s", Owner: owner, Created: s.Now(), Generation: 1}
	run.Launch(s.Now())
	if change != nil {
		change(&run)
	}
	res, err := s.Ledger.CreateRun(s.t.Context(), run)
	apptest.Must(s.t, err)
	return res.Current
}

// asks starts the run and waits until it hangs on its token.
func (s *stage) asks(run operation.Run) {
	s.t.Helper()
	apptest.Must(s.t, s.Launcher.Start(s.t.Context(), run))
	s.Reaches(s.t, run.ID, run.Generation, "TaskSubmitted", 1)
}

func (s *stage) resume(id operation.RunID) {
	s.t.Helper()
	apptest.Must(s.t, s.Launcher.Resume(s.t.Context(), id, operation.ReasonAnswered))
}

func (s *stage) now(id operation.RunID) operation.Run {
	s.t.Helper()
	run, err := s.Ledger.Run(s.t.Context(), id)
	apptest.Must(s.t, err)
	return run
}

// update writes a change of a run as another writer would.
func (s *stage) update(id operation.RunID, change func(*operation.Run)) operation.Run {
	s.t.Helper()
	seen := s.now(id)
	next := seen
	change(&next)
	res, err := s.Ledger.UpdateRun(s.t.Context(), seen, next)
	apptest.Must(s.t, err)
	return res.Current
}

func (s *stage) abort(run operation.Run) {
	s.t.Helper()
	_, err := s.States.Stop(s.Arn(run.ID, run.Generation), "", "")
	apptest.Must(s.t, err)
}
