package sim

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
)

// mailServer takes the product's mails to people.
type mailServer world

// Notify implements notify.Notifier.
func (m *mailServer) Notify(_ context.Context, mail notify.Mail) error {
	w := (*world)(m)
	w.tick(callTime)
	switch w.choose(kindMail, mail.To) {
	case mailFailed:
		return errCut
	case mailFailedAfter:
		w.post(mail)
		return errCut
	}
	w.post(mail)
	return nil
}

// person is somebody with a mailbox. They act some time after a mail has come.
type person struct {
	w       *world
	name    operation.Person
	invited []invitation
	link    string // of a mail whose code has not come yet
	busy    bool
}

// invitation is a link with the code that came apart from it.
type invitation struct {
	link, code string
	run        operation.RunID
}

var (
	linkText = regexp.MustCompile(`/([a-z0-9_]+)\n`)
	codeText = regexp.MustCompile(`Code: ([A-Z0-9]+)`)
	runText  = regexp.MustCompile(`[Rr]un (run_[a-z0-9]+)`)
)

func (w *world) post(mail notify.Mail) {
	p := w.people[operation.Person(mail.To)]
	if p == nil {
		p = &person{w: w, name: operation.Person(mail.To)}
		w.people[p.name] = p
	}
	if f := linkText.FindStringSubmatch(mail.Text); f != nil && strings.Contains(mail.Text, "https://review.invalid/") {
		p.link = f[1]
	} else if f := codeText.FindStringSubmatch(mail.Text); f != nil && p.link != "" {
		inv := invitation{link: p.link, code: f[1]}
		if r := runText.FindStringSubmatch(mail.Text); r != nil {
			inv.run = operation.RunID(r[1])
		}
		p.invited = append(p.invited, inv)
	}
	if !p.busy {
		p.busy = true
		wait := readsAfter + time.Duration(w.tape.draw(w.current(), int(readsWithin)))
		w.at(w.now.Add(wait), func() { w.spawn(mail.To, p.work) })
	}
}

// When people come to their mail, and how soon they come back to what they could not answer yet.
const (
	readsAfter  = 20 * time.Second
	readsWithin = 8 * time.Minute
	comesBack   = 25 * time.Minute
)

// work is one sitting: every invitation that still asks is looked at.
func (p *person) work() {
	defer func() { p.busy = false }()
	p.w.backUp()
	again := false
	for _, inv := range slices.Clone(p.invited) {
		again = p.look(inv) || again
	}
	if again {
		p.w.at(p.w.now.Add(comesBack), func() {
			if !p.busy {
				p.busy = true
				p.w.spawn(string(p.name), p.work)
			}
		})
	}
}

// look goes to one invitation, of which nobody throws one away. It answers whether the person comes back.
func (p *person) look(inv invitation) bool {
	w := p.w
	link, err := w.peek.Link(context.Background(), ledger.LinkID(inv.link))
	if err != nil || !p.asked(link) {
		return false
	}
	option := w.choose(kindPerson, string(p.name))
	switch option {
	case personLate:
		w.sleep(24 * time.Hour)
	case personNever:
		return false
	case personLooksOnly:
		for _, f := range p.forms(link) {
			f.Set("code", inv.code)
			p.request(inv, link, "GET", f)
		}
		return true
	case personStops, personAgain, personSecond:
		p.act(inv, link, option)
	case personGuesses:
		p.guess(inv, link)
	}
	for _, f := range p.forms(link) {
		f.Set("code", inv.code)
		switch option {
		case personWrongCode:
			p.press(inv, link, with(f, "code", p.wrong()))
		case personOtherPage:
			p.fromOtherPage(inv, link, f)
		case personOldLink:
			p.throughOldLinks(inv, f)
		case personTwice:
			w.spawn(string(p.name)+" again", func() { p.press(inv, link, f) })
		case personDeclines:
			if f.Get("answer") == string(operation.AnswerApprove) {
				f.Set("answer", string(operation.AnswerDecline))
			}
		}
		if p.press(inv, link, f) == http.StatusForbidden {
			p.remind(link.Run)
		}
	}
	return true
}

// asked says that the link's question is still open.
func (p *person) asked(link ledger.Link) bool {
	if run, ok := p.w.runs[link.Run]; ok && len(link.Operations) == 0 {
		return run.Question != nil && run.Question.ID == link.Question
	}
	return slices.ContainsFunc(link.Operations, func(id operation.ID) bool {
		op := p.w.ops[id]
		return op.Question != nil && op.Question.ID == link.Question
	})
}

