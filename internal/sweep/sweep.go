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
	"holdfast/internal/intake"
	"holdfast/internal/ledger"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
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
}

// Launcher makes runs go on.
type Launcher interface {
	Start(context.Context, operation.Run) error
	Resume(context.Context, operation.RunID, operation.Reason) error
}

// Sweep looks after open things. Its fields are set once.
type Sweep struct {
	Store    Store
	Launcher Launcher
	Policy   func(*operation.Operation) operation.Policy
	Notifier notify.Notifier
	Owner    func(flow string) operation.Person
	Clock    clock.Clock
	Log      *slog.Logger
}

// Bounds of one sweep.
const (
	pageItems   = 100
	pagesMax    = 50              // per shard and sweep
	reserve     = 5 * time.Second // left of the invocation when it stops
	runPatience = 10 * time.Minute
)

// Report counts what a sweep did.
type Report struct {
	Due, Started, Passed, Reminded, Failed int
	More                                   bool // time was up before everything due was seen
}

func (s *Sweep) now() operation.Time { return operation.TimeOf(s.Clock.Now()) }

// Handle is the Lambda handler of the schedule.
func (s *Sweep) Handle(ctx context.Context) (Report, error) {
	var r Report
	for shard := range ledger.Shards {
		if err := s.shard(ctx, shard, &r); err != nil {
			return r, err
		}
	}
	s.Log.Info("sweep", "due", r.Due, "started", r.Started, "passed", r.Passed, "reminded", r.Reminded, "failed", r.Failed, "more", r.More)
	return r, nil
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

// event makes the runs that a crash left out.
func (s *Sweep) event(ctx context.Context, id operation.EventID, r *Report) error {
	ev, err := s.Store.Event(ctx, id)
	if err != nil || s.early(ev.Step) {
		return err
	}
	next := ev
	if ev.Status == operation.EventHeld {
		r.Reminded++
		next.Step.Due = s.now().Add(operation.RemindEvery)
		if err := s.remind(ctx, ev.Owner, nil, string(ev.ID), ev.Reason); err != nil {
			return err
		}
	} else {
		for i, name := range ev.Flows {
			run := intake.NewRun(ev, ev.Runs[i], name, s.Owner(name), s.now())
			res, err := s.Store.CreateRun(ctx, run)
			if err != nil {
				return err
			}
			if res.Verdict == ledger.Created {
				r.Started++
				if err := s.Launcher.Start(ctx, res.Current); err != nil {
					return err
				}
			}
		}
		next.Close(operation.EventPlanned, s.now())
	}
	_, err = s.Store.UpdateEvent(ctx, ev, next)
	return err
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
	switch {
	case run.Status == operation.RunHeld && asks:
		r.Reminded++
		if err := s.remind(ctx, run.Owner, nil, string(run.ID), run.Reason); err != nil {
			return err
		}
	case run.Status == operation.RunHeld || !asks:
		r.Started++
		if err := s.Launcher.Resume(ctx, run.ID, operation.ReasonLaunch); err != nil {
			return err
		}
	default: // it waits for an approval: only its execution may have died
		if err := s.Launcher.Resume(ctx, run.ID, operation.ReasonLaunch); err != nil {
			return err
		}
	}
	return s.postponeRun(ctx, run)
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
	if run.Question != nil {
		return true, nil
	}
	for _, st := range run.Stages {
		op, err := s.Store.Operation(ctx, st.Operation)
		if err != nil {
			return false, err
		}
		if op.Question != nil && !op.Status.Settled() {
			return true, nil
		}
	}
	return false, nil
}

// operation writes down what time has ended and makes the runs go on that wait for it.
func (s *Sweep) operation(ctx context.Context, id operation.ID, r *Report) error {
	op, err := s.Store.Operation(ctx, id)
	if err != nil {
		return err
	}
	p, now := s.Policy(&op), s.now()
	if facts := runner.TimeFacts(&op, p, now); len(facts) > 0 {
		r.Passed++
		return s.pass(ctx, op, p, facts)
	}
	if s.early(op.Step) {
		return nil
	}
	m := operation.Next(&op, p, now)
	if m.Action == operation.ActionAsk && op.Question != nil {
		r.Reminded++
		if err := s.remind(ctx, op.Owner, escalated(&op, now), string(op.ID), m.Reason); err != nil {
			return err
		}
	} else if m.Action != operation.ActionDone && m.Action != operation.ActionWait {
		r.Started++
		if err := s.resume(ctx, op.Runs); err != nil {
			return err
		}
	}
	_, err = s.Store.Update(ctx, op, *operation.Postpone(&op, p, now))
	return err
}

func (s *Sweep) pass(ctx context.Context, op operation.Operation, p operation.Policy, facts []operation.Fact) error {
	next := &op
	for _, f := range facts {
		after, refused := operation.Apply(next, f, p)
		if refused != nil {
			return refused
		}
		next = after
	}
	res, err := s.Store.Update(ctx, op, *next)
	if err != nil || res.Verdict != ledger.Written {
		return err
	}
	return s.resume(ctx, op.Runs)
}

func (s *Sweep) resume(ctx context.Context, runs []operation.RunID) error {
	var failed []error
	for _, id := range runs {
		if err := s.Launcher.Resume(ctx, id, operation.ReasonLaunch); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// escalateAfter is how long a question may wait before those above are told too.
const escalateAfter = 24 * time.Hour

func escalated(op *operation.Operation, now operation.Time) []operation.Person {
	if now.Sub(op.Question.Asked) < escalateAfter {
		return nil
	}
	return op.Escalate
}

func (s *Sweep) remind(ctx context.Context, owner operation.Person, also []operation.Person, id string, why operation.Reason) error {
	for _, to := range append([]operation.Person{owner}, also...) {
		err := s.Notifier.Notify(ctx, notify.Mail{
			To: string(to), Subject: "Still waiting for a decision",
			Text: "Still waiting: " + id + "\nReason: " + string(why) + "\n\nThe link was sent when the question was asked. `holdfast inspect " + id + "` shows the story.\n",
		})
		if err != nil {
			return err
		}
	}
	return nil
}
