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
	Digest    string `placeholder:"DIGEST" help:"With approve: the digest of the content you read, as this command shows it."`
	Minutes   int    `placeholder:"N" help:"Minutes of work this took."`
	JSON      bool   `help:"Print JSON."`
}

type choice struct {
	Answer operation.Answer `json:"answer"`
	Legal  bool             `json:"legal"`
	Why    string           `json:"why,omitempty"`
	From   operation.Time   `json:"from,omitempty"` // the earliest time when it may be possible
}

type resolved struct {
	ID       string             `json:"id"`
	Question operation.Reason   `json:"question,omitempty"`
	Asked    []operation.Person `json:"asked,omitempty"`
	Choices  []choice           `json:"choices,omitempty"`
	Decided  operation.Answer   `json:"decided,omitempty"`
	Status   string             `json:"status"`
	// Content is what would be sent, and Digest names it, for a question about an operation.
	Content []string `json:"content,omitempty"`
	Digest  string   `json:"digest,omitempty"`
	// Lacks says what the event lacks, for a run that is held for it; Missing are the names alone.
	Lacks     string     `json:"lacks,omitempty"`
	Missing   []string   `json:"missing,omitempty"`
	Conflicts []conflict `json:"conflicts,omitempty"`
	// Waiting are the operations of a run that wait for a decision of their own.
	Waiting []operation.ID `json:"waiting,omitempty"`
}

// Run implements the command.
func (c *resolveCmd) Run(ctx context.Context, s *streams) error {
	if c.Answer != "" && c.As == "" {
		return usage{errors.New("--answer needs --as PERSON: who decides is recorded")}
	}
	if c.Minutes < 0 {
		return usage{errors.New("--minutes cannot be negative")}
	}
	decide, err := c.kind()
	if err != nil {
		return err
	}
	a, err := openWork(ctx, c.files, c.reach, s)
	if err != nil {
		return err
	}
	out, err := decide(ctx, a)
	if err != nil {
		return unknown(c.ID, err)
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(out)
	}
	c.tell(s, out)
	return nil
}

// kind is what decides about the id.
func (c *resolveCmd) kind() (func(context.Context, *work.App) (resolved, error), error) {
	switch prefix, _, _ := strings.Cut(c.ID, "_"); prefix {
	case "op":
		return c.operation, nil
	case "run":
		return c.run, nil
	case "ev":
		return c.event, nil
	}
	return nil, usage{fmt.Errorf("%s is no operation, run or event id; they begin with op_, run_ or ev_. `holdfast inspect %s` finds what it belongs to", c.ID, c.ID)}
}

// possible refuses an answer that this question does not take.
func (c *resolveCmd) possible(out resolved) error {
	if len(out.Choices) == 0 {
		return fmt.Errorf("%s is %s: nothing waits for a decision there, and nothing was changed", c.ID, out.Status)
	}
	var names []string
	for _, ch := range out.Choices {
		if string(ch.Answer) == c.Answer {
			return nil
		}
		names = append(names, string(ch.Answer))
	}
	return usage{fmt.Errorf("--answer %s: this question takes %s", c.Answer, strings.Join(names, ", "))}
}

// digestShown is how much of a digest names a content to a person.
const digestShown = 12

// hasRead refuses a yes that does not name the content it is for, or for content that cannot be read.
func (c *resolveCmd) hasRead(out resolved) error {
	switch {
	case operation.Answer(c.Answer) != operation.AnswerApprove:
		return nil
	case out.Digest == "":
		return errors.New("refused: the stored content cannot be read or is not the one that was asked about. Nothing was changed")
	case c.Digest != out.Digest:
		return usage{fmt.Errorf("--answer approve needs --digest of the content you read: `holdfast resolve %s` shows both. Nothing was changed", c.ID)}
	}
	return nil
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
	out := resolved{ID: c.ID, Status: op.Status.String()}
	if op.Question != nil {
		out.Choices = operationChoices(&op, p, operation.TimeOf(a.Clock.Now()))
		out.Question, out.Asked = op.Question.Reason, op.Question.Reviewers
		raw, err := a.Ledger.Content(ctx, op.ID, op.Content)
		out.Content = contentLines(raw, err)
		if err == nil {
			out.Digest = string(op.Content.Digest[:digestShown])
		}
	}
	if c.Answer == "" {
		return out, nil
	}
	if err := c.possible(out); err != nil {
		return out, err
	}
	if err := c.hasRead(out); err != nil {
		return out, err
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
	out := resolved{ID: c.ID, Status: run.Status.String()}
	if run.Question != nil {
		out.Choices = choicesOf(operation.RunChoices(&run))
		out.Question, out.Asked = web.RunReason(run.Question.Reason), run.Question.Reviewers
		out.Lacks, out.Missing = web.Lacks(&run), run.Missing
	}
	if c.Answer == "" {
		if out.Conflicts, err = conflictsOf(ctx, a, run); err == nil {
			out.Waiting, err = waiting(ctx, a, run)
		}
		return out, err
	}
	if err := c.possible(out); err != nil {
		return out, err
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

// waiting are a run's operations with an open question. One about what exists with other content is another event's.
func waiting(ctx context.Context, a *work.App, run operation.Run) ([]operation.ID, error) {
	var out []operation.ID
	for _, st := range run.Stages {
		if st.Conflict {
			continue
		}
		op, err := a.Ledger.Operation(ctx, st.Operation)
		if errors.Is(err, ledger.ErrNotFound) {
			continue // planned and not yet stored: the run's next step makes it
		}
		if err != nil {
			return nil, err
		}
		if op.Question != nil {
			out = append(out, op.ID)
		}
	}
	return out, nil
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
	if ev.Status == operation.EventHeld {
		out.Asked = []operation.Person{ev.Owner}
		out.Choices = []choice{{Answer: answerRelease, Legal: len(ev.Flows) > 0}, {Answer: answerRefuse, Legal: true}}
	}
	if c.Answer == "" {
		return out, nil
	}
	if err := c.possible(out); err != nil {
		return out, err
	}
	if c.How == "" {
		return out, usage{errors.New("an answer about an event needs --how WHY: it is recorded")}
	}
	if operation.Person(c.As) != ev.Owner {
		return out, fmt.Errorf("refused: this event waits for %s, and %s was not asked. Nothing was changed", ev.Owner, c.As)
	}
	next := ev
	now := operation.TimeOf(a.Clock.Now())
	if !next.Decide(operation.Answer(c.Answer) == answerRelease, operation.Person(c.As), c.How, now) {
		return out, errors.New("refused: no flow takes this event, so it can only be refused. Nothing was changed")
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
