package runner

import (
	"context"

	"holdfast/internal/execution"
	"holdfast/internal/launch"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// Reconcile finds out from targets what happened, with lookup rights only, and closes what time has ended. It is also
// where an execution goes after any state failed: its next step is then due later, with a growing wait.
func (r *Runner) Reconcile(ctx context.Context, in execution.Travel) (execution.Travel, error) {
	v, err := r.begin(ctx, in.Run)
	if err != nil {
		return execution.Travel{}, err
	}
	if err := r.passTime(ctx, v); err != nil {
		return execution.Travel{}, err
	}
	for range stepsMax {
		m := r.next(v)
		if m.Action != operation.ActionLookUp {
			return r.afterLooking(ctx, v, m, in)
		}
		if !r.timeLeft(ctx, RoomFor(r.PolicyOf(r.op(v, m)).Timeout)) {
			break
		}
		if err := r.lookUp(ctx, v, r.op(v, m)); err != nil {
			return execution.Travel{}, err
		}
	}
	return travel(in.Run, execution.NextLook), nil
}

func (r *Runner) op(v *view, m operation.RunMove) *operation.Operation {
	return v.ops[v.run.Stages[m.Stage].Operation]
}

// passTime writes down what only time has changed: leases that are over, questions that nobody answered.
func (r *Runner) passTime(ctx context.Context, v *view) error {
	for _, s := range v.run.Stages {
		for _, f := range launch.TimeFacts(v.ops[s.Operation], r.PolicyOf(v.ops[s.Operation]), r.now()) {
			if _, err := r.apply(ctx, v, v.ops[s.Operation], f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Runner) lookUp(ctx context.Context, v *view, op *operation.Operation) error {
	profile, ok := r.Profiles(op.Target)
	if !ok {
		return r.unreadable(ctx, v, op, operation.ReasonProfileMissing)
	}
	pinnedRequest, why, err := r.contentOf(ctx, op)
	if err != nil {
		return err
	}
	if why != "" {
		return r.unreadable(ctx, v, op, why)
	}
	at := r.now() // before the lookup leaves: "nothing found" speaks about this instant
	found := r.Engine.LookUp(ctx, profile, pinnedRequest)
	fact := operation.Looked{At: at, Result: lookResult(found, r.PolicyOf(op).AbsentCounts), Reference: found.Reference, Detail: found.Detail}
	r.Log.Info("looked up", "operation", op.ID, "result", found.Result.String(), "status", found.Status)
	_, err = r.apply(ctx, v, op, fact)
	return err
}

// unreadable: the target cannot be asked. A settled operation has nothing left to hold: the lookup counts as one without
// a usable answer, so that a person is asked when their number is used up.
func (r *Runner) unreadable(ctx context.Context, v *view, op *operation.Operation, why operation.Reason) error {
	if !op.Status.Settled() {
		return r.unfit(ctx, v, op, why)
	}
	_, err := r.apply(ctx, v, op, operation.Looked{At: r.now(), Result: operation.LookFailed, Detail: string(why)})
	return err
}

// lookResult: where "nothing found" can count, a lookup says so only when it saw everything. Where it never counts, it
// permits nothing, and is still the last look before a resend that rests on a person's word.
func lookResult(l target.Looked, counts bool) operation.LookResult {
	switch l.Result {
	case target.LookFound:
		if l.Reference == "" {
			return operation.LookFailed // what cannot be named proves nothing
		}
		return operation.LookFound
	case target.LookConflict:
		return operation.LookConflict
	case target.LookAbsent:
		if l.Complete || !counts {
			return operation.LookAbsent
		}
	}
	return operation.LookFailed
}

// afterLooking routes on. When a state before this one failed, whatever is due now is due later.
func (r *Runner) afterLooking(ctx context.Context, v *view, m operation.RunMove, in execution.Travel) (execution.Travel, error) {
	out, err := r.route(ctx, v, m)
	if err != nil || !caught(in) || (out.Next != execution.NextAgain && out.Next != execution.NextAsk) {
		return out, err
	}
	run := v.run
	until := run.Caught(r.now(), caughtFirst, caughtMost)
	if run.Ended() {
		run.Step = v.run.Step // it is not due any more: its open operation is
	}
	res, err := r.Store.UpdateRun(ctx, v.run, run)
	if err != nil {
		return execution.Travel{}, err
	}
	v.run = res.Current
	out.Next, out.Until = execution.NextWaitToLook, until.String()
	return out, nil
}

// caught says that the execution came here because a state failed: only Route sends it here on purpose.
func caught(in execution.Travel) bool {
	return in.Next != execution.NextLook && in.Next != execution.NextWaitToLook
}
