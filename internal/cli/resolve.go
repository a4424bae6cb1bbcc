package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/app/work"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/web"
)

type resolveCmd struct {
	files
	reach
	ID        string `arg:"" help:"The operation, run or event that waits for a decision."`
	Answer    string `placeholder:"ANSWER" help:"What you decide; without it the possible answers are shown."`
	As        string `placeholder:"PERSON" help:"Who decides: one of those who were asked. Recorded."`
	Reference string `placeholder:"REF" help:"The target's reference, with exists."`
	How       string `placeholder:"TEXT" help:"How you know, or why."`
	Minutes   int    `placeholder:"N" help:"Minutes of work this took."`
	JSON      bool   `help:"Print JSON."`
}

type choice struct {
	Answer operation.Answer `json:"answer"`
	Legal  bool             `json:"legal"`
	Why    string           `json:"why,omitempty"`
}

type resolved struct {
	ID       string             `json:"id"`
	Question operation.Reason   `json:"question,omitempty"`
	Asked    []operation.Person `json:"asked,omitempty"`
	Choices  []choice           `json:"choices,omitempty"`
	Decided  operation.Answer   `json:"decided,omitempty"`
	Status   string             `json:"status"`
}

// Run implements the command.
func (c *resolveCmd) Run(ctx context.Context, s *streams) error {
	a, err := openWork(ctx, c.files, c.reach, s)
	if err != nil {
		return err
	}
	if c.Answer != "" && c.As == "" {
		return usage{errors.New("--answer needs --as PERSON: who decides is recorded")}
	}
	var out resolved
	switch prefix, _, _ := strings.Cut(c.ID, "_"); prefix {
	case "op":
		out, err = c.operation(ctx, a)
	case "run":
		out, err = c.run(ctx, a)
	case "ev":
		out, err = c.event(ctx, a)
	default:
		return usage{fmt.Errorf("%s is no operation, run or event id", c.ID)}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(out)
	}
	c.tell(s, out)
	return nil
}

func (c *resolveCmd) tell(s *streams, out resolved) {
	fmt.Fprintf(s.out, "%s is %s\n", out.ID, out.Status)
	if out.Decided != "" {
		fmt.Fprintf(s.out, "Decided: %s, by %s.\n", out.Decided, c.As)
		return
	}
	if len(out.Choices) == 0 {
		fmt.Fprintln(s.out, "Nothing waits for a decision here.")
		return
	}
	fmt.Fprintf(s.out, "Question: %s\n", web.Sentence(out.Question))
	for _, p := range out.Asked {
		fmt.Fprintf(s.out, "  asked: %s\n", p)
	}
	for _, ch := range out.Choices {
		if ch.Legal {
			fmt.Fprintf(s.out, "  --answer %s\n", ch.Answer)
		} else {
			fmt.Fprintf(s.out, "  (%s: %s)\n", ch.Answer, ch.Why)
		}
	}
}

func choicesOf(in []operation.Choice) []choice {
	var out []choice
	for _, ch := range in {
		one := choice{Answer: ch.Answer, Legal: ch.Legal}
		if !ch.Legal {
			one.Why = web.Sentence(ch.Why)
		}
		out = append(out, one)
	}
	return out
}

func (c *resolveCmd) decided(a *work.App, q *operation.Question, rev int64, digest operation.Digest) operation.Decided {
	return operation.Decided{
		At: operation.TimeOf(a.Clock.Now()), Question: q.ID, Round: q.Round, Digest: digest, Rev: rev, By: operation.Person(c.As),
		Answer: operation.Answer(c.Answer), Reference: operation.Reference(c.Reference), How: c.How, Minutes: c.Minutes,
	}
}

func refusedBecause(r *operation.Refusal) error {
	return fmt.Errorf("refused: %s Nothing was changed", web.Sentence(r.Reason))
}

var errMoved = errors.New("something became known while you decided; look at it again, then decide")

