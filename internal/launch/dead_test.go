package launch_test

import (
	"context"
	"testing"

	"holdfast/internal/execution"
	"holdfast/internal/launch"
	"holdfast/internal/operation"
)

// became answers what became of every execution, and keeps what is started.
type became struct {
	launch.Executions
	state   execution.State
	started []int
}

func (b *became) Find(context.Context, operation.RunID, int) (execution.State, error) {
	return b.state, nil
}

func (b *became) Start(_ context.Context, _ operation.RunID, generation int) error {
	b.started = append(b.started, generation)
	return nil
}

// An execution that failed or timed out has nobody who carries its run on: the run gets its next generation.
func TestR07_ADeadExecutionHasASuccessor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.run(nil)
	dead := &became{state: execution.Dead}
	l := *s.Launcher
	l.Executions = dead
	if err := l.Check(t.Context(), run.ID, operation.ReasonLaunch); err != nil {
		t.Fatal(err)
	}
	if got := s.now(run.ID); got.Generation != 2 || len(dead.started) != 1 || dead.started[0] != 2 {
		t.Errorf("generation %d, started %v; want the second one started", got.Generation, dead.started)
	}
}
