package runner

import (
	"context"

	"holdfast/internal/execution"
	"holdfast/internal/operation"
)

// Execute makes attempts while the run allows any and time remains, then says where the run goes next.
func (r *Runner) Execute(ctx context.Context, in execution.Travel) (execution.Travel, error) {
	v, err := r.begin(ctx, in.Run)
	if err != nil {
		return execution.Travel{}, err
	}
	if unplanned(&v.run) {
		return travel(in.Run, execution.NextHold), nil
	}
	for range stepsMax {
		m := r.next(v)
		if m.Action != operation.ActionSend && m.Action != operation.ActionReplay {
			return r.route(ctx, v, m)
		}
		if !r.timeLeftFor(ctx, v, m) {
			break
		}
		if err := r.attempt(ctx, v, m); err != nil {
			return execution.Travel{}, err
		}
		if err := r.refresh(ctx, v); err != nil { // a person may have stopped the run meanwhile
			return execution.Travel{}, err
		}
	}
	return travel(in.Run, execution.NextAgain), nil
}

// unplanned says that Plan has not come to its end, and nobody is asked about it: there is nothing to act on or to ask
// yet. The run stays due, so whoever comes too early takes nothing away from Plan.
func unplanned(run *operation.Run) bool {
	return len(run.Stages) == 0 && run.Question == nil && run.Status == operation.RunStarted
}

// timeLeftFor: with no time left at the start nothing is written, so that no claim ends without its request.
func (r *Runner) timeLeftFor(ctx context.Context, v *view, m operation.RunMove) bool {
	op := v.ops[v.run.Stages[m.Stage].Operation]
	return r.timeLeft(ctx, RoomFor(r.PolicyOf(op).Timeout))
}

// route turns a move that sends nothing into the state machine's next state.
func (r *Runner) route(ctx context.Context, v *view, m operation.RunMove) (execution.Travel, error) {
	switch m.Action {
	case operation.ActionDone:
		return r.finish(ctx, v, m)
	case operation.ActionSend, operation.ActionReplay:
		return travel(v.run.ID, execution.NextAgain), nil
	case operation.ActionLookUp:
		return travel(v.run.ID, execution.NextLook), nil
	case operation.ActionWait:
		return r.wait(ctx, v, m)
	case operation.ActionAsk:
		return r.ask(ctx, v, m)
	}
	return travel(v.run.ID, execution.NextHold), nil
}

// wait lets time pass for one stage; what another stage needs a person for is asked meanwhile.
func (r *Runner) wait(ctx context.Context, v *view, m operation.RunMove) (execution.Travel, error) {
	if err := r.askWhatHappened(ctx, v); err != nil {
		return execution.Travel{}, err
	}
	switch long := m.Due.Sub(r.now()) > waitOpenMax; {
	case long && v.run.Ended():
		return travel(v.run.ID, execution.NextHold), nil // the operation itself is due then
	case long:
		// The sweep starts the next generation when the time has come.
		return r.rest(ctx, v, operation.Step{Action: operation.ActionWait, Reason: m.Reason, Due: m.Due, Owner: v.run.Owner})
	}
	next := execution.NextWaitToLook
	if m.Then == operation.ActionSend || m.Then == operation.ActionReplay {
		next = execution.NextWaitToSend
	}
	t := travel(v.run.ID, next)
	t.Until = m.Due.String()
	return t, nil
}

// ask sends approvals to Ask, which waits with a token; every other question ends the execution, since the decision
// starts the next generation.
func (r *Runner) ask(ctx context.Context, v *view, m operation.RunMove) (execution.Travel, error) {
	if v.run.Ended() {
		return travel(v.run.ID, execution.NextAgain), r.askAbout(ctx, v, v.run.Stages[m.Stage].Operation)
	}
	if err := r.askWhatHappened(ctx, v); err != nil {
		return execution.Travel{}, err
	}
	if m.Kind == operation.QuestionApprove {
		t := travel(v.run.ID, execution.NextAsk)
		t.AskTimeout = r.askTimeout(v)
		return t, nil
	}
	if err := r.askPeople(ctx, v, m); err != nil {
		return execution.Travel{}, err
	}
	if m.Kind == operation.QuestionUnsettled {
		return travel(v.run.ID, execution.NextAgain), nil // the effect is confirmed: the run goes on meanwhile
	}
	return r.hold(ctx, v, m.Reason)
}

