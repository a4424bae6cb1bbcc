package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/execution"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/identity"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// pinned is the compiled plan as a run keeps it: what every later step reads instead of the flow file.
type pinned struct {
	flow.PinnedPlan
	// Content names the frozen content of each stage, so that planning again can only find the same.
	Content map[string]operation.Digest `json:"content"`
}

// frozen is one stage of a plan with the bytes that a person will approve.
type frozen struct {
	op      operation.Operation
	content []byte
}

// Plan makes a run's operations. Its first write is the compiled plan, conditionally; run twice, it changes nothing.
func (r *Runner) Plan(ctx context.Context, in execution.Travel) (execution.Travel, error) {
	v, err := r.load(ctx, in.Run)
	if err != nil {
		return execution.Travel{}, err
	}
	if len(v.run.Stages) > 0 || v.run.Ended() || v.run.Question != nil {
		return r.planned(v), nil
	}
	ev, err := r.Store.Event(ctx, v.run.Event)
	if errors.Is(err, ledger.ErrNotFound) {
		_, err := r.holdNew(ctx, v, operation.ReasonEventMissing)
		return r.planned(v), err
	}
	if err != nil {
		return execution.Travel{}, err
	}
	f, ok := r.Flows(v.run.Flow)
	if !ok {
		_, err := r.holdNew(ctx, v, operation.ReasonFlowMissing)
		return r.planned(v), err
	}
	body, err := r.Store.Payload(ctx, ev.ID, ev.Payload)
	if notTheBytes(err) {
		_, err := r.holdNew(ctx, v, operation.ReasonEventMissing)
		return r.planned(v), err
	}
	if err != nil {
		return execution.Travel{}, err
	}
	out, err := f.Plan(compile.Input{Event: eventOf(ev), Body: body, HoleReference: target.HoleReference})
	if err != nil {
		return execution.Travel{}, err
	}
	if err := r.carryOut(ctx, v, ev, out); err != nil {
		return execution.Travel{}, err
	}
	return r.planned(v), r.markPlanned(ctx, v.run.ID, ev, out)
}

func eventOf(ev operation.Event) compile.Event {
	return compile.Event{ID: ev.ID, Source: ev.Source, Account: ev.Account, Topic: ev.Topic, Occurred: ev.Occurred}
}

// planned is what the state machine carries on with: Ask, which answers itself when nothing is to be asked.
func (r *Runner) planned(v *view) execution.Travel {
	t := travel(v.run.ID, execution.NextAsk)
	t.AskTimeout = r.askTimeout(v)
	return t
}

func (r *Runner) carryOut(ctx context.Context, v *view, ev operation.Event, out compile.Planned) error {
	switch out.Outcome {
	case compile.OutcomeNotApplicable:
		return r.end(ctx, v, operation.RunMove{End: operation.RunNotApplicable, Reason: out.Reason})
	case compile.OutcomeRejected:
		return r.end(ctx, v, operation.RunMove{End: operation.RunStopped, Reason: operation.ReasonDataRejected})
	case compile.OutcomeStages:
		return r.makeOperations(ctx, v, ev, out)
	}
	return r.holdMissing(ctx, v, out)
}

// holdMissing asks about an event that cannot be planned as it is, and keeps on the run what it lacks.
func (r *Runner) holdMissing(ctx context.Context, v *view, out compile.Planned) error {
	run, err := r.Asker.AskMissing(ctx, v.run, out.Reason, out.Fields(), out.Owner)
	if err != nil {
		return err
	}
	v.run = run
	_, err = r.hold(ctx, v, out.Reason)
	return err
}

// end writes the end of a run that has no plan, again from what others left.
func (r *Runner) end(ctx context.Context, v *view, m operation.RunMove) error {
	for range claimRaces {
		if _, err := r.finish(ctx, v, m); err != nil || v.run.Ended() {
			return err
		}
	}
	return fmt.Errorf("%s is written by many at once; planning is tried again", v.run.ID)
}

// holdNew asks about a run that has no plan yet.
func (r *Runner) holdNew(ctx context.Context, v *view, why operation.Reason) (execution.Travel, error) {
	run, err := r.Asker.AskRun(ctx, v.run, why)
	if err != nil {
		return execution.Travel{}, err
	}
	v.run = run
	return r.hold(ctx, v, why)
}

