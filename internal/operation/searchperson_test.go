package operation_test

import "holdfast/internal/operation"

const person = "the person"

// personActs: reads a page, answers from it now, late or twice, and does what only people do.
func (c *config) personActs(k *core, w *world, out emit) {
	c.reads(k, w, out)
	if c.stale {
		c.posts(k, w, out)
	}
	c.answers(k, w, out)
	if c.restores && !w.restored && w.n < c.tries {
		c.restore(k, w, out)
	}
	if c.approvals && w.edits == 0 {
		n := *w
		n.edits++
		content := operation.Content{Version: 2, Digest: digestOf(2)}
		c.fact(k, &n, operation.Edited{At: w.now, By: reviewer, Content: content}, label{who: person, what: "edits the content"}, out)
	}
}

func (w *world) current() bool {
	q := w.op.Question
	return w.page.open && q != nil && q.ID == w.page.id && w.page.rev == w.op.Rev
}

// reads: the person opens the page and looks in the target.
func (c *config) reads(k *core, w *world, out emit) {
	q := w.op.Question
	if q == nil || w.current() {
		return
	}
	page := seen{open: true, id: q.ID, round: q.Round, rev: w.op.Rev, clean: w.effects() == 0}
	if q.Kind == operation.QuestionApprove && c.approvals {
		page.version = q.Version
	} else if !legal(k, w, c.policy, operation.AnswerNothingHappened) && !legal(k, w, c.policy, operation.AnswerNewKey) {
		return
	}
	n := *w
	n.page = page
	if !c.stale { // reads and posts at once
		c.posts(k, &n, out)
		return
	}
	out(n, label{who: person, what: "reads the question and looks in the target"})
}

func legal(k *core, w *world, p operation.Policy, a operation.Answer) bool {
	for _, ch := range k.choices(w.op, p, w.now) {
		if ch.Answer == a {
			return ch.Legal
		}
	}
	return false
}

// posts sends the word from the page that is open, which may be old.
func (c *config) posts(k *core, w *world, out emit) {
	p := w.page
	if !p.open {
		return
	}
	d := operation.Decided{At: w.now, Question: p.id, Round: p.round, Rev: p.rev, By: reviewer, Digest: w.op.Content.Digest, How: "looked"}
	if p.version != 0 {
		d.Answer, d.Digest = operation.AnswerApprove, digestOf(p.version)
		c.approves(k, w, d, out)
		return
	}
	if !p.clean && (w.lies > 0 || !c.lies) {
		return
	}
	d.Answer = operation.AnswerNothingHappened
	c.attests(k, w, d, "says that nothing happened", out)
	if c.policy.Protection == operation.ProtectionKey {
		d.Answer = operation.AnswerNewKey
		c.attests(k, w, d, "says that nothing happened and opens a new key", out)
	}
}

func (c *config) approves(k *core, w *world, d operation.Decided, out emit) {
	n := *w
	q := w.op.Question
	if q == nil || q.ID != d.Question || q.Expires != 0 && w.now >= q.Expires {
		n.problem = "a yes was taken for a question that was over (R11)"
	}
	c.fact(k, &n, d, label{who: person, what: "approves"}, out)
}

func (c *config) attests(k *core, w *world, d operation.Decided, what string, out emit) {
	next, refused := k.apply(w.op, d, c.policy)
	if refused != nil {
		return
	}
	n := *w
	if !c.stale {
		n.page = seen{}
	}
	if !w.page.clean {
		n.lies++
		what += ", wrongly"
	}
	n.problem = n.illegalWord(c, d)
	n.accept(w.op, next)
	for j := range n.n {
		if a := n.recordOf(j); a != nil && a.Attested != nil && a.Attested.At == w.now {
			n.tries[j].attested, n.tries[j].lookedFor = w.now, false
		}
	}
	out(n, label{who: person, what: what})
}

// answers gives every other answer on the page as it is now. What the person says exists does exist.
func (c *config) answers(k *core, w *world, out emit) {
	q := w.op.Question
	if q == nil {
		return
	}
	d := operation.Decided{At: w.now, Question: q.ID, Round: q.Round, Rev: w.op.Rev, By: reviewer, Digest: w.op.Content.Digest, How: "looked"}
	for _, a := range []operation.Answer{operation.AnswerCheckAgain, operation.AnswerClose, operation.AnswerAcknowledge} {
		d.Answer = a
		c.fact(k, w, d, label{who: person, what: "answers", detail: string(a)}, out)
	}
	if q.Kind == operation.QuestionApprove && !c.approvals {
		d.Answer = operation.AnswerApprove
		c.fact(k, w, d, label{who: person, what: "approves"}, out)
	}
	for j := range w.n {
		if w.tries[j].truth == truthEffect && (refOf(j) != w.op.Reference || w.effects() == 1) {
			d.Answer, d.Reference = operation.AnswerExists, refOf(j)
			c.fact(k, w, d, label{who: person, what: "says that it exists:", ref: refOf(j)}, out)
		}
	}
}

// restore: the ledger is lost and its copy of the beginning accepted, with an attempt for what may have happened since. The
// old workers are stopped for good, by the epoch they check; their requests go on.
func (c *config) restore(k *core, w *world, out emit) {
	n, id := start(*c), w.n
	next, refused := k.apply(n.op, operation.Restored{At: w.now, By: reviewer, Attempt: attemptID(id)}, c.policy)
	if refused != nil {
		return
	}
	n.now, n.restored, n.tries, n.keys, n.lies, n.asked = w.now, true, w.tries, w.keys, w.lies, w.asked
	n.tries[id] = try{claimed: beginning, version: 1, truth: truthNothing}
	n.n = id + 1
	n.accept(w.op, next)
	out(n, label{who: person, what: "accepts a ledger restored to the beginning"})
}

// recordOf is what the ledger says about a try; about one that was lost with the ledger, what it says about them all.
func (w *world) recordOf(j int) *operation.Attempt {
	if a := w.op.Attempt(attemptID(j)); a != nil || !w.restored {
		return a
	}
	for i := range w.op.Attempts {
		if a := &w.op.Attempts[i]; a.Restored {
			return a
		}
	}
	return nil
}

func (w *world) lost(j int) bool { return w.restored && w.op.Attempt(attemptID(j)) == nil }
