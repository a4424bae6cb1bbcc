package acceptance

import (
	"context"
	"fmt"

	"holdfast/internal/flow"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

// lie is a way in which a target can do other than its profile says.
type lie struct {
	kind simtarget.Kind
	says string
	lost bool // shows only when an answer is lost, because then the protection is used
}

// contradictions are the extra runs: the stage's target does other than its profile says.
func (p *plan) contradictions(s flow.Stage, at place) []trial {
	lies := []lie{{simtarget.KindRefusedAfter, "it refuses after the effect", false}}
	switch policy := p.policy(s); policy.Protection {
	case operation.ProtectionKey:
		lies = append(lies, lie{simtarget.KindKeyIgnored, "it does not look at the key", true})
	case operation.ProtectionNatural:
		lies = append(lies, lie{simtarget.KindNotUnique, "it does not keep the value unique", true})
	}
	var out []trial
	for _, l := range lies {
		out = append(out, trial{7, fmt.Sprintf("Extra, the target lies (%s): %s", l.says, s.Name), func(ctx context.Context, b *probe) error {
			return b.lied(ctx, s, at, l)
		}})
	}
	return out
}

func (b *probe) lied(ctx context.Context, s flow.Stage, at place, l lie) error {
	count := 1
	if l.lost {
		count = manyFaults
		if err := b.lostAfter(ctx, at, simtarget.KindLostAfterCommit, 1, false); err != nil {
			return err
		}
	}
	if err := b.fault(ctx, simtarget.Fault{Target: at.sim, Kind: l.kind, Count: count, Skip: at.skip, Match: at.route}); err != nil {
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
	if err := b.judge(ctx, r); err != nil {
		return err
	}
	op, err := b.stageOp(r, s)
	if err != nil {
		return err
	}
	return b.weigh(ctx, op, l)
}

// weigh tells what the lie did. It is the target's fault, so only what the product did itself can fail the case.
func (b *probe) weigh(ctx context.Context, op operation.Operation, l lie) error {
	found, err := b.effectsOf(ctx, op)
	if err != nil {
		return err
	}
	same := true
	for _, a := range op.Attempts {
		same = same && a.Digest == op.Attempts[0].Digest && a.Generation == op.Attempts[0].Generation
	}
	b.expect(same, "%s: whatever was sent again had the same bytes and the same key", op.Stage)
	closed := op.Status == operation.StatusFailed || op.Status == operation.StatusDeclined
	switch noticed := op.Contradiction != nil; {
	case len(found) > 1:
		b.warn(op, noticed, "%s, although it documents the opposite, so %s has %d effects (%s and %s)", l.says, op.Stage, len(found), found[0].Reference, found[1].Reference)
	case len(found) == 1 && closed:
		b.warn(op, noticed, "%s with an answer that it documents as before any effect, so the ledger says %s and the target has %s", l.says, op.Status, found[0].Reference)
	default:
		b.note("It did no harm: %s is %s, with %d effect at the target.", op.Stage, op.Status, len(found))
	}
	return nil
}

func (b *probe) warn(op operation.Operation, noticed bool, format string, args ...any) {
	text := fmt.Sprintf("the target contradicts its profile: %s: ", op.Target) + fmt.Sprintf(format, args...)
	if noticed {
		text += "; the product noticed and stopped"
	}
	b.Warns = append(b.Warns, text)
}
