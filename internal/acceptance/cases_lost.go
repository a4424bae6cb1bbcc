package acceptance

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/flow"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

// manyFaults outlasts every policy.
const manyFaults = 500

// trials are the cases after the first, for this flow.
func (p *plan) trials(places map[string]place) []trial {
	out := []trial{
		{2, p.twiceName(), func(ctx context.Context, b *probe) error { return b.twice(ctx) }},
		{2, "2b: run again reuses; a deliberate second has its own approval", func(ctx context.Context, b *probe) error { return b.again(ctx) }},
	}
	for _, s := range p.stages() {
		at, ok := places[s.Name]
		if !ok {
			continue
		}
		out = append(out, p.lostTrials(s, at)...)
	}
	for _, s := range p.stages() {
		if at, ok := places[s.Name]; ok {
			out = append(out, trial{4, "Two attempts at once, slow answer: " + s.Name, func(ctx context.Context, b *probe) error { return b.rivals(ctx, s, at) }},
				trial{4, "Two attempts at once, no answer ever: " + s.Name, func(ctx context.Context, b *probe) error { return b.rivalsUnclear(ctx, s, at) }})
		}
	}
	if at, ok := places[p.stages()[len(p.stages())-1].Name]; ok {
		out = append(out, trial{5, "Resumed after approval: what was approved is what is sent", func(ctx context.Context, b *probe) error { return b.resumed(ctx, at) }})
	}
	for _, s := range p.stages() {
		if at, ok := places[s.Name]; ok {
			out = append(out, trial{6, "Run again after the target's key window: " + s.Name, func(ctx context.Context, b *probe) error { return b.afterWindow(ctx, s, at) }})
		}
	}
	for _, s := range p.stages() {
		if at, ok := places[s.Name]; ok {
			out = append(out, p.contradictions(s, at)...)
		}
	}
	return out
}

func (p *plan) twiceName() string {
	if _, ok := p.second(); ok {
		return "The same event twice: in parallel, and through two subscriptions"
	}
	return "The same event twice: in parallel, and after the end"
}

// lostTrials are the ways in which a lost answer of the stage's target can be made good.
func (p *plan) lostTrials(s flow.Stage, at place) []trial {
	var out []trial
	policy := p.policy(s)
	if policy.Lookup && policy.Order == operation.OrderLookUp {
		out = append(out, trial{3, "Answer lost, found by asking the target: " + s.Name, func(ctx context.Context, b *probe) error {
			return b.recovered(ctx, s, at, operation.EvidenceLookupFound)
		}})
	}
	if policy.Protection != operation.ProtectionNone && policy.Order == operation.OrderReplay && policy.ReplaysMax > 0 {
		out = append(out, trial{3, "Answer lost, repeated inside the target's protection: " + s.Name, func(ctx context.Context, b *probe) error {
			return b.recovered(ctx, s, at, operation.EvidenceAnswer)
		}})
	}
	return append(out, trial{3, "Answer lost and nobody can tell, a person looks: " + s.Name, func(ctx context.Context, b *probe) error {
		return b.personFinds(ctx, s, at)
	}})
}

// recovered loses one answer; the existing effect has to be found by the kind of evidence.
func (b *probe) recovered(ctx context.Context, s flow.Stage, at place, by operation.EvidenceKind) error {
	if err := b.lostAfter(ctx, at, simtarget.KindLostAfterCommit, 1, false); err != nil {
		return err
	}
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
	op, err := b.stageOp(r, s)
	if err != nil {
		return err
	}
	b.expect(has(op, operation.EvidenceNoAnswer), "%s: the lost answer was recorded as proving nothing", s.Name)
	b.expect(has(op, by), "%s: the effect was found by %s", s.Name, by)
	if by == operation.EvidenceLookupFound {
		b.expect(len(op.Attempts) == 1, "%s: nothing was sent again (%d attempts)", s.Name, len(op.Attempts))
	}
	return nil
}

// personFinds loses every answer: the run is held, not sent again, and a person settles it on the review page.
func (b *probe) personFinds(ctx context.Context, s flow.Stage, at place) error {
	if err := b.lostAfter(ctx, at, simtarget.KindLostAfterCommit, manyFaults, true); err != nil {
		return err
	}
	told, err := b.tell(ctx, b.plan.sample)
	if err != nil {
		return err
	}
	r, err := b.drive(ctx, told.Run, true)
	if err != nil {
		return err
	}
	if err := b.heldWithOwner(ctx, r, s); err != nil || r.kind != restHeld {
		return err
	}
	if err := b.clearFaults(ctx); err != nil {
		return err
	}
	ref, err := b.resolve(ctx, r)
	if err != nil {
		return err
	}
	b.note("A person found %s in the simulated target and said so on the review page.", ref)
	if r, err = b.drive(ctx, told.Run, true); err != nil {
		return err
	}
	op, err := b.stageOp(r, s)
	if err != nil {
		return err
	}
	b.expect(string(op.Reference) == ref && has(op, operation.EvidencePersonFound), "%s is confirmed with the reference that the person gave", s.Name)
	return b.once(ctx, r)
}

