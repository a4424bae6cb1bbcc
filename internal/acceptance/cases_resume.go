package acceptance

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

// reviewTakes is how long the reviewer takes, while somebody drafts the texts again.
const reviewTakes = time.Hour

// resumed kills the laptop twice: while the approval is asked (a flow with a standing authorisation: not), and while the
// last stage's request is on its way. Meanwhile the flow file is drafted again and deployed.
func (b *probe) resumed(ctx context.Context, last place) (err error) {
	if err := b.close(); err != nil {
		return err
	}
	b.site = nil
	w, err := b.plan.openWorld()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	text, changed, err := b.plan.redraft()
	if err != nil {
		return err
	}
	b.expect(len(changed) > 0, "drafting again gives other texts: %s", strings.Join(changed, ", "))
	first, err := w.laptop(ctx, b.plan.text)
	if err != nil {
		return err
	}
	id, approved, err := b.killedFirst(ctx, w, first, last)
	if err != nil {
		return err
	}
	if !b.plan.standing() {
		if err := b.killedSecond(ctx, w, text, id, last); err != nil {
			return err
		}
	}
	return b.carriedOn(ctx, w, text, id, approved)
}

// killedFirst brings the run to its approval, or with a standing authorisation into the last stage, and kills the laptop.
func (b *probe) killedFirst(ctx context.Context, w *world, s *site, last place) (operation.RunID, rest, error) {
	b.site = s
	if b.plan.standing() {
		if err := b.hangs(ctx, last); err != nil {
			return "", rest{}, err
		}
	}
	told, err := b.tell(ctx, b.plan.sample)
	if err != nil {
		return "", rest{}, err
	}
	if b.plan.standing() {
		if err := b.untilLast(ctx, told.Run); err != nil {
			return "", rest{}, err
		}
	} else if _, err := b.drive(ctx, told.Run, false); err != nil {
		return "", rest{}, err
	}
	r, err := s.stand(ctx, told.Run, restAsks, lastNone)
	if err != nil {
		return "", r, err
	}
	if w.mails, err = s.invites(ctx); err != nil {
		return "", r, err
	}
	b.site = nil
	b.note("The laptop was killed with %d operations planned, and the flow file was drafted again.", len(r.ops))
	return told.Run, r, w.kill(s)
}

func (b *probe) hangs(ctx context.Context, at place) error {
	return b.fault(ctx, simtarget.Fault{Target: at.sim, Kind: simtarget.KindHangAfterCommit, Count: 1, Skip: at.skip, Match: at.route})
}

func (b *probe) untilLast(ctx context.Context, id operation.RunID) error {
	stages := b.plan.stages()
	last := stages[len(stages)-1]
	return b.until(ctx, "the effect of "+last.Name, func() (bool, error) { return b.happened(ctx, id, last) })
}

// killedSecond starts a laptop with the new text, approves there what was asked before, and kills it inside the last stage.
func (b *probe) killedSecond(ctx context.Context, w *world, text []byte, id operation.RunID, last place) (err error) {
	s, err := w.laptop(ctx, text)
	if err != nil {
		return err
	}
	b.site = s
	if err := b.hangs(ctx, last); err != nil {
		return err
	}
	if err := b.move(ctx, reviewTakes); err != nil {
		return err
	}
	for i := range w.mails { // the same link, at the address where the new laptop is
		w.mails[i].link = s.Review + "/" + path.Base(w.mails[i].link)
	}
	if err := b.decideBy(ctx, w.mails, decision{answer: operation.AnswerApprove}); err != nil {
		return err
	}
	if err := b.untilLast(ctx, id); err != nil {
		return err
	}
	b.site = nil
	b.note("After the approval the laptop was killed again, while the last stage's request was on its way.")
	return w.kill(s)
}

// carriedOn starts a third laptop, which finds what is open, and holds what was sent against what was approved.
func (b *probe) carriedOn(ctx context.Context, w *world, text []byte, id operation.RunID, approved rest) error {
	s, err := w.laptop(ctx, text)
	if err != nil {
		return err
	}
	b.site = s
	r, err := b.drive(ctx, id, false)
	if err != nil {
		return err
	}
	if r.kind == restHeld {
		b.note("Nobody could tell whether the last stage happened, so it was held; a person looked.")
		if _, err := b.resolve(ctx, r); err != nil {
			return err
		}
		if r, err = b.drive(ctx, id, false); err != nil {
			return err
		}
	}
	if err := b.once(ctx, r); err != nil {
		return err
	}
	if err := b.asApproved(ctx, r, approved); err != nil {
		return err
	}
	b.site = nil
	return s.Close()
}

// asApproved expects that the bytes at the targets are the approved ones, and that what was finished was not repeated.
func (b *probe) asApproved(ctx context.Context, r, approved rest) error {
	for i, op := range r.ops {
		b.expect(i < len(approved.ops) && op.Content == approved.ops[i].Content, "%s: the content is the one that was approved (%.12s)", op.Stage, op.Content.Digest)
		b.expect(op.Approval != nil && op.Approval.Digest == op.Content.Digest, "%s: the approval names this content", op.Stage)
		request, err := b.sent(ctx, op)
		if err != nil {
			return err
		}
		found, err := b.effectsOf(ctx, op)
		if err != nil {
			return err
		}
		b.expect(len(found) == 1 && sameRequest(found[0], request), "%s: the target received exactly the approved bytes", op.Stage)
		b.expect(!strings.Contains(string(request.Body), strings.TrimSpace(draftedAgain)), "%s: nothing of the new draft was sent", op.Stage)
		if i < len(r.ops)-1 {
			b.expect(len(op.Attempts) == 1, "%s: finished before the crash, not repeated after it (%d attempts)", op.Stage, len(op.Attempts))
		}
	}
	return nil
}