// forms are the answers that the person gives now to what the link still asks, each as the page's form would send it.
func (p *person) forms(link ledger.Link) []url.Values {
	w := p.w
	if len(link.Operations) == 0 {
		return p.runForms(link)
	}
	together := url.Values{"do": {"decide"}}
	var ids []string
	var out []url.Values
	for _, id := range link.Operations {
		op, err := w.peek.Operation(context.Background(), id)
		if err != nil || op.Question == nil || op.Question.ID != link.Question {
			continue
		}
		f := url.Values{"do": {"decide"}, "for": {string(id)}}
		if op.Question.Kind == operation.QuestionApprove && !op.AnyOpen() {
			f = together
			ids = append(ids, string(id))
			f.Set("for", strings.Join(ids, " "))
			f.Set("answer", string(operation.AnswerApprove))
		} else if !p.settle(&op, f) {
			continue
		} else {
			out = append(out, f)
		}
		f.Set("rev."+string(id), strconv.FormatInt(op.Rev, 10))
		f.Set("digest."+string(id), string(op.Content.Digest))
	}
	if len(ids) > 0 {
		out = append(out, together)
	}
	return out
}

// settle answers what happened, truly, by looking into the target.
func (p *person) settle(op *operation.Operation, f url.Values) bool {
	w := p.w
	policy := w.policyOf(op)
	legal := map[operation.Answer]bool{}
	for _, c := range operation.Choices(op, policy, operation.TimeOf(w.now)) {
		legal[c.Answer] = c.Legal
	}
	answer := func(a operation.Answer, reference operation.Reference) bool {
		if !legal[a] {
			return false
		}
		f.Set("answer", string(a))
		f.Set("reference", string(reference))
		f.Set("how", "looked into the target's own list")
		f.Set("minutes", "5")
		return true
	}
	w.mayHaveTold(op)
	if answer(operation.AnswerAcknowledge, "") {
		return true
	}
	if op.Question.Kind == operation.QuestionApprove && !op.AnyUnsettled() {
		return answer(operation.AnswerApprove, "")
	}
	if refs := w.effects[op.ID]; len(refs) > 0 {
		if answer(operation.AnswerExists, refs[0].Reference()) {
			return true
		}
	} else if answer(operation.AnswerNothingHappened, "") || answer(operation.AnswerNewKey, "") {
		return true
	}
	if w.tape.draw(w.current(), 3) == 0 && answer(operation.AnswerCheckAgain, "") {
		return true
	}
	if len(w.effects[op.ID]) == 0 && answer(operation.AnswerApprove, "") {
		return true
	}
	waited := operation.TimeOf(w.now).Sub(op.Question.Asked)
	return waited > 48*time.Hour && (answer(operation.AnswerClose, "") || answer(operation.AnswerDecline, ""))
}

// runForms answers a question about a run.
func (p *person) runForms(link ledger.Link) []url.Values {
	run, err := p.w.peek.Run(context.Background(), link.Run)
	if err != nil || run.Question == nil || run.Question.ID != link.Question {
		return nil
	}
	answers := operation.RunChoices(&run)
	if len(answers) == 0 {
		return nil
	}
	a := answers[p.w.tape.draw(p.w.current(), len(answers))].Answer
	return []url.Values{{
		"do": {"decide"}, "answer": {string(a)}, "how": {"decided about the run"}, "minutes": {"3"},
		"rev." + string(run.ID): {strconv.FormatInt(run.Rev, 10)},
	}}
}

// act does what a person may do beside the question.
func (p *person) act(inv invitation, link ledger.Link, option int) {
	run, err := p.w.peek.Run(context.Background(), link.Run)
	if err != nil {
		return
	}
	f := url.Values{"rev": {strconv.FormatInt(run.Rev, 10)}, "code": {inv.code}, "how": {"not needed any more"}}
	switch option {
	case personStops:
		f.Set("do", "stop")
	case personAgain:
		f.Set("do", "again")
	case personSecond:
		if len(run.Stages) == 0 {
			return
		}
		f.Set("do", "second")
		f.Set("stage", run.Stages[0].Name)
		f.Set("nonce", fmt.Sprintf("nonce_%d", p.w.writes))
	}
	if option == personSecond {
		p.w.spawn(string(p.name)+" again", func() { p.press(inv, link, f) })
	}
	p.press(inv, link, f)
}
