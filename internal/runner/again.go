package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/flow/compile"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// Doing says in one word what "run again" will do for one operation.
type Doing string

// The words. Reuse sends nothing; retry sends only what is proven not executed or was never sent; reconcile asks the
// target first; hold waits for a person.
const (
	DoReuse     Doing = "reuse"
	DoSend      Doing = "send"
	DoRetry     Doing = "retry"
	DoReconcile Doing = "reconcile"
	DoHold      Doing = "hold"
	DoWait      Doing = "wait"
	DoNothing   Doing = "nothing"
)

// Preview is what "run again" will do for one operation, before it does it.
type Preview struct {
	Stage     string              `json:"stage"`
	Operation operation.ID        `json:"operation"`
	Status    operation.Status    `json:"status"`
	Does      Doing               `json:"does"`
	Reason    operation.Reason    `json:"reason"`
	Reference operation.Reference `json:"reference,omitempty"`
	Owner     operation.Person    `json:"owner"`
	// After is the earlier stage that this one waits for; "" when it waits for none.
	After string `json:"after,omitempty"`
	// Open says that an attempt may have had an effect that nobody knows of.
	Open bool `json:"open,omitempty"`
}

// PreviewAgain says what "run again" on a run will do. It changes nothing.
func (r *Runner) PreviewAgain(ctx context.Context, id operation.RunID) (operation.Run, []Preview, error) {
	v, err := r.load(ctx, id)
	if err != nil {
		return operation.Run{}, nil, err
	}
	var out []Preview
	reopened := r.reopened(v)
	for i, s := range v.run.Stages {
		op := v.ops[s.Operation]
		p := Preview{Stage: s.Name, Operation: op.ID, Status: op.Status, Reference: op.Reference, Owner: op.Owner, Open: op.AnyOpen()}
		if !op.Status.Settled() && StageWaits(&v.run, i, reopened) {
			p.After = s.After
		}
		p.Does, p.Reason = r.does(&v.run, i, reopened)
		out = append(out, p)
	}
	return v.run, out, nil
}

// reopened are the operations as "run again" would leave them before anything is done.
func (r *Runner) reopened(v *view) map[operation.ID]*operation.Operation {
	out := map[operation.ID]*operation.Operation{}
	for id, op := range v.ops {
		out[id] = op
		if next, refused := operation.Apply(op, operation.Reopened{At: r.now(), By: op.Owner}, r.PolicyOf(op)); refused == nil {
			out[id] = next
		}
	}
	return out
}

// does asks the core about a stage of the run with its operations reopened: nothing is decided here.
func (r *Runner) does(run *operation.Run, i int, ops map[operation.ID]*operation.Operation) (Doing, operation.Reason) {
	if run.Stages[i].Conflict {
		return DoHold, operation.ReasonSameKey
	}
	op := ops[run.Stages[i].Operation]
	does, why := r.doing(op)
	if (does == DoSend || does == DoRetry || does == DoWait) && StageWaits(run, i, ops) {
		return DoWait, operation.ReasonStageWaits
	}
	return does, why
}

// StageWaits says that an earlier stage comes first, whatever is decided about this one's content.
func StageWaits(run *operation.Run, i int, ops map[operation.ID]*operation.Operation) bool {
	alone := *run
	alone.Stages = slices.Clone(run.Stages)
	alone.Stages[i].Conflict = false
	return operation.StageGate(&alone, i, ops) != operation.GateOpen
}

func (r *Runner) doing(op *operation.Operation) (Doing, operation.Reason) {
	m := operation.Next(op, r.PolicyOf(op), r.now())
	switch m.Action {
	case operation.ActionSend:
		if len(op.Attempts) > 0 {
			return DoRetry, m.Reason
		}
		return DoSend, m.Reason
	case operation.ActionReplay, operation.ActionLookUp:
		return DoReconcile, m.Reason
	case operation.ActionWait:
		if m.Then == operation.ActionSend {
			return DoWait, m.Reason
		}
		return DoReconcile, m.Reason
	case operation.ActionDone:
		if op.Status == operation.StatusConfirmed {
			return DoReuse, m.Reason
		}
		return DoNothing, m.Reason
	}
	return DoHold, m.Reason
}

// ErrNotAgain says that a run cannot be run again as it is; the error that wraps it says what to do.
var ErrNotAgain = errors.New("not possible as it stands")