// askWhatHappened puts every question about what happened that is not put yet, each by itself, since an answer speaks of
// one operation. Otherwise an approval or another stage's question would keep it from being asked.
func (r *Runner) askWhatHappened(ctx context.Context, v *view) error {
	for i, s := range v.run.Stages {
		op := v.ops[s.Operation]
		if s.Conflict || op.Question != nil || operation.StageGate(&v.run, i, v.ops) != operation.GateOpen {
			continue
		}
		m := operation.Next(op, r.PolicyOf(op), r.now())
		if m.Action != operation.ActionAsk || m.Kind == operation.QuestionApprove {
			continue
		}
		if err := r.askAbout(ctx, v, op.ID); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) askPeople(ctx context.Context, v *view, m operation.RunMove) error {
	if m.Stage < 0 || v.run.Stages[m.Stage].Conflict || operation.StageGate(&v.run, m.Stage, v.ops) != operation.GateOpen {
		run, err := r.Asker.AskRun(ctx, v.run, m.Reason)
		v.run = run
		return err
	}
	return r.askAbout(ctx, v, v.run.Stages[m.Stage].Operation)
}

// askAbout puts the question that one operation needs.
func (r *Runner) askAbout(ctx context.Context, v *view, id operation.ID) error {
	asked, err := r.Asker.AskOperations(ctx, v.run, v.plan.PinnedPlan, []operation.Operation{*v.ops[id]})
	for i := range asked {
		v.ops[asked[i].ID] = &asked[i]
	}
	return err
}

// askTimeout is how long Ask waits: to the last expiry of the open questions, and a little longer.
func (r *Runner) askTimeout(v *view) int {
	open := v.plan.Expires.Std()
	if open <= 0 {
		open = askDefault
	}
	until := r.now().Add(open)
	for _, op := range v.ops {
		if op.Question != nil && op.Question.Expires > until {
			until = op.Question.Expires
		}
	}
	return int((until.Sub(r.now()) + askGrace).Seconds())
}

// hold writes that the run waits for a person.
func (r *Runner) hold(ctx context.Context, v *view, why operation.Reason) (execution.Travel, error) {
	return r.updateRun(ctx, v, execution.NextHold, func(run *operation.Run, now operation.Time) bool {
		return run.Hold(why, now)
	})
}

// rest writes that the run waits without an execution.
func (r *Runner) rest(ctx context.Context, v *view, s operation.Step) (execution.Travel, error) {
	return r.updateRun(ctx, v, execution.NextHold, func(run *operation.Run, _ operation.Time) bool {
		run.Step = s
		return true
	})
}

// finish writes the run's end, and withdraws what will not be started any more.
func (r *Runner) finish(ctx context.Context, v *view, m operation.RunMove) (execution.Travel, error) {
	out, err := r.updateRun(ctx, v, execution.NextDone, func(run *operation.Run, now operation.Time) bool {
		return run.Finish(m.End, m.Reason, now)
	})
	if err == nil && v.run.Ended() {
		err = r.letGo(ctx, v)
	}
	return out, err
}

// updateRun changes the run and answers next; when another writer was first, the state machine looks again.
func (r *Runner) updateRun(ctx context.Context, v *view, next string, change func(*operation.Run, operation.Time) bool) (execution.Travel, error) {
	run := v.run
	if !change(&run, r.now()) {
		return travel(v.run.ID, next), nil
	}
	res, err := r.Store.UpdateRun(ctx, v.run, run)
	if err != nil {
		return execution.Travel{}, err
	}
	v.run = res.Current
	if !won(res.Verdict) {
		return travel(v.run.ID, execution.NextAgain), nil
	}
	return travel(v.run.ID, next), nil
}
