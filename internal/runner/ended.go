package runner

import (
	"context"

	"holdfast/internal/operation"
)

// begin loads a run, carries out a decision about it that a crash left out, and withdraws what an ended run has left.
func (r *Runner) begin(ctx context.Context, id operation.RunID) (*view, error) {
	v, err := r.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if undelivered(&v.run) {
		if err := r.CarryOut(ctx, id); err != nil {
			return nil, err
		}
		if v, err = r.load(ctx, id); err != nil {
			return nil, err
		}
	}
	if v.run.Ended() {
		err = r.letGo(ctx, v)
	}
	return v, err
}

// undelivered says that the latest decision about the run asks for something that is not done yet.
func undelivered(run *operation.Run) bool {
	if len(run.Answered) == 0 {
		return false
	}
	d := run.Answered[len(run.Answered)-1].Decision
	switch d.Answer {
	case operation.AnswerStop:
		return !run.Ended() && (run.Stopped == nil || run.Stopped.At < d.At)
	case operation.AnswerSecond:
		for _, s := range run.Stages {
			if s.Conflict {
				return true
			}
		}
	}
	return false
}

// refresh reads the run again after an attempt, and what is new about its stages.
func (r *Runner) refresh(ctx context.Context, v *view) error {
	run, err := r.Store.Run(ctx, v.run.ID)
	if err != nil {
		return err
	}
	v.run = run
	for _, s := range run.Stages {
		if v.ops[s.Operation] == nil {
			if err := r.reload(ctx, v, s.Operation); err != nil {
				return err
			}
		}
	}
	if run.Ended() {
		err = r.letGo(ctx, v)
	}
	return err
}

// next is what the run may do next. One that has ended starts nothing more; what may have been sent for it is still found
// out and asked about.
func (r *Runner) next(v *view) operation.RunMove {
	m := operation.NextRun(&v.run, v.ops, r.PolicyOf, r.now())
	if !v.run.Ended() {
		return m
	}
	for i, s := range v.run.Stages {
		op := v.ops[s.Operation]
		o := operation.Next(op, r.PolicyOf(op), r.now())
		asked := o.Action == operation.ActionAsk && op.Question != nil
		if s.Conflict || asked || o.Action == operation.ActionDone || o.Action == operation.ActionSend || o.Then == operation.ActionSend {
			continue
		}
		return operation.RunMove{Action: o.Action, Reason: o.Reason, Due: o.Due, Then: o.Then, Kind: o.Kind, Stage: i}
	}
	return m
}

// letGo withdraws what an ended run has left: by the person who stopped it, else by nobody.
func (r *Runner) letGo(ctx context.Context, v *view) error {
	by, how := operation.Person(""), "the run has ended"
	if d := v.run.Stopped; d != nil {
		by, how = d.By, d.How
	}
	_, err := r.withdraw(ctx, v, by, how)
	return err
}

// withdraw closes what was not sent for the run and what no other run waits for. What may have been sent stays: it is
// found out. The answer lists what was withdrawn.
func (r *Runner) withdraw(ctx context.Context, v *view, by operation.Person, how string) ([]operation.ID, error) {
	var done []operation.ID
	for _, s := range v.run.Stages {
		op := v.ops[s.Operation]
		if op.Status.Settled() || op.AnyUnsettled() || s.Conflict {
			continue
		}
		alone, err := r.alone(ctx, v, op)
		if err != nil {
			return done, err
		}
		if !alone {
			continue
		}
		gone, err := r.give(ctx, v, s.Operation, func() operation.Fact { return operation.Withdrawn{At: r.now(), By: by, How: how} })
		if err != nil {
			return done, err
		}
		if gone {
			done = append(done, op.ID)
		}
	}
	return done, nil
}

// alone says that no other run that goes on relies on the operation.
func (r *Runner) alone(ctx context.Context, v *view, op *operation.Operation) (bool, error) {
	for _, id := range op.Runs {
		if id == v.run.ID {
			continue
		}
		run, err := r.Store.Run(ctx, id)
		if err != nil || !run.Ended() {
			return false, err
		}
	}
	return true, nil
}

// give gives a fact to an operation, again from what others left, until it is written or refused.
func (r *Runner) give(ctx context.Context, v *view, id operation.ID, f func() operation.Fact) (bool, error) {
	for range claimRaces {
		rev := v.ops[id].Rev
		done, err := r.apply(ctx, v, v.ops[id], f())
		if err != nil || done || v.ops[id].Rev == rev {
			return done, err
		}
	}
	return false, nil
}
