// Package sweep finds what nobody carries on: it starts what was not started, writes down what time has ended,
// delivers decisions again, reminds people, and finds runs whose execution is gone.
//
// It promises to bring every open thing back to somebody who acts on it. It never sends anything to a target and never
// asks one: it has no rights there.
package sweep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/flow"
	"holdfast/internal/intake"
	"holdfast/internal/launch"
	"holdfast/internal/ledger"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
)

// Store is the part of the ledger that sweeping needs.
type Store interface {
	Due(ctx context.Context, shard int, until operation.Time, limit int32, after *ledger.Hint) ([]ledger.Hint, error)
	Event(context.Context, operation.EventID) (operation.Event, error)
	UpdateEvent(ctx context.Context, seen, next operation.Event) (ledger.Result[operation.Event], error)
	CreateRun(context.Context, operation.Run) (ledger.Result[operation.Run], error)
	Run(context.Context, operation.RunID) (operation.Run, error)
	UpdateRun(ctx context.Context, seen, next operation.Run) (ledger.Result[operation.Run], error)
	Operation(context.Context, operation.ID) (operation.Operation, error)
	Update(ctx context.Context, seen, next operation.Operation) (ledger.Result[operation.Operation], error)
	Audit(ctx context.Context, segments int32, fn func(ledger.Found) error) error
	Expire(context.Context, operation.Operation) error
	ExpirePayloads(context.Context, operation.EventID, time.Duration) error
}

// Launcher makes runs go on.
type Launcher interface {
	Start(context.Context, operation.Run) error
	Resume(context.Context, operation.RunID, operation.Reason) error
	Check(context.Context, operation.RunID, operation.Reason) error
	Settle(context.Context, operation.RunID) error
}

// Asker puts questions to people: about a run, and about operations that no run carries on.
type Asker interface {
	AskRun(context.Context, operation.Run, operation.Reason) (operation.Run, error)
	AskOperations(context.Context, operation.Run, flow.PinnedPlan, []operation.Operation) ([]operation.Operation, error)
}

// Sweep looks after open things. Its fields are set once.
type Sweep struct {
	Store    Store
	Launcher Launcher
	Asker    Asker
	Policy   func(*operation.Operation) operation.Policy
	Notifier notify.Notifier
	Owner    func(flow string) operation.Person
	Clock    clock.Clock
	Log      *slog.Logger
}

// Bounds of one sweep.
const (
	pageItems   = 100
	pagesMax    = 50               // per shard and sweep
	reserve     = 5 * time.Second  // left of the invocation when it stops
	runPatience = 10 * time.Minute // until a run is looked at again while its execution goes on
	markRaces   = 8                // tries to mark an operation while others write it
)

// Report counts what a sweep did.
type Report struct {
	Due, Started, Passed, Reminded, Failed int
	More                                   bool // time was up before everything due was seen
}

func (s *Sweep) now() operation.Time { return operation.TimeOf(s.Clock.Now()) }

// Handle is the Lambda handler of the schedule. It begins with another shard each minute, so that a shard that takes
// all the time does not keep the others waiting for ever, and goes on past a shard that cannot be read.
func (s *Sweep) Handle(ctx context.Context) (Report, error) {
	var r Report
	var failed []error
	first := int(s.Clock.Now().Unix() / 60 % int64(ledger.Shards))
	for i := range ledger.Shards {
		if s.timeUp(ctx) {
			r.More = true
			break
		}
		if err := s.shard(ctx, (first+i)%ledger.Shards, &r); err != nil {
			failed = append(failed, err)
		}
	}
	s.Log.Info("sweep", "due", r.Due, "started", r.Started, "passed", r.Passed, "reminded", r.Reminded, "failed", r.Failed, "more", r.More)
	return r, errors.Join(failed...)
}

// shard sees everything due in one shard. One record that cannot be looked after does not keep the others waiting.
func (s *Sweep) shard(ctx context.Context, shard int, r *Report) error {
	until := s.now()
	var after *ledger.Hint
	for range pagesMax {
		hints, err := s.Store.Due(ctx, shard, until, pageItems, after)
		if err != nil {
			return err
		}
		for i := range hints {
			if s.timeUp(ctx) {
				r.More = true
				return nil
			}
			r.Due++
			if err := s.one(ctx, hints[i], r); err != nil && !errors.Is(err, ledger.ErrNotFound) {
				r.Failed++
				s.Log.Error("not looked after", "operation", hints[i].Operation, "run", hints[i].Run, "event", hints[i].Event, "error", err)
			}
		}
		if len(hints) < pageItems {
			return nil
		}
		after = &hints[len(hints)-1]
	}
	r.More = true
	return nil
}

