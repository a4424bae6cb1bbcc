package web

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
)

type notice struct {
	Kind string // good, info or bad
	Text string
}

type goneView struct{ Busy bool }

type reviewView struct {
	Notice notice
	Link   ledger.Link
	Run    operation.Run
	Why    string // the run's status needs
	State  string // the run's status in words
	Lacks  string // what its event lacks, and what can be done
	Asks   []operation.Person
	Open   bool // this person can decide something now
	Stages []stageView
	Asked  *askedView // the question about the run
	Ops    []opView
	Group  *formView // one answer for every plain approval of this link
	Again  *againView
}

// stageView is one line of the run at a glance.
type stageView struct {
	Name, Target string
	Status       operation.Status
	Words        string
	Reference    operation.Reference
	Conflict     bool
	Reused       bool
}

// askedView is a question as this link's person meets it: open to them with a form, or closed with the reason.
type askedView struct {
	Kind     string
	Question operation.Question
	About    string
	Closed   string // why this person cannot answer it now; "" when they can
	Form     *formView
}

type formView struct {
	ID      string // of its fields, unique on the page
	Legend  string
	For     []seenView
	Run     operation.RunID
	RunRev  int64
	Legal   []choiceView
	Not     []choiceView
	Exists  bool // a legal answer needs the target's reference
	Typed   typed
	Content bool // what is answered is whether content may be sent
}

// seenView is what the page shows of one operation; the form carries it back.
type seenView struct {
	ID     operation.ID
	Digest operation.Digest
	Rev    int64
	Stage  string
}

type choiceView struct {
	Answer operation.Answer
	Label  string
	Help   string
	Why    string
}

type againView struct {
	Preview []previewView
	Blocked string // why "run again" is not offered; "" when it is
	Offered bool   // run again and deliberate seconds
	Stop    bool
	Rev     int64
	Typed   typed
}

type previewView struct {
	runner.Preview
	Words  string // what it does
	Why    string
	Stands string // how the first one stands
	Nonce  string // of a deliberate second made from this page view
}

func (p *Review) view(ctx context.Context, link ledger.Link, keep typed) (reviewView, error) {
	run, err := p.Store.Run(ctx, link.Run)
	lost := errors.Is(err, ledger.ErrNotFound)
	if lost {
		run, err = p.lostRun(ctx, link)
	}
	if err != nil {
		return reviewView{}, err
	}
	v := reviewView{Link: link, Run: run}
	if run.Reason != "" {
		v.Why = capital(AboutRun(run.Reason))
	}
	if v.Lacks = Lacks(&run); v.Lacks != "" {
		v.Lacks = capital(v.Lacks)
	}
	if len(link.Operations) == 0 {
		v.Asked = p.askedAboutRun(&run, link, keep)
		v.Open = v.Asked != nil && v.Asked.Form != nil
	}
	if err := p.addOperations(ctx, &v, keep); err != nil || lost {
		return v, err
	}
	v.Again, err = p.againView(ctx, &v, keep)
	return v, err
}

// lostRun stands for a run that is not in the ledger, with what its operations say of it: they are put to a person all
// the same.
func (p *Review) lostRun(ctx context.Context, link ledger.Link) (operation.Run, error) {
	run := operation.Run{ID: link.Run, Status: operation.RunStopped, Reason: operation.ReasonRunMissing}
	for _, id := range link.Operations {
		op, err := p.Store.Operation(ctx, id)
		if err != nil {
			return run, err
		}
		run.Flow, run.Owner = op.Flow, op.Owner
		run.Stages = append(run.Stages, operation.StageRef{Name: op.Stage, Operation: id})
	}
	return run, nil
}

// addOperations shows the operations that the link is about in full, all of the run for a question about the run, and
// every stage at a glance.
func (p *Review) addOperations(ctx context.Context, v *reviewView, keep typed) error {
	byID := map[operation.ID]*operation.Operation{}
	for _, id := range subjects(v.Link, &v.Run) {
		op, err := p.Store.Operation(ctx, id)
		if err != nil {
			return err
		}
		byID[id] = &op
	}
	v.State, v.Asks = stateText(&v.Run, byID), askedOf(&v.Run, byID)
	for _, id := range subjects(v.Link, &v.Run) {
		if len(v.Link.Operations) == 0 || slices.Contains(v.Link.Operations, id) {
			o := p.opView(ctx, byID[id], v.Link)
			p.placeInRun(ctx, &o, &v.Run, byID)
			v.Ops = append(v.Ops, o)
		}
	}
	for _, s := range v.Run.Stages {
		if op := byID[s.Operation]; op != nil {
			v.Stages = append(v.Stages, stageView{Name: s.Name, Target: p.Targets(op.Target).Title, Status: op.Status,
				Words: statusTexts[op.Status], Reference: op.Reference, Conflict: s.Conflict, Reused: s.Reused})
		}
	}
	p.addForms(v, byID, keep)
	return nil
}