// Again reopens what is proven not executed or was declined, under a new approval, and opens the run's next
// generation. What is confirmed is reused, what is unknown is reconciled: by the same rules as ever.
func (r *Runner) Again(ctx context.Context, id operation.RunID, by operation.Person) (operation.Run, error) {
	v, err := r.load(ctx, id)
	if err != nil {
		return operation.Run{}, err
	}
	if v.run.Question != nil {
		return v.run, fmt.Errorf("%w: a question about this run is open; answer it with the link that was sent to %s", ErrNotAgain, v.run.Question.Reviewers[0])
	}
	for _, s := range v.run.Stages {
		op := v.ops[s.Operation]
		if op.Status == operation.StatusFailed || op.Status == operation.StatusDeclined {
			if _, err := r.give(ctx, v, op.ID, func() operation.Fact { return operation.Reopened{At: r.now(), By: by} }); err != nil {
				return v.run, err
			}
		}
	}
	run := v.run
	if !run.Again(by, r.now()) {
		return v.run, fmt.Errorf("%w: the flow was not meant for this event, so there is nothing to run", ErrNotAgain)
	}
	res, err := r.Store.UpdateRun(ctx, v.run, run)
	if err != nil {
		return v.run, err
	}
	if !won(res.Verdict) {
		return res.Current, fmt.Errorf("%w: somebody else changed the run just now; look at it again", ErrNotAgain)
	}
	return res.Current, r.Launcher.Start(ctx, res.Current)
}

// Stop ends the run, so that nothing more is started for it, then withdraws what is not yet sent and what no other run
// waits for. What may have been sent is found out all the same: its operation stays open on the worklist until it is.
func (r *Runner) Stop(ctx context.Context, id operation.RunID, by operation.Person, how string) ([]operation.ID, error) {
	v, err := r.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.stopRun(ctx, v, by, how); err != nil {
		return nil, err
	}
	if err := r.adopt(ctx, v); err != nil {
		return nil, err
	}
	return r.withdraw(ctx, v, by, how)
}

func (r *Runner) stopRun(ctx context.Context, v *view, by operation.Person, how string) error {
	raced := fmt.Errorf("%w: others write the run all the time; stop it again", ErrNotAgain)
	return r.changeRun(ctx, v, raced, func(run *operation.Run) (bool, error) {
		run.Stopped = &operation.Decision{Answer: operation.AnswerStop, By: by, At: r.now(), How: how}
		return run.Finish(operation.RunStopped, operation.ReasonWithdrawn, r.now()), nil
	})
}

// Second makes a deliberate second operation for one stage of a run: its own identity from the nonce of whoever asked,
// its own content version, its own approval. A double click makes one. It returns the run that carries it.
func (r *Runner) Second(ctx context.Context, id operation.RunID, stage, nonce string, by operation.Person) (operation.Run, error) {
	v, err := r.load(ctx, id)
	if err != nil {
		return operation.Run{}, err
	}
	at := slices.IndexFunc(v.run.Stages, func(s operation.StageRef) bool { return s.Name == stage })
	if at < 0 || nonce == "" {
		return v.run, fmt.Errorf("%w: run %s has no stage %q", ErrNotAgain, id, stage)
	}
	ev, err := r.Store.Event(ctx, v.run.Event)
	if err != nil {
		return v.run, err
	}
	run, err := r.secondRun(ev, v, at, nonce, by)
	if err != nil {
		return v.run, err
	}
	if made, err := r.Store.Run(ctx, run.ID); !errors.Is(err, ledger.ErrNotFound) {
		if err != nil {
			return v.run, err
		}
		return made, r.Launcher.Start(ctx, made) // the first click's
	}
	fz, err := r.freezeSecond(ctx, ev, v, stage, nonce, run.ID)
	if err != nil {
		return v.run, err
	}
	if err := r.planSecond(ctx, v, &run, at, fz); err != nil {
		return v.run, err
	}
	res, err := r.Store.CreateRunWith(ctx, run, fz.op, fz.content)
	if err != nil {
		return v.run, err
	}
	return res.Current, r.Launcher.Start(ctx, res.Current)
}

// secondRun carries the stages up to the second one; the earlier ones are those of the first run, and are reused.
func (r *Runner) secondRun(ev operation.Event, v *view, at int, nonce string, by operation.Person) (operation.Run, error) {
	id, err := r.Key.RunID(v.run.Flow+"#"+nonce, string(ev.ID))
	if err != nil {
		return operation.Run{}, err
	}
	run := operation.Run{
		ID: operation.RunID(id), Flow: v.run.Flow, Version: v.run.Version, Event: ev.ID, Source: ev.Source, Owner: v.run.Owner,
		Created: r.now(), Occurred: ev.Occurred, Generation: 1, Stages: append([]operation.StageRef(nil), v.run.Stages[:at+1]...),
	}
	run.Launch(r.now())
	run.Evidence = []operation.Evidence{{Kind: operation.EvidencePlanned, At: r.now(), By: by, Detail: "deliberate second of " + v.run.Stages[at].Name}}
	return run, nil
}

