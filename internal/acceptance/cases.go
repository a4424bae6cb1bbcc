package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"holdfast/internal/flow"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// asker is who presses the buttons that need a name.
const asker operation.Person = "acceptance@example.com"

// learn plays the first case, and finds out where each stage's effect happens.
func (p *plan) learn(ctx context.Context) (map[string]place, Case, error) {
	places := map[string]place{}
	c := p.try(ctx, trial{1, "Normal: the effect happens once and its reference is saved", func(ctx context.Context, b *probe) error {
		return b.normal(ctx, places)
	}})
	if len(places) < len(p.stages()) && c.Passed {
		c.Passed = false
		c.Evidence = append([]string{"NOT TRUE: every stage's effect was seen at a simulated target"}, c.Evidence...)
	}
	return places, c, ctx.Err()
}

// transitionsTwo is what an approved run of two operations costs: Plan, Ask, Execute, Route, Done.
const transitionsTwo = 5

func (b *probe) normal(ctx context.Context, places map[string]place) error {
	told, err := b.tell(ctx, b.plan.sample)
	if err != nil {
		return err
	}
	r, err := b.drive(ctx, told.Run, true)
	if err != nil {
		return err
	}
	if err := b.once(ctx, r); err != nil {
		return err
	}
	n, path := b.transitions(r.run)
	b.note("The executions entered %d states: %v.", n, path)
	if !b.plan.standing() && len(b.plan.stages()) == 2 {
		b.expect(n == transitionsTwo, "an approved run of two operations enters %d states (%d: %v)", transitionsTwo, n, path)
	}
	if err := b.noRepeats(ctx); err != nil {
		return err
	}
	used := map[place]int{}
	for _, op := range r.ops {
		found, err := b.effectsOf(ctx, op)
		if err != nil || len(found) == 0 {
			return err
		}
		at := place{sim: found[0].Sim, route: found[0].Route}
		used[at]++
		places[op.Stage] = place{at.sim, at.route, used[at] - 1}
	}
	return nil
}

// noRepeats expects that no target had to collapse a repeat: nothing was sent twice in the first place.
func (b *probe) noRepeats(ctx context.Context) error {
	shown, err := b.shown(ctx)
	if err != nil {
		return err
	}
	for name, t := range shown {
		if t.Requests > 0 {
			b.expect(t.Replays == 0 && t.Updates == 0, "%s was asked for each effect once (%d repeats, %d writes over)", name, t.Replays, t.Updates)
		}
	}
	return nil
}

// postsMax is how many times the same notification comes at once.
const postsMax = 20

func (b *probe) twice(ctx context.Context) error {
	first, err := b.flood(ctx)
	if err != nil {
		return err
	}
	if other, ok := b.plan.second(); ok {
		again, err := b.tell(ctx, other)
		if err != nil {
			return err
		}
		b.expect(again.Run == first.Run, "another subscription's delivery of the event finds the same run (%s)", again.State)
	} else {
		b.note("The source %s names a delivery by the event's own id, so there is no second subscription to tell apart.", b.plan.source.Name)
	}
	r, err := b.drive(ctx, first.Run, true)
	if err != nil {
		return err
	}
	later, err := b.tell(ctx, b.plan.sample)
	if err != nil {
		return err
	}
	b.expect(later.Run == first.Run && later.State == "done", "a delivery after the end gets the run's state: %s is %s", later.Run, later.State)
	if err := b.once(ctx, r); err != nil {
		return err
	}
	for _, op := range r.ops {
		b.expect(len(op.Attempts) == 1, "%s was attempted once (%d)", op.Stage, len(op.Attempts))
	}
	return b.noRepeats(ctx)
}

// flood sends the same notification many times at once.
func (b *probe) flood(ctx context.Context) (reply, error) {
	replies, errs := make([]reply, postsMax), make([]error, postsMax)
	var work sync.WaitGroup
	for i := range postsMax {
		work.Go(func() { replies[i], errs[i] = b.tell(ctx, b.plan.sample) })
	}
	work.Wait()
	same, kind := true, true
	for i, r := range replies {
		if errs[i] != nil {
			return r, errs[i]
		}
		same = same && r.Run == replies[0].Run
		kind = kind && r.Status < http.StatusMultipleChoices
	}
	b.expect(same && kind, "%d equal deliveries at once make one run, and each is answered with it", postsMax)
	return replies[0], nil
}