func (r *Runner) makeOperations(ctx context.Context, v *view, ev operation.Event, out compile.Planned) error {
	plan := pinned{PinnedPlan: out.Plan, Content: map[string]operation.Digest{}}
	stages := make([]frozen, len(out.Stages))
	for i, s := range out.Stages {
		fz, err := r.freeze(ev, plan.PinnedPlan, s, v.run.ID, "")
		if err != nil {
			r.Log.Warn("not planned", "run", v.run.ID, "stage", s.Name, "error", err)
			_, err := r.holdNew(ctx, v, flow.ReasonContent)
			return err
		}
		stages[i] = fz
		plan.Stages[i].Operation, plan.Stages[i].Profile = fz.op.ID, fz.op.Profile
		plan.Content[s.Name] = fz.op.Content.Digest
	}
	stands, err := r.pin(ctx, v, plan)
	if err != nil || !stands {
		return err
	}
	refs := make([]operation.StageRef, len(stages))
	for i := range stages {
		if refs[i], err = r.create(ctx, v, out.Stages[i], stages[i]); err != nil {
			return err
		}
	}
	v.plan = plan
	return r.keepStages(ctx, v, refs)
}

// keepStages writes the stages on the run, again from what others left: the sweep postpones a run while it is planned.
func (r *Runner) keepStages(ctx context.Context, v *view, refs []operation.StageRef) error {
	raced := fmt.Errorf("%s is written by many at once; planning is tried again", v.run.ID)
	err := r.changeRun(ctx, v, raced, func(run *operation.Run) (bool, error) {
		if run.Ended() || len(run.Stages) > 0 {
			return false, nil
		}
		run.Planned(v.plan.Version, refs, r.now())
		return true, nil
	})
	if err != nil || !v.run.Ended() {
		return err
	}
	if err := r.adopt(ctx, v); err != nil { // it was ended while it was planned
		return err
	}
	return r.letGo(ctx, v)
}

// pin writes the plan; when another one stands, only the same may go on.
func (r *Runner) pin(ctx context.Context, v *view, plan pinned) (bool, error) {
	stands, err := r.putPlan(ctx, v.run.ID, plan)
	if err == nil && !stands {
		// The flow, a profile or a destination changed between two tries of this plan.
		_, err = r.holdNew(ctx, v, operation.ReasonDigestMismatch)
	}
	return stands, err
}

// putPlan says whether the plan is the one that stands under the run's id.
func (r *Runner) putPlan(ctx context.Context, id operation.RunID, plan pinned) (bool, error) {
	raw, err := json.Marshal(plan)
	if err != nil {
		return false, err
	}
	res, err := r.Store.PutPlan(ctx, id, raw)
	return err == nil && ledger.DigestOf(res.Current) == ledger.DigestOf(raw), err
}

// freeze renders one stage into the wire request that will be approved and sent. nonce is "" but for a deliberate
// second operation.
func (r *Runner) freeze(ev operation.Event, plan flow.PinnedPlan, s compile.Stage, run operation.RunID, nonce string) (frozen, error) {
	profile, ok := r.Profiles(s.Target)
	if !ok {
		return frozen{}, fmt.Errorf("target %s has no profile", s.Target)
	}
	id, err := r.operationID(ev, plan.Flow, s, nonce)
	if err != nil {
		return frozen{}, err
	}
	to, err := r.Destination(profile)
	if err != nil {
		return frozen{}, err
	}
	request, err := target.Render(profile, string(id), s.Content, to)
	if err != nil {
		return frozen{}, err
	}
	content := request.Encode()
	op := operation.Operation{
		ID: id, Flow: plan.Flow, Stage: s.Name, Target: profile.Name, Profile: profile.Version, Owner: plan.Owner,
		Escalate: plan.Escalate, Runs: []operation.RunID{run}, Second: nonce, SendBy: sendBy(ev, plan),
		Content: operation.Content{Version: 1, Digest: ledger.DigestOf(content)},
	}
	made, err := operation.Propose(op, r.standing(plan, op), profile.Policy(r.Policy), r.now())
	if err != nil {
		return frozen{}, err
	}
	return frozen{op: r.afterRestore(*made, ev), content: content}, nil
}

