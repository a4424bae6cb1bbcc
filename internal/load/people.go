package load

import (
	"context"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// effect is what a person who looks into a simulated target finds of one operation.
type effect struct {
	times     int
	reference operation.Reference
}

// shown is what the simulated targets show, by operation.
func (h *house) shown() map[operation.ID]effect {
	out := map[operation.ID]effect{}
	for _, report := range h.l.Sim.Effects() {
		for _, e := range report.List {
			id := operation.ID(e.Operation)
			out[id] = effect{out[id].times + 1, operation.Reference(e.Reference)}
		}
	}
	return out
}

// answer has those who are asked answer what is open: they approve, and of what is in doubt they say what the target
// shows, as soon as it may be said. It answers how many questions were answered.
func (h *house) answer(ctx context.Context, open []ledger.Hint) (int, error) {
	var shown map[operation.ID]effect
	n := 0
	for i := range open {
		var done bool
		var err error
		switch {
		case open[i].Operation != "":
			var op operation.Operation
			if op, err = h.l.App.Ledger.Operation(ctx, open[i].Operation); err == nil && op.Question != nil {
				if shown == nil {
					shown = h.shown()
				}
				done, err = h.answerOperation(ctx, op, shown[op.ID])
			}
		case open[i].Run != "":
			done, err = h.answerRun(ctx, open[i].Run)
		}
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	return n, nil
}

func (h *house) answerOperation(ctx context.Context, op operation.Operation, seen effect) (bool, error) {
	a := h.l.App
	policy := a.Runner.PolicyOf(&op)
	want := wanted(&op, seen)
	for _, c := range operation.Choices(&op, policy, h.now()) {
		if c.Answer != want || !c.Legal {
			continue
		}
		said := h.said(op.Question, want, op.Rev)
		said.Digest = op.Content.Digest
		if want == operation.AnswerExists {
			said.Reference = seen.reference
		}
		next, refused := operation.Apply(&op, said, policy)
		if refused != nil {
			return false, nil // not yet; the person comes again
		}
		res, err := a.Ledger.Update(ctx, op, *next)
		if err != nil || res.Verdict != ledger.Written {
			return false, err
		}
		h.answered[want]++
		return true, h.resume(ctx, res.Current.Runs)
	}
	return false, nil
}

// wanted is what a person answers who looked.
func wanted(op *operation.Operation, seen effect) operation.Answer {
	switch {
	case op.Question.Kind == operation.QuestionApprove:
		return operation.AnswerApprove
	case op.Question.Kind == operation.QuestionContradiction:
		return operation.AnswerAcknowledge
	case seen.times > 0:
		return operation.AnswerExists
	}
	return operation.AnswerNothingHappened
}

func (h *house) answerRun(ctx context.Context, id operation.RunID) (bool, error) {
	a := h.l.App
	run, err := a.Ledger.Run(ctx, id)
	if err != nil || run.Question == nil {
		return false, err
	}
	for _, c := range operation.RunChoices(&run) {
		if !c.Legal || (c.Answer != operation.AnswerContinue && c.Answer != operation.AnswerRetry) {
			continue
		}
		next := run
		next.Stages = append([]operation.StageRef(nil), run.Stages...)
		if operation.DecideRun(&next, h.said(run.Question, c.Answer, run.Rev)) != nil {
			return false, nil
		}
		res, err := a.Ledger.UpdateRun(ctx, run, next)
		if err != nil || res.Verdict != ledger.Written {
			return false, err
		}
		h.answered[c.Answer]++
		if err := a.Runner.CarryOut(ctx, id); err != nil {
			return false, err
		}
		return true, h.resume(ctx, []operation.RunID{id})
	}
	return false, nil
}

func (h *house) now() operation.Time { return operation.TimeOf(h.l.Clock.Now()) }

// said is a decision by the first of those who were asked.
func (h *house) said(q *operation.Question, a operation.Answer, rev int64) operation.Decided {
	d := operation.Decided{At: h.now(), Question: q.ID, Round: q.Round, Rev: rev, Answer: a, How: "looked into the simulated target", Minutes: 1}
	if len(q.Reviewers) > 0 {
		d.By = q.Reviewers[0]
	}
	return d
}

func (h *house) resume(ctx context.Context, runs []operation.RunID) error {
	for _, id := range runs {
		if err := h.l.App.Launcher.Resume(ctx, id, operation.ReasonAnswered); err != nil {
			return err
		}
	}
	return nil
}