// heldWithOwner expects the stage to be held for somebody, with its effect there at most once.
func (b *probe) heldWithOwner(ctx context.Context, r rest, s flow.Stage) error {
	b.expect(r.kind == restHeld, "the unclear outcome is held for a person (the run %s)", r.kind)
	op, err := b.stageOp(r, s)
	if err != nil {
		return err
	}
	found, err := b.effectsOf(ctx, op)
	if err != nil {
		return err
	}
	b.expect(len(found) == 1, "%s happened once and was not sent into a second effect (%d)", s.Name, len(found))
	if r.kind != restHeld {
		return b.judge(ctx, r)
	}
	b.expect(op.Step.Owner != "" && op.Step.Due != 0 && op.Question != nil && len(op.Question.Reviewers) > 0,
		"%s has an owner (%s), a due time (%s) and somebody who is asked", s.Name, op.Step.Owner, op.Step.Due)
	b.note("Held: %s is asked, by %s.", op.Step.Owner, op.Step.Due)
	return nil
}

// dayAfter is how long after the window the run is looked at again; where there is no window, after a day.
const dayAfter = 25 * time.Hour

// afterWindow loses one answer and lets the key's window pass before anything else can be done: until then the target
// answers no question either.
func (b *probe) afterWindow(ctx context.Context, s flow.Stage, at place) error {
	if err := b.lostAfter(ctx, at, simtarget.KindLostAfterCommit, 1, true); err != nil {
		return err
	}
	told, err := b.tell(ctx, b.plan.sample)
	if err != nil {
		return err
	}
	r, err := b.untilUnknown(ctx, told.Run, s)
	if err != nil {
		return err
	}
	policy := b.plan.policy(s)
	jump := dayAfter
	if policy.Protection == operation.ProtectionKey {
		jump = policy.KeyWindow + time.Hour
	}
	before, err := b.stageOp(r, s)
	if err != nil {
		return err
	}
	b.expect(before.Status == operation.StatusUnknown || before.Status == operation.StatusHeld,
		"%s: after the lost answer nothing is assumed (%s)", s.Name, before.Status)
	if err := b.move(ctx, jump); err != nil {
		return err
	}
	b.note("%s passed.", jump)
	if err := b.clearFaults(ctx); err != nil {
		return err
	}
	if r, err = b.drive(ctx, told.Run, true); err != nil {
		return err
	}
	return b.notTrusted(ctx, r, s, before, policy)
}

// untilUnknown lets the run go on until the stage has an attempt and the run rests.
func (b *probe) untilUnknown(ctx context.Context, id operation.RunID, s flow.Stage) (rest, error) {
	for range stepsMax {
		r, err := b.rest(ctx, id)
		if err != nil {
			return r, err
		}
		if op, err := b.stageOp(r, s); err == nil && len(op.Attempts) > 0 || r.kind == restEnded || r.kind == restHeld {
			return r, nil
		}
		switch r.kind {
		case restAsks:
			err = b.decide(ctx, decision{answer: operation.AnswerApprove})
		case restWaits:
			err = b.moveTo(ctx, r.until)
		default:
			err = b.wakeUp(ctx, r)
		}
		if err != nil {
			return r, err
		}
	}
	return rest{}, fmt.Errorf("stage %s was never attempted", s.Name)
}

// notTrusted expects that after the window nothing rested on the key: looked up, or held; never a second effect.
func (b *probe) notTrusted(ctx context.Context, r rest, s flow.Stage, before operation.Operation, policy operation.Policy) error {
	op, err := b.stageOp(r, s)
	if err != nil {
		return err
	}
	if policy.Protection != operation.ProtectionNatural {
		b.expect(len(op.Attempts) == len(before.Attempts), "%s: nothing was sent after the window (%d attempts before, %d now)", s.Name, len(before.Attempts), len(op.Attempts))
	}
	if r.kind == restHeld && op.Question != nil {
		if err := b.heldWithOwner(ctx, r, s); err != nil {
			return err
		}
		if _, err := b.resolve(ctx, r); err != nil {
			return err
		}
		b.note("A person found the effect in the simulated target.")
	} else {
		b.expect(has(op, operation.EvidenceLookupFound) || policy.Protection == operation.ProtectionNatural, "%s was looked up in the target", s.Name)
	}
	if r, err = b.drive(ctx, r.run.ID, true); err != nil {
		return err
	}
	return b.once(ctx, r)
}