// standing is the owner's advance authorisation; a deliberate second operation is always asked about.
func (r *Runner) standing(plan flow.PinnedPlan, op operation.Operation) *operation.Approval {
	if !plan.Standing || op.Second != "" {
		return nil
	}
	return &operation.Approval{By: plan.Owner, At: r.now(), Version: op.Content.Version, Digest: op.Content.Digest, Standing: true}
}

func sendBy(ev operation.Event, plan flow.PinnedPlan) operation.Time {
	if plan.SendWithin <= 0 {
		return 0
	}
	from := ev.Occurred
	if from == 0 {
		from = ev.Received
	}
	return from.Add(plan.SendWithin.Std())
}

// afterRestore: the copy of a restored ledger may have forgotten an operation for an event from before its acceptance.
func (r *Runner) afterRestore(op operation.Operation, ev operation.Event) operation.Operation {
	accepted := r.Accepted()
	if accepted == 0 || (ev.Occurred != 0 && ev.Occurred >= accepted) {
		return op
	}
	next, refused := operation.Apply(&op, operation.Restored{At: r.now(), Attempt: r.NewAttempt()}, op.Policy)
	if refused != nil {
		return op
	}
	return *next
}

// create writes one operation. One that exists is reused when its content is the same; with other content for the
// same business key, a person chooses.
func (r *Runner) create(ctx context.Context, v *view, s compile.Stage, fz frozen) (operation.StageRef, error) {
	ref := operation.StageRef{Name: s.Name, Operation: fz.op.ID, After: s.After, AfterSettled: s.AfterSettled, OnFailed: s.OnFailed}
	res, err := r.Store.CreateOperation(ctx, fz.op, fz.content)
	if err != nil {
		return ref, err
	}
	op := res.Current
	v.ops[op.ID] = &op
	if res.Verdict == ledger.Created {
		return ref, nil
	}
	ref.Conflict = op.Content.Digest != fz.op.Content.Digest
	ref.Reused = !ref.Conflict && op.Runs[0] != v.run.ID // not what an earlier try of this plan made
	return ref, r.relate(ctx, v, &op)
}

// relate makes the run one of those that are woken when the operation settles.
func (r *Runner) relate(ctx context.Context, v *view, op *operation.Operation) error {
	for range claimRaces {
		next, refused := operation.Apply(op, operation.Related{At: r.now(), Run: v.run.ID}, r.PolicyOf(op))
		if refused != nil {
			return nil
		}
		res, err := r.Store.Update(ctx, *op, *next)
		if err != nil {
			return err
		}
		v.ops[op.ID], op = &res.Current, &res.Current
		if won(res.Verdict) {
			return nil
		}
	}
	return fmt.Errorf("%s is written by many at once; planning is tried again", op.ID)
}

// markPlanned closes the event once every matched flow has its run; the one that was planned has.
func (r *Runner) markPlanned(ctx context.Context, planned operation.RunID, ev operation.Event, out compile.Planned) error {
	if ev.Status != operation.EventReceived {
		return nil
	}
	for _, id := range ev.Runs {
		if id == planned {
			continue
		}
		if _, err := r.Store.Run(ctx, id); err != nil {
			return nil // the sweep makes what a crash left out, and closes the event then
		}
	}
	next := ev
	next.Close(operation.EventPlanned, r.now())
	if out.Outcome == compile.OutcomeRejected && len(ev.Runs) == 1 {
		next.Close(operation.EventRefused, r.now())
		next.Reason, next.Missing = operation.ReasonDataRejected, out.Fields()
	}
	_, err := r.Store.UpdateEvent(ctx, ev, next)
	return err
}

// operationID: a deliberate second operation differs by the nonce of the page that asked for it, so that a double click
// makes one.
func (r *Runner) operationID(ev operation.Event, flowName string, s compile.Stage, nonce string) (operation.ID, error) {
	var parts []identity.Part
	for _, k := range s.Key {
		parts = append(parts, k.Part())
	}
	if nonce != "" {
		parts = append(parts, identity.Of("deliberate second", nonce))
	}
	id, err := r.Key.OperationID(flowName, s.Name, ev.Source, ev.Account, parts...)
	return operation.ID(id), err
}
