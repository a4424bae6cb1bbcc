package web

import (
	"context"
	"strings"

	"holdfast/internal/approval"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

type notice struct {
	Kind string // good, info or bad
	Text string
}

type goneView struct{ Busy bool }

type reviewView struct {
	Link    ledger.Link
	Run     operation.Run
	Open    bool // a question of this link is open
	Ops     []opView
	Choices []choiceView
	About   string // of a question about the run
	RunRev  int64
	Notice  notice
}

type opView struct {
	Op       operation.Operation
	Target   TargetText
	Method   string
	URL      string
	Headers  []target.Header
	Body     string
	Unread   bool // the content could not be read
	Asked    bool // this link's question about it is open
	Standing string
	Evidence []evidenceView
	Why      string
}

type evidenceView struct {
	At, Last, Text, By string
	Count              int
}

type choiceView struct {
	Answer operation.Answer
	Label  string
	Help   string
	Legal  bool
	Why    string
}

func (p *Review) view(ctx context.Context, link ledger.Link) (reviewView, error) {
	run, err := p.Store.Run(ctx, link.Run)
	if err != nil {
		return reviewView{}, err
	}
	v := reviewView{Link: link, Run: run, RunRev: run.Rev}
	if len(link.Operations) == 0 {
		v.Open = run.Question != nil && run.Question.ID == link.Question
		if v.Open {
			v.About = sentence(run.Question.Reason)
			v.Choices = choices(operation.RunChoices(&run))
		}
		return v, nil
	}
	for _, id := range link.Operations {
		op, err := p.Store.Operation(ctx, id)
		if err != nil {
			return v, err
		}
		o := p.opView(ctx, op, link)
		if o.Asked {
			v.Open = true
			v.Choices = choices(operation.Choices(&op, p.Policy(&op), p.now()))
		}
		v.Ops = append(v.Ops, o)
	}
	return v, nil
}

func (p *Review) opView(ctx context.Context, op operation.Operation, link ledger.Link) opView {
	o := opView{Op: op, Target: p.Targets(op.Target), Why: sentence(op.Reason)}
	o.Asked = op.Question != nil && op.Question.ID == link.Question
	if o.Asked {
		o.Why = sentence(op.Question.Reason)
	}
	o.Standing = standing(op, link.Question)
	for _, e := range op.Evidence {
		o.Evidence = append(o.Evidence, evidenceView{At: e.At.String(), Last: e.Last.String(), Text: evidenceText(e), By: string(e.By), Count: e.Count})
	}
	raw, err := p.Store.Content(ctx, op.ID, op.Content)
	if err == nil {
		var r target.Request
		if r, err = target.Decode(raw); err == nil {
			o.Method, o.URL, o.Headers, o.Body = r.Method, r.URL, r.Headers, pretty(r.Body)
		}
	}
	o.Unread = err != nil
	return o
}

// standing is the decision that this link's question led to.
func standing(op operation.Operation, id operation.QuestionID) string {
	for i := range op.Answered {
		if q := op.Answered[i]; q.ID == id && q.Decision != nil {
			if q.Decision.By == "" {
				return decisionText(q.Decision.Answer) + " at " + q.Decision.At.String()
			}
			return decisionText(q.Decision.Answer) + " by " + string(q.Decision.By) + " at " + q.Decision.At.String()
		}
	}
	return ""
}

func choices(in []operation.Choice) []choiceView {
	out := make([]choiceView, len(in))
	for i, c := range in {
		t := answerTexts[c.Answer]
		out[i] = choiceView{Answer: c.Answer, Label: t.label, Help: t.help, Legal: c.Legal}
		if !c.Legal {
			out[i].Why = sentence(c.Why)
		}
	}
	return out
}

// told is the status and the words for what became of a decision.
func told(r approval.Result) (int, notice) {
	switch r.Verdict {
	case approval.Decided:
		return 200, notice{"good", "Your decision is recorded. You can close this page; the work goes on behind it."}
	case approval.Standing:
		return 200, notice{"info", "Already decided: " + decisionText(r.Standing.Answer) + " by " + string(r.Standing.By) + " at " + r.Standing.At.String() + "."}
	case approval.Opposed:
		by := string(r.Standing.By)
		if by == "" {
			by = "nobody"
		}
		return 409, notice{"bad", "Another decision stands: " + decisionText(r.Standing.Answer) + " by " + by + " at " + r.Standing.At.String() + ". Nothing was changed."}
	}
	return statusOf(r.Reason), notice{"bad", capital(sentence(r.Reason)) + " Nothing was changed."}
}

func statusOf(r operation.Reason) int {
	switch r {
	case approval.ReasonWrongCode, approval.ReasonTriesSpent, operation.ReasonNotReviewer:
		return 403
	case approval.ReasonNoCodes:
		return 503
	}
	return 409
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
