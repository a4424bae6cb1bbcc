// Package launch makes a run go on: it starts the execution of a run's generation, wakes one that waits with a token,
// or opens the next generation when none can be woken.
//
// It promises that it may be called again at any time: names of executions and the run's revision keep a second call
// from doing anything twice. It never sends anything to a target, and never carries on a run whose execution a person
// aborted before its owner has decided.
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

// relaunchRaces bounds the tries to open a generation while others write the run.
const relaunchRaces = 8

// Start starts the run's current generation.
func (l *Launcher) Start(ctx context.Context, run operation.Run) error {
	return l.Executions.Start(ctx, run.ID, run.Generation)
}

// Resume makes a run go on after something it waits for was written: a decision, a settled operation, the end of a
// wait. An ended run stays ended.
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
	return l.replace(ctx, run, why)
}

// Check carries on a run whose execution is gone, and wakes nothing: a token answered while its question is open would
// only put the execution through Execute and back to Ask.
func (l *Launcher) Check(ctx context.Context, id operation.RunID, why operation.Reason) error {
	run, err := l.Store.Run(ctx, id)
	if err != nil || run.Status != operation.RunStarted {
		return err
	}
	return l.replace(ctx, run, why)
}

// Settle gives a run that has ended an execution once more, because something about one of its operations is still to
// be found out or to be asked. The run stays ended: what it ended with is not changed, and nothing new is started. So an
// execution that a person aborted is followed by another one here: nothing would be sent by it, and without it nobody
// would ever be asked about what is open.
func (l *Launcher) Settle(ctx context.Context, id operation.RunID) error {
	run, err := l.Store.Run(ctx, id)
	if err != nil || !run.Ended() {
		return err
	}
	state, err := l.Executions.Find(ctx, run.ID, run.Generation)
	switch {
	case err != nil || state == execution.Running:
		return err
	case state == execution.Missing:
		return l.Start(ctx, run)
	}
	next := run
	next.Generation, next.Failures = run.Generation+1, 0
	res, err := l.Store.UpdateRun(ctx, run, next)
	if err != nil {
		return fmt.Errorf("open a generation of %s, which has ended: %w", run.ID, err)
	}
	return l.Start(ctx, res.Current)
}

// replace carries on a run whose execution does not wait with a token.
func (l *Launcher) replace(ctx context.Context, run operation.Run, why operation.Reason) error {
	state, err := l.Executions.Find(ctx, run.ID, run.Generation)
	if err != nil {
		return err
	}
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

// wake answers the run's token; false when nothing waits with one.
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

// relaunch opens the next generation. A rival that was first has done the same; any other writer has not, so it is
// tried again from what that one left.
func (l *Launcher) relaunch(ctx context.Context, run operation.Run, why operation.Reason) error {
	from := run.Generation
	for range relaunchRaces {
		if run.Generation != from {
			return l.Start(ctx, run) // the rival may have ended before it could
		}
		next := run
		if run.Question != nil || stopped(&run) || !next.Relaunch(why, l.now()) {
			return nil
		}
		res, err := l.Store.UpdateRun(ctx, run, next)
		if err != nil {
			return fmt.Errorf("open the next generation of %s: %w", run.ID, err)
		}
		if res.Verdict == ledger.Written {
			l.Log.Info("next generation", "run", run.ID, "generation", res.Current.Generation, "reason", why)
		}
		run = res.Current
	}
	return fmt.Errorf("%s is written by many at once; the sweep makes it go on", run.ID)
}

// Released says that a person has decided about a run since its execution was aborted.
func Released(run *operation.Run) bool {
	n := len(run.Answered)
	return n > 0 && run.Answered[n-1].Reason == operation.ReasonAborted && run.Answered[n-1].Decision.At >= run.HeldSince
}

func stopped(run *operation.Run) bool {
	return run.Status == operation.RunHeld && run.Reason == operation.ReasonAborted && !Released(run)
}

// hold keeps an aborted run from going on. It is due at once, so that the sweep asks its owner.
func (l *Launcher) hold(ctx context.Context, run operation.Run) error {
	next := run
	if !next.Hold(operation.ReasonAborted, l.now()) {
		return nil
	}
	next.Step.Due = l.now()
	_, err := l.Store.UpdateRun(ctx, run, next)
	return err
}