// subjects are the run's operations in the order of its stages, then what else the link is about.
func subjects(link ledger.Link, run *operation.Run) []operation.ID {
	var out []operation.ID
	for _, s := range run.Stages {
		if s.Operation != "" && !slices.Contains(out, s.Operation) {
			out = append(out, s.Operation)
		}
	}
	for _, id := range link.Operations {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// addForms gives plain approvals one form together, and everything else a form of its own: what happened to one
// operation is no answer about another.
func (p *Review) addForms(v *reviewView, byID map[operation.ID]*operation.Operation, keep typed) {
	for i := range v.Ops {
		o := &v.Ops[i]
		op := byID[o.Op.ID]
		if o.Asked == nil || o.Asked.Closed != "" {
			continue
		}
		v.Open = true
		all := operation.Choices(op, p.Policy(op), p.now())
		if op.Question.Kind == operation.QuestionApprove && !op.AnyOpen() {
			if v.Group == nil {
				v.Group = newForm("all", "Your answer", all, keep)
				v.Group.Content = true
			}
			v.Group.add(op, o.Content.Fault != "")
			continue
		}
		o.Asked.Form = newForm(o.Op.Stage, "Your answer about "+o.Op.Stage, all, keep)
		o.Asked.Form.add(op, false)
	}
}

func newForm(id, legend string, all []operation.Choice, keep typed) *formView {
	f := &formView{ID: id, Legend: legend}
	for _, c := range all {
		t := answerTexts[c.Answer]
		one := choiceView{Answer: c.Answer, Label: t.label, Help: t.help}
		if !c.Legal {
			one.Why = sentence(c.Why)
			f.Not = append(f.Not, one)
			continue
		}
		f.Legal = append(f.Legal, one)
		f.Exists = f.Exists || c.Answer == operation.AnswerExists
	}
	if keep.Form == id {
		f.Typed = keep
	}
	return f
}

// add puts an operation under the form. Nobody approves what cannot be read.
func (f *formView) add(op *operation.Operation, unread bool) {
	f.For = append(f.For, seenView{ID: op.ID, Digest: op.Content.Digest, Rev: op.Rev, Stage: op.Stage})
	if !unread {
		return
	}
	f.Legal = slices.DeleteFunc(f.Legal, func(c choiceView) bool { return c.Answer == operation.AnswerApprove })
	if !slices.ContainsFunc(f.Not, func(c choiceView) bool { return c.Answer == operation.AnswerApprove }) {
		f.Not = append(f.Not, choiceView{Answer: operation.AnswerApprove, Label: answerTexts[operation.AnswerApprove].label,
			Why: "not possible: the content of " + op.Stage + " cannot be read."})
	}
}

func (p *Review) askedAboutRun(run *operation.Run, link ledger.Link, keep typed) *askedView {
	a := p.asked(run.Question, link)
	if a == nil || a.Closed != "" {
		return a
	}
	a.About = capital(AboutRun(run.Question.Reason))
	a.Form = newForm("run", "Your answer about the run", operation.RunChoices(run), keep)
	a.Form.Run, a.Form.RunRev = run.ID, run.Rev
	return a
}

// asked is how the open question looks to this link's person; nil when none is open.
func (p *Review) asked(q *operation.Question, link ledger.Link) *askedView {
	if q == nil {
		return nil
	}
	a := &askedView{Kind: questionTexts[q.Kind], Question: *q, About: capital(sentence(q.Reason))}
	switch {
	case q.ID != link.Question:
		a.Closed = "It was asked anew on " + stamp(q.Asked) + ", of " + persons(q.Reviewers) + ". This link is about an earlier question; use the newest one."
	case !slices.Contains(q.Reviewers, link.Person):
		a.Closed = "It was handed to " + persons(q.Reviewers) + " and is no longer put to you."
	case q.Expires != 0 && p.now() >= q.Expires:
		a.Closed = "The time to answer ended on " + stamp(q.Expires) + ". That is no yes: nothing was sent."
	}
	return a
}

func persons(in []operation.Person) string {
	out := make([]string, len(in))
	for i, p := range in {
		out[i] = string(p)
	}
	return strings.Join(out, ", ")
}

// againView says what "run again" would do, for a run that has ended or is held, and offers to stop one that has not
// ended. It changes nothing.
func (p *Review) againView(ctx context.Context, v *reviewView, keep typed) (*againView, error) {
	allowed, err := p.mayAct(ctx, v.Link, &v.Run)
	if err != nil || !allowed {
		return nil, err
	}
	a := &againView{Rev: v.Run.Rev, Stop: !v.Run.Ended(), Typed: keep}
	if !mayRunAgain(&v.Run) {
		if !a.Stop {
			return nil, nil
		}
		return a, nil
	}
	a.Offered = true
	if v.Run.Question != nil {
		a.Blocked = "A question about this run is open, of " + persons(v.Run.Question.Reviewers) + ". Its answer comes first."
	}
	_, preview, err := p.Runs.PreviewAgain(ctx, v.Run.ID)
	if err != nil {
		return nil, err
	}
	for _, one := range preview {
		a.Preview = append(a.Preview, previewView{Preview: one, Words: doesText(one), Why: capital(Why(one)), Stands: Stands(one), Nonce: p.NewID("n")})
	}
	return a, nil
}

// hours writes a bound in milliseconds as people say it.
func hours(ms int64) string {
	if ms%3600000 == 0 {
		return strconv.FormatInt(ms/3600000, 10) + " hours"
	}
	return strconv.FormatInt(ms/60000, 10) + " minutes"
}