// freezeSecond renders the stage again under the second operation's own id.
func (r *Runner) freezeSecond(ctx context.Context, ev operation.Event, v *view, stage, nonce string, run operation.RunID) (frozen, error) {
	f, ok := r.Flows(v.run.Flow)
	if !ok {
		return frozen{}, fmt.Errorf("%w: the flow %s is no longer there", ErrNotAgain, v.run.Flow)
	}
	body, err := r.Store.Payload(ctx, ev.ID, ev.Payload)
	if err != nil {
		return frozen{}, err
	}
	out, err := f.Plan(compile.Input{Event: eventOf(ev), Body: body, HoleReference: target.HoleReference})
	if err != nil {
		return frozen{}, err
	}
	for _, s := range out.Stages {
		if s.Name == stage {
			plan := out.Plan
			plan.SendWithin = 0 // a second one is approved on its own, whenever it is asked for
			return r.freeze(ev, plan, s, run, nonce)
		}
	}
	return frozen{}, fmt.Errorf("%w: the event is not planned into %s any more (%s)", ErrNotAgain, stage, out.Reason)
}

func (r *Runner) planSecond(ctx context.Context, v *view, run *operation.Run, at int, fz frozen) error {
	plan := v.plan
	if len(plan.Stages) <= at {
		return fmt.Errorf("%w: the plan of run %s is not in the ledger any more; let the source send a new event instead", ErrNotAgain, v.run.ID)
	}
	plan.Stages = append(plan.Stages[:0:0], plan.Stages[:at+1]...)
	plan.Stages[at].Operation = fz.op.ID
	plan.Content = map[string]operation.Digest{run.Stages[at].Name: fz.op.Content.Digest}
	stands, err := r.putPlan(ctx, run.ID, plan)
	if err != nil {
		return err
	}
	if !stands {
		return fmt.Errorf("%w: the flow changed since this was first asked for; open the page again", ErrNotAgain)
	}
	for i := range run.Stages[:at] { // the second one may wait for them
		related := func() operation.Fact { return operation.Related{At: r.now(), Run: run.ID} }
		if _, err := r.give(ctx, v, run.Stages[i].Operation, related); err != nil {
			return err
		}
	}
	run.Stages[at].Operation, run.Stages[at].Conflict, run.Stages[at].Reused = fz.op.ID, false, false
	return nil
}

// CarryOut does what the latest decision about a run asks for on its operations.
func (r *Runner) CarryOut(ctx context.Context, id operation.RunID) error {
	run, err := r.Store.Run(ctx, id)
	if err != nil || len(run.Answered) == 0 {
		return err
	}
	q := run.Answered[len(run.Answered)-1]
	switch q.Decision.Answer {
	case operation.AnswerStop:
		_, err := r.Stop(ctx, id, q.Decision.By, q.Decision.How)
		return err
	case operation.AnswerSecond:
		return r.secondsOf(ctx, run, string(q.ID), q.Decision.By)
	}
	return nil
}

// secondsOf gives each stage in conflict its own second operation within the run; the question's id is the nonce.
func (r *Runner) secondsOf(ctx context.Context, run operation.Run, nonce string, by operation.Person) error {
	v, err := r.load(ctx, run.ID)
	if err != nil {
		return err
	}
	ev, err := r.Store.Event(ctx, run.Event)
	if err != nil {
		return err
	}
	next := v.run
	next.Stages = append([]operation.StageRef(nil), v.run.Stages...)
	changed := false
	for i := range next.Stages {
		s := &next.Stages[i]
		if !s.Conflict {
			continue
		}
		fz, err := r.freezeSecond(ctx, ev, v, s.Name, nonce, run.ID)
		if err != nil {
			return err
		}
		if _, err := r.Store.CreateOperation(ctx, fz.op, fz.content); err != nil {
			return err
		}
		s.Operation, s.Conflict, changed = fz.op.ID, false, true
	}
	if !changed {
		return nil
	}
	r.Log.Info("deliberate second", "run", run.ID, "by", by)
	res, err := r.Store.UpdateRun(ctx, v.run, next)
	if err == nil && res.Verdict != ledger.Written {
		return fmt.Errorf("%w: the run changed meanwhile", ErrNotAgain)
	}
	return err
}