func (b *probe) again(ctx context.Context) error {
	told, err := b.tell(ctx, b.plan.sample)
	if err != nil {
		return err
	}
	if _, err = b.drive(ctx, told.Run, true); err != nil {
		return err
	}
	_, preview, err := b.App.Runner.PreviewAgain(ctx, told.Run)
	if err != nil {
		return err
	}
	for _, p := range preview {
		b.expect(p.Does == runner.DoReuse && p.Reference != "", "run again says it will reuse %s (it says %s, %q)", p.Stage, p.Does, p.Reference)
	}
	if _, err := b.App.Runner.Again(ctx, told.Run, asker); err != nil {
		return err
	}
	r, err := b.drive(ctx, told.Run, false)
	if err != nil {
		return err
	}
	if err := b.once(ctx, r); err != nil {
		return err
	}
	b.note("Run again on the finished run reused everything.")
	return b.deliberate(ctx, r)
}

// deliberate makes a second operation on purpose: its own identity, and nothing is sent before its own approval.
func (b *probe) deliberate(ctx context.Context, first rest) error {
	stage, ok := b.repeatable()
	if !ok {
		b.note("No stage can have a second effect beside the first: each is unique by its content.")
		return nil
	}
	const nonce = "acceptance-second"
	second, err := b.App.Runner.Second(ctx, first.run.ID, stage, nonce, asker)
	if err != nil {
		return err
	}
	double, err := b.App.Runner.Second(ctx, first.run.ID, stage, nonce, asker)
	if err != nil {
		return err
	}
	b.expect(double.ID == second.ID, "a double click makes one deliberate second, not two")
	r, err := b.drive(ctx, second.ID, false)
	if err != nil {
		return err
	}
	before, err := b.allEffects(ctx)
	if err != nil {
		return err
	}
	made := r.ops[len(r.ops)-1]
	b.expect(r.kind == restAsks && len(before) == len(first.ops), "the second waits for an approval of its own, and nothing is sent before (%s, %d effects)", r.kind, len(before))
	b.expect(made.ID != operationOf(first, stage), "the second has an identity of its own")
	if r, err = b.drive(ctx, second.ID, true); err != nil {
		return err
	}
	made = r.ops[len(r.ops)-1]
	again, err := b.effectsOf(ctx, made)
	if err != nil {
		return err
	}
	b.expect(made.Status == operation.StatusConfirmed && len(again) == 1, "after its approval the second happened once (%s, %d effects)", made.Status, len(again))
	return b.judge(ctx, first, made)
}

func operationOf(r rest, stage string) operation.ID {
	for _, s := range r.run.Stages {
		if s.Name == stage {
			return s.Operation
		}
	}
	return ""
}

// repeatable is the first stage whose effect may exist twice: it is not unique by content or by another stage's result.
func (b *probe) repeatable() (string, bool) {
	for _, s := range b.plan.stages() {
		p := b.plan.profiles[s.Target].Protection
		if p.Kind != operation.ProtectionNatural || p.From == target.NaturalOperation {
			return s.Name, true
		}
	}
	return "", false
}

// lostAfter loses the stage's answers after the commit, so many of them; with all set lookups fail as well, so that
// nothing the product asks is ever answered.
func (b *probe) lostAfter(ctx context.Context, at place, kind simtarget.Kind, count int, all bool) error {
	if err := b.fault(ctx, simtarget.Fault{Target: at.sim, Kind: kind, Count: count, Skip: at.skip, Match: at.route}); err != nil {
		return err
	}
	if !all {
		return nil
	}
	f := simtarget.Fault{Target: at.sim, Kind: simtarget.KindBrokenBefore, Count: manyFaults, Match: simtarget.MatchLookups}
	if b.plan.looksUp(at.sim) {
		return b.fault(ctx, f)
	}
	return nil
}

// looksUp says that the simulated target has a lookup that can be spoiled.
func (p *plan) looksUp(sim string) bool {
	for _, s := range p.specs {
		for _, r := range s.Routes {
			if s.Target == sim && (r.Get != nil || r.List != nil) {
				return true
			}
		}
	}
	return false
}

func (b *probe) stageOp(r rest, s flow.Stage) (operation.Operation, error) {
	for _, op := range r.ops {
		if op.Stage == s.Name {
			return op, nil
		}
	}
	return operation.Operation{}, fmt.Errorf("the run %s has no operation for stage %s", r.run.ID, s.Name)
}

func has(op operation.Operation, kind operation.EvidenceKind) bool {
	for _, e := range op.Evidence {
		if e.Kind == kind {
			return true
		}
	}
	return false
}
