package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/execution"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/identity"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// Store is the part of the ledger that running needs.
type Store interface {
	Run(context.Context, operation.RunID) (operation.Run, error)
	CreateRunWith(ctx context.Context, run operation.Run, op operation.Operation, content []byte) (ledger.Result[operation.Run], error)
	UpdateRun(ctx context.Context, seen, next operation.Run) (ledger.Result[operation.Run], error)
	Operation(context.Context, operation.ID) (operation.Operation, error)
	Update(ctx context.Context, seen, next operation.Operation) (ledger.Result[operation.Operation], error)
	Claim(ctx context.Context, seen, next operation.Operation) (ledger.Result[operation.Operation], error)
	RecordOutcome(ctx context.Context, seen operation.Operation, attempt operation.AttemptID, fact []byte) (ledger.Result[operation.Operation], error)
	Content(context.Context, operation.ID, operation.Content) ([]byte, error)
	PutFilled(context.Context, operation.ID, operation.Filled, []byte) error
	Filled(context.Context, operation.ID, operation.Filled) ([]byte, error)
	Plan(context.Context, operation.RunID) ([]byte, error)
	PutPlan(context.Context, operation.RunID, []byte) (ledger.Result[[]byte], error)
	CreateOperation(ctx context.Context, op operation.Operation, content []byte) (ledger.Result[operation.Operation], error)
	Event(context.Context, operation.EventID) (operation.Event, error)
	UpdateEvent(ctx context.Context, seen, next operation.Event) (ledger.Result[operation.Event], error)
	Payload(context.Context, operation.EventID, operation.Digest) ([]byte, error)
	PutToken(ctx context.Context, id operation.RunID, generation int, token string) error
}

// Engine speaks to targets.
type Engine interface {
	Send(ctx context.Context, p *target.Profile, filled target.Request, fence target.Fence) target.Sent
	LookUp(ctx context.Context, p *target.Profile, pinned target.Request) target.Looked
}

// Asker puts questions to people: links, mails and the question on the operation or the run.
type Asker interface {
	AskOperations(ctx context.Context, run operation.Run, plan flow.PinnedPlan, ops []operation.Operation) ([]operation.Operation, error)
	AskRun(ctx context.Context, run operation.Run, reason operation.Reason) (operation.Run, error)
	AskMissing(ctx context.Context, run operation.Run, reason operation.Reason, fields []string, who operation.Person) (operation.Run, error)
}

// Waker answers the token of an Ask that has nothing to ask.
type Waker interface {
	Wake(ctx context.Context, token string, run operation.RunID) (bool, error)
}

// Launcher makes a run go on.
type Launcher interface {
	Start(context.Context, operation.Run) error
	Resume(context.Context, operation.RunID, operation.Reason) error
}

// Runner carries runs. Its fields are set once.
type Runner struct {
	Store      Store
	Engine     Engine
	Asker      Asker
	Executions Waker
	Launcher   Launcher
	Flows      func(name string) (*compile.Flow, bool)
	Profiles   func(name string) (*target.Profile, bool)
	// Destination is where a profile's target is, as configuration says.
	Destination func(*target.Profile) (target.Destination, error)
	Key         identity.Key
	Policy      target.Options // lease and skew
	// Accepted is when a restored ledger was last accepted; zero when it never was.
	Accepted   func() operation.Time
	Clock      clock.Clock
	NewAttempt func() operation.AttemptID
	Log        *slog.Logger
}

// Bounds of one invocation.
const (
	stepsMax      = 40               // moves per invocation
	recordReserve = 5 * time.Second  // kept at the end of an invocation to record what an attempt saw
	waitOpenMax   = 24 * time.Hour   // a longer wait needs no open execution
	caughtFirst   = 10 * time.Second // wait after a state failed; doubles with each further one
	caughtMost    = time.Hour
	askGrace      = 5 * time.Minute // an Ask outlives its question by this
	askDefault    = 24 * time.Hour  // an Ask whose flow does not say how long its question stands
	recordTries   = 3               // tries to record what an attempt saw
	claimRaces    = 8               // tries of a write while others write the same record
)

func (r *Runner) now() operation.Time { return operation.TimeOf(r.Clock.Now()) }

// view is a run with its operations as they were last read or written.
type view struct {
	run  operation.Run
	plan pinned
	ops  map[operation.ID]*operation.Operation
}

func (r *Runner) load(ctx context.Context, id operation.RunID) (*view, error) {
	run, err := r.Store.Run(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", id, err)
	}
	v := &view{run: run, ops: map[operation.ID]*operation.Operation{}}
	if len(run.Stages) == 0 {
		return v, nil
	}
	raw, err := r.Store.Plan(ctx, id)
	switch {
	case errors.Is(err, ledger.ErrNotFound): // lost with a restored table: whatever has to be asked is asked of the owner
		v.plan.Flow, v.plan.Version, v.plan.Owner = run.Flow, run.Version, run.Owner
	case err != nil:
		return nil, fmt.Errorf("load the plan of %s: %w", id, err)
	default:
		if err := json.Unmarshal(raw, &v.plan); err != nil {
			return nil, fmt.Errorf("read the plan of %s: %w", id, err)
		}
	}
	for _, s := range run.Stages {
		if err := r.reload(ctx, v, s.Operation); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (r *Runner) reload(ctx context.Context, v *view, id operation.ID) error {
	op, err := r.Store.Operation(ctx, id)
	if err != nil {
		return fmt.Errorf("load %s: %w", id, err)
	}
	v.ops[id] = &op
	return nil
}

// PolicyOf is the stricter of the pinned and the current recovery rules; with the profile gone, nothing may be relied on.
func (r *Runner) PolicyOf(op *operation.Operation) operation.Policy {
	p, ok := r.Profiles(op.Target)
	if !ok {
		return operation.Stricter(op.Policy, operation.Policy{})
	}
	return operation.Stricter(op.Policy, p.Policy(r.Policy))
}

// changeRun writes what change makes of the run, again from what others left, until it stands or change has nothing to do.
// raced is the error when others write it all the time.
func (r *Runner) changeRun(ctx context.Context, v *view, raced error, change func(*operation.Run) (bool, error)) error {
	for range claimRaces {
		run := v.run
		if does, err := change(&run); err != nil || !does {
			return err
		}
		res, err := r.Store.UpdateRun(ctx, v.run, run)
		if err != nil {
			return err
		}
		v.run = res.Current
		if won(res.Verdict) {
			return nil
		}
	}
	return raced
}

// apply gives one fact to an operation and writes it. A refusal or a lost race leaves the operation as it now stands;
// the caller decides again from that.
func (r *Runner) apply(ctx context.Context, v *view, op *operation.Operation, f operation.Fact) (bool, error) {
	next, refused := operation.Apply(op, f, r.PolicyOf(op))
	if refused != nil {
		r.Log.Info("fact refused", "operation", op.ID, "reason", refused.Reason)
		return false, nil
	}
	res, err := r.Store.Update(ctx, *op, *next)
	if err != nil {
		return false, err
	}
	v.ops[op.ID] = &res.Current
	return res.Verdict == ledger.Written, nil
}

// RoomFor is how long an invocation must be able to run to make one attempt with the given request timeout.
func RoomFor(timeout time.Duration) time.Duration { return timeout + recordReserve }

// timeLeft says whether at least d is left of the invocation.
func (r *Runner) timeLeft(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || deadline.Sub(r.Clock.Now()) >= d
}

func travel(run operation.RunID, next string) execution.Travel {
	return execution.Travel{Run: run, Next: next}
}