func (c *resolveCmd) operation(ctx context.Context, a *work.App) (resolved, error) {
	op, err := a.Ledger.Operation(ctx, operation.ID(c.ID))
	if err != nil {
		return resolved{}, err
	}
	p := a.Runner.PolicyOf(&op)
	out := resolved{ID: c.ID, Status: op.Status.String(), Choices: choicesOf(operation.Choices(&op, p, operation.TimeOf(a.Clock.Now())))}
	if op.Question == nil {
		if c.Answer != "" {
			return out, errors.New("no question about this operation is open")
		}
		return out, nil
	}
	out.Question, out.Asked = op.Question.Reason, op.Question.Reviewers
	if c.Answer == "" {
		return out, nil
	}
	next, refused := operation.Apply(&op, c.decided(a, op.Question, op.Rev, op.Content.Digest), p)
	if refused != nil {
		return out, refusedBecause(refused)
	}
	res, err := a.Ledger.Update(ctx, op, *next)
	if err != nil {
		return out, err
	}
	if res.Verdict != ledger.Written {
		return out, errMoved
	}
	out.Decided, out.Status, out.Choices = operation.Answer(c.Answer), res.Current.Status.String(), nil
	return out, resume(ctx, a, res.Current.Runs)
}

func resume(ctx context.Context, a *work.App, runs []operation.RunID) error {
	for _, id := range runs {
		if err := a.Launcher.Resume(ctx, id, operation.ReasonAnswered); err != nil {
			return fmt.Errorf("the decision is written; the run goes on with the next sweep (%w)", err)
		}
	}
	return nil
}

func (c *resolveCmd) run(ctx context.Context, a *work.App) (resolved, error) {
	run, err := a.Ledger.Run(ctx, operation.RunID(c.ID))
	if err != nil {
		return resolved{}, err
	}
	out := resolved{ID: c.ID, Status: run.Status.String(), Choices: choicesOf(operation.RunChoices(&run))}
	if run.Question == nil {
		return out, nil
	}
	out.Question, out.Asked = run.Question.Reason, run.Question.Reviewers
	if c.Answer == "" {
		return out, nil
	}
	next := run
	next.Stages = append([]operation.StageRef(nil), run.Stages...)
	if refused := operation.DecideRun(&next, c.decided(a, run.Question, run.Rev, "")); refused != nil {
		return out, refusedBecause(refused)
	}
	res, err := a.Ledger.UpdateRun(ctx, run, next)
	if err != nil {
		return out, err
	}
	if res.Verdict != ledger.Written {
		return out, errMoved
	}
	if err := a.Runner.CarryOut(ctx, run.ID); err != nil {
		return out, fmt.Errorf("the decision is written and not yet carried out (%w); call this again", err)
	}
	out.Decided, out.Choices = operation.Answer(c.Answer), nil
	return out, resume(ctx, a, []operation.RunID{run.ID})
}

// Answers to a held event.
const (
	answerRelease = operation.Answer("release") // it is an event of its own: plan it
	answerRefuse  = operation.Answer("refuse")  // nothing is to be done for it
)

func (c *resolveCmd) event(ctx context.Context, a *work.App) (resolved, error) {
	ev, err := a.Ledger.Event(ctx, operation.EventID(c.ID))
	if err != nil {
		return resolved{}, err
	}
	out := resolved{ID: c.ID, Status: ev.Status.String(), Question: ev.Reason}
	if ev.Status != operation.EventHeld {
		return out, nil
	}
	out.Asked = []operation.Person{ev.Owner}
	out.Choices = []choice{{Answer: answerRelease, Legal: len(ev.Flows) > 0}, {Answer: answerRefuse, Legal: true}}
	if c.Answer == "" {
		return out, nil
	}
	next := ev
	now := operation.TimeOf(a.Clock.Now())
	if c.How == "" || !next.Decide(operation.Answer(c.Answer) == answerRelease, operation.Person(c.As), c.How, now) {
		return out, usage{errors.New("a held event takes --answer release or refuse, with --how WHY; one without any flow can only be refused")}
	}
	res, err := a.Ledger.UpdateEvent(ctx, ev, next)
	if err != nil {
		return out, err
	}
	if res.Verdict != ledger.Written {
		return out, errMoved
	}
	out.Decided, out.Status, out.Choices = operation.Answer(c.Answer), res.Current.Status.String(), nil
	return out, nil
}