func (s *Sweep) timeUp(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || (ok && deadline.Sub(s.Clock.Now()) < reserve)
}

// one reads the record itself: the index is only a hint.
func (s *Sweep) one(ctx context.Context, h ledger.Hint, r *Report) error {
	switch {
	case h.Event != "":
		return s.event(ctx, h.Event, r)
	case h.Run != "":
		return s.run(ctx, h.Run, r)
	}
	return s.operation(ctx, h.Operation, r)
}

func (s *Sweep) early(step operation.Step) bool {
	return step.Action == operation.ActionDone || step.Due > s.now()
}

// event makes the runs that a crash left out, or reminds of what is held.
func (s *Sweep) event(ctx context.Context, id operation.EventID, r *Report) error {
	ev, err := s.Store.Event(ctx, id)
	if err != nil || s.early(ev.Step) {
		return err
	}
	next := ev
	if ev.Status == operation.EventHeld {
		r.Reminded++
		next.Step.Due = s.now().Add(operation.RemindEvery)
		err = s.remind(ctx, []operation.Person{ev.Owner}, string(ev.ID), ev.Reason, releaseHint)
	} else {
		next.Close(operation.EventPlanned, s.now())
		err = s.makeRuns(ctx, ev, r)
	}
	if err != nil {
		return err
	}
	_, err = s.Store.UpdateEvent(ctx, ev, next)
	return err
}

func (s *Sweep) makeRuns(ctx context.Context, ev operation.Event, r *Report) error {
	for i, name := range ev.Flows {
		res, err := s.Store.CreateRun(ctx, intake.NewRun(ev, ev.Runs[i], name, s.Owner(name), s.now()))
		if err != nil {
			return err
		}
		if res.Verdict != ledger.Created {
			continue
		}
		r.Started++
		if err := s.Launcher.Start(ctx, res.Current); err != nil {
			return err
		}
	}
	return nil
}

// run brings a run back whose execution is gone, or that nobody was asked about.
func (s *Sweep) run(ctx context.Context, id operation.RunID, r *Report) error {
	run, err := s.Store.Run(ctx, id)
	if err != nil || s.early(run.Step) {
		return err
	}
	asks, err := s.asks(ctx, run)
	if err != nil {
		return err
	}
	if err := s.bringBack(ctx, run, asks, r); err != nil {
		return err
	}
	return s.postponeRun(ctx, run)
}

func (s *Sweep) bringBack(ctx context.Context, run operation.Run, asks bool, r *Report) error {
	held := run.Status == operation.RunHeld
	switch {
	case run.Question != nil:
		r.Reminded++
		return s.remind(ctx, run.Question.Reviewers, string(run.ID), run.Question.Reason, linkHint)
	case held && run.Reason == operation.ReasonAborted && !launch.Released(&run):
		_, err := s.Asker.AskRun(ctx, run, operation.ReasonAborted) // going on is for a person to decide
		return err
	case held && asks:
		return nil // an operation's question is open: its own due time reminds of it
	case asks: // it waits for an answer: only its execution may have died
		return s.Launcher.Check(ctx, run.ID, operation.ReasonLaunch)
	}
	r.Started++
	return s.Launcher.Resume(ctx, run.ID, operation.ReasonLaunch)
}

// postponeRun moves the due time when nothing else has changed the run.
func (s *Sweep) postponeRun(ctx context.Context, run operation.Run) error {
	next := run
	next.Step.Due = s.now().Add(runPatience)
	if run.Status == operation.RunHeld {
		next.Step.Due = s.now().Add(operation.RemindEvery)
	}
	_, err := s.Store.UpdateRun(ctx, run, next)
	return err
}

// asks says that a question about the run or one of its operations is open.
func (s *Sweep) asks(ctx context.Context, run operation.Run) (bool, error) {
	for _, st := range run.Stages {
		op, err := s.Store.Operation(ctx, st.Operation)
		if err != nil {
			return false, err
		}
		if op.Question != nil && !op.Status.Settled() {
			return true, nil
		}
	}
	return run.Question != nil, nil
}
