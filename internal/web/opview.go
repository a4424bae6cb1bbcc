package web

import (
	"context"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// opView is one operation in full.
type opView struct {
	Op       operation.Operation
	Words    string // of the status
	Why      string
	Target   TargetText
	Ask      string // the lookup's request for this operation
	Content  contentView
	Stands   string       // how what exists stands, where the event asks for other content
	Asks     *contentView // what the run's event asks for, where that is not the content that exists
	Asked    *askedView
	Mine     *decidedView // what this link's question led to
	Answered []decidedView
	Attempts []attemptView
	Evidence []evidenceView
	Next     string
}

type attemptView struct {
	ID                         operation.AttemptID
	Claimed, Recorded, Outcome string
	Reference                  operation.Reference
	Attested                   *operation.Attestation
	Replay                     bool
}

type evidenceView struct {
	Kind     string // colours the line: proof, doubt, person or plain
	At, Last operation.Time
	Count    int
	Text     string
	Detail   string
	By       operation.Person
}

// decidedView is one answered question.
type decidedView struct {
	Kind string
	Text string
	How  string
}

func (p *Review) opView(ctx context.Context, op *operation.Operation, link ledger.Link) opView {
	o := opView{Op: *op, Words: statusTexts[op.Status], Target: p.Targets(op.Target), Asked: p.asked(op.Question, link)}
	if op.Reason != "" {
		o.Why = sentence(op.Reason)
	}
	for i := range op.Answered {
		q := &op.Answered[i]
		if q.Decision == nil {
			continue
		}
		d := decidedView{Kind: questionTexts[q.Kind], Text: decided(q.Decision), How: q.Decision.How}
		o.Answered = append(o.Answered, d)
		if q.ID == link.Question {
			o.Mine = &d
		}
	}
	for i := range op.Attempts {
		o.Attempts = append(o.Attempts, attemptOf(&op.Attempts[i]))
	}
	for _, e := range op.Evidence {
		o.Evidence = append(o.Evidence, evidenceOf(e))
	}
	o.Content = p.content(ctx, op)
	o.Ask = askOf(o.Target.Ask, o.Content.Request, op.ID)
	o.Next = p.next(op)
	return o
}

// placeInRun adds what only the run knows: the stage that comes first, and the content that its own event asks for.
func (p *Review) placeInRun(ctx context.Context, o *opView, run *operation.Run, ops map[operation.ID]*operation.Operation) {
	for i, s := range run.Stages {
		if s.Operation != o.Op.ID {
			continue
		}
		if s.Conflict {
			asks := p.asksFor(ctx, run.ID, s)
			o.Asks, o.Stands = &asks, Stands(FirstOf(run, i, ops))
			continue
		}
		m := operation.Next(&o.Op, p.Policy(&o.Op), p.now())
		if (m.Action == operation.ActionSend || m.Then == operation.ActionSend) && operation.StageGate(run, i, ops) == operation.GateClosed {
			o.Next = capital(waitsFor(s.After))
		}
	}
}

// asksFor is the content that the run's event asks for where other content exists.
func (p *Review) asksFor(ctx context.Context, run operation.RunID, s operation.StageRef) contentView {
	raw, err := runner.AskedContent(ctx, p.Store, run, s)
	if err != nil {
		p.Log.Warn("review page: the other content", "run", run, "stage", s.Name, "error", err)
		return contentView{Fault: "It is no longer kept, or cannot be read. A deliberate second is made anew from the event, and shown before it is approved."}
	}
	r, err := target.Decode(raw)
	if err != nil {
		return contentView{Fault: "It cannot be read."}
	}
	return contentOf(r)
}

// next is the next step by the same rules that the handlers follow.
func (p *Review) next(op *operation.Operation) string {
	m := operation.Next(op, p.Policy(op), p.now())
	text := actionTexts[m.Action]
	if m.Action == operation.ActionWait {
		text += ", then " + actionTexts[m.Then]
	}
	text += ": " + sentence(m.Reason)
	if m.Due != 0 {
		text += " Due " + stamp(m.Due) + "."
	}
	return text
}

// askOf is the lookup's request with what is known filled in, at the address that the content is frozen for.
func askOf(template string, r target.Request, id operation.ID) string {
	method, path, ok := strings.Cut(template, " ")
	if !ok {
		return ""
	}
	return method + " " + r.Base + strings.NewReplacer("${operation}", string(id), "${api_version}", r.APIVersion).Replace(path)
}

func attemptOf(a *operation.Attempt) attemptView {
	out := attemptView{ID: a.ID, Claimed: stamp(a.Claimed), Outcome: outcomeTexts[a.Outcome], Reference: a.Reference, Attested: a.Attested, Replay: a.Replay}
	if a.Recorded != 0 {
		out.Recorded = stamp(a.Recorded)
	}
	return out
}

func evidenceOf(e operation.Evidence) evidenceView {
	out := evidenceView{Kind: evidenceColours[e.Kind], At: e.At, Last: e.Last, Count: e.Count, By: e.By, Text: evidenceTexts[e.Kind]}
	if out.Text == "" {
		out.Text = string(e.Kind)
	}
	var more []string
	if e.Detail != "" {
		more = append(more, detailText(e.Detail))
	}
	if e.Reference != "" {
		more = append(more, "reference "+string(e.Reference))
	}
	if e.Attempt != "" {
		more = append(more, "attempt "+string(e.Attempt))
	}
	out.Detail = strings.Join(more, " · ")
	return out
}

// detailText gives a reason's sentence where a detail is a reason's code, alone or behind the kind of a question.
func detailText(d string) string {
	code := d
	if kind, reason, ok := strings.Cut(d, ": "); ok && questionTexts[operation.QuestionKind(kind)] != "" {
		code = reason
	}
	if s, ok := sentences[operation.Reason(code)]; ok {
		return strings.TrimSuffix(s, ".")
	}
	return d
}

func decided(d *operation.Decision) string {
	out := decisionText(d.Answer)
	if d.By != "" {
		out += " by " + string(d.By)
	}
	return out + " on " + stamp(d.At)
}

// stamp writes a time as people read it; the ledger's times are UTC.
func stamp(t operation.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().Format("2006-01-02 15:04:05 UTC")
}
