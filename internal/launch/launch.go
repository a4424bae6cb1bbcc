// Package launch makes a run go on: it starts the execution of a run's generation, wakes one that waits with a token,
// or opens the next generation when none can be woken.
//
// It promises that it may be called again at any time: names of executions and the run's revision keep a second call
// from doing anything twice. It never sends anything to a target, and never rescues an execution that a person aborted.
package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"holdfast/internal/clock"
	"holdfast/internal/execution"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// Store is the part of the ledger that launching needs.
type Store interface {
	Run(context.Context, operation.RunID) (operation.Run, error)
	UpdateRun(ctx context.Context, seen, next operation.Run) (ledger.Result[operation.Run], error)
	Token(ctx context.Context, id operation.RunID, generation int) (string, error)
}

// Executions is the part of Step Functions that launching needs.
type Executions interface {
	Start(ctx context.Context, run operation.RunID, generation int) error
	Find(ctx context.Context, run operation.RunID, generation int) (execution.State, error)
	Wake(ctx context.Context, token string, run operation.RunID) (bool, error)
}

// Launcher makes runs go on. Its fields are set once.
type Launcher struct {
	Store      Store
	Executions Executions
	Clock      clock.Clock
	Log        *slog.Logger
}

func (l *Launcher) now() operation.Time { return operation.TimeOf(l.Clock.Now()) }

// Start starts the run's current generation.
func (l *Launcher) Start(ctx context.Context, run operation.Run) error {
	return l.Executions.Start(ctx, run.ID, run.Generation)
}

// Resume makes a run go on after something it waits for was written: a decision, a settled operation, the end of a wait.
func (l *Launcher) Resume(ctx context.Context, id operation.RunID, why operation.Reason) error {
	run, err := l.Store.Run(ctx, id)
	if err != nil || run.Ended() {
		return err
	}
	if run.Status == operation.RunHeld {
		return l.relaunch(ctx, run, why)
	}
	woken, err := l.wake(ctx, run)
	if err != nil || woken {
		return err
	}
	state, err := l.Executions.Find(ctx, run.ID, run.Generation)
	if err != nil {
		return err
	}
	return l.After(ctx, run, state, why)
}

// After carries on a run whose execution is in the given state and not waiting with a token.
func (l *Launcher) After(ctx context.Context, run operation.Run, state execution.State, why operation.Reason) error {
	switch state {
	case execution.Running:
		return nil // it reads the ledger before it does anything
	case execution.Missing:
		return l.Start(ctx, run)
	case execution.Aborted:
		return l.hold(ctx, run)
	}
	return l.relaunch(ctx, run, why)
}

// Wake answers the run's token; false when nothing waits with one.
func (l *Launcher) wake(ctx context.Context, run operation.Run) (bool, error) {
	token, err := l.Store.Token(ctx, run.ID, run.Generation)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return l.Executions.Wake(ctx, token, run.ID)
}

// relaunch opens the next generation. A rival that was first has done the same.
func (l *Launcher) relaunch(ctx context.Context, run operation.Run, why operation.Reason) error {
	next := run
	if run.Question != nil || !next.Relaunch(why, l.now()) {
		return nil
	}
	res, err := l.Store.UpdateRun(ctx, run, next)
	if err != nil {
		return fmt.Errorf("open the next generation of %s: %w", run.ID, err)
	}
	l.Log.Info("next generation", "run", run.ID, "generation", res.Current.Generation, "reason", why)
	return l.Start(ctx, res.Current)
}

func (l *Launcher) hold(ctx context.Context, run operation.Run) error {
	next := run
	if !next.Hold(operation.ReasonAborted, l.now()) {
		return nil
	}
	_, err := l.Store.UpdateRun(ctx, run, next)
	return err
}
