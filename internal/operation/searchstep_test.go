package operation_test

import (
	"holdfast/internal/operation"
)

// label names a step in plain words; it is only joined when a story is told.
type label struct {
	who    string
	what   string
	detail string
	ref    operation.Reference
}

func (l label) String() string {
	s := l.who + " " + l.what
	if l.detail != "" {
		s += " " + l.detail
	}
	if l.ref != "" {
		s += " " + string(l.ref)
	}
	return s
}

// emit receives each world that one step can lead to.
type emit func(world, label)

// steps calls out for every step that can be taken from w.
func (c *config) steps(k *core, w *world, out emit) {
	c.timePasses(k, w, out)
	c.targetActs(k, w, out)
	for i := range w.workers {
		c.workerActs(k, w, i, out)
	}
	c.sweepActs(k, w, out)
	c.personActs(k, w, out)
}

// timePasses: not while a request is due to be carried out or dropped, since the target honours its documentation.
func (c *config) timePasses(k *core, w *world, out emit) {
	for i := range w.n {
		if w.tries[i].truth == truthPending && w.now >= w.tries[i].sentAt+lateT {
			return
		}
	}
	n := *w
	n.now++
	c.fenced(k, &n)
	if !c.sweepLate {
		if next, refused := k.apply(n.op, operation.LeaseOver{At: n.now}, c.policy); refused == nil {
			n.accept(n.op, next)
		}
	}
	out(n, label{who: "time", what: "passes: one tick"})
}

// fenced: once the fence refuses an attempt it refuses it for good, and its worker has only that left to record. So
// nothing is lost when it is taken as known at once.
func (c *config) fenced(k *core, w *world) {
	for i := range w.workers {
		me := &w.workers[i]
		if me.phase == phaseHeld && k.fence(me.snap, attemptID(me.try), c.policy, w.now+c.clock(i)) != "" {
			*me = worker{phase: phaseResult, try: me.try, answer: answerNoByte, meaning: k.classify(answerNoByte)}
		}
	}
}

// targetActs: requests are carried out late or never, and its own events tell of effects.
func (c *config) targetActs(k *core, w *world, out emit) {
	for i := range w.n {
		if w.tries[i].truth == truthPending {
			n := *w
			n.commit(c, i)
			out(n, label{who: "target", what: "carries out late the request of", detail: string(attemptID(i))})
			n = *w
			n.drop(i)
			out(n, label{who: "target", what: "drops the request of", detail: string(attemptID(i))})
		}
		if c.feeds && w.tries[i].truth == truthEffect {
			c.fact(k, w, operation.Fed{At: w.now, Reference: refOf(i)}, label{who: "target", what: "feeds an event about", ref: refOf(i)}, out)
		}
	}
}

// commit makes the effect, unless the target's own protection collapses it into an earlier one.
func (w *world) commit(c *config, i int) {
	if c.policy.Protection == operation.ProtectionNatural && w.effects() > 0 {
		w.tries[i].truth = truthNothing
		return
	}
	w.tries[i].truth = truthEffect
}

func (w *world) drop(i int) {
	w.tries[i].truth = truthNothing
	for g := range w.keys {
		if w.keys[g].at != 0 && w.keys[g].by == i && !w.keys[g].err {
			w.keys[g] = keyMemory{}
		}
	}
}

// fact applies f at the ledger; a refused fact leads nowhere.
func (c *config) fact(k *core, w *world, f operation.Fact, l label, out emit) bool {
	next, refused := k.apply(w.op, f, c.policy)
	if refused != nil {
		return false
	}
	n := *w
	n.accept(w.op, next)
	out(n, l)
	return true
}

// accept stores the record and checks what every accepted change owes.
func (w *world) accept(old, next *operation.Operation) {
	if len(next.Evidence) == 0 {
		w.problem = "a change of state cites no evidence (R6)"
	}
	next.Rev = old.Rev + 1
	w.op = light(next)
}

var workerNames = [2]string{"worker A", "worker B"}

func (c *config) workerActs(k *core, w *world, i int, out emit) {
	me := &w.workers[i]
	switch me.phase {
	case phaseIdle:
		c.idle(k, w, i, out)
		return
	case phaseHeld:
		c.send(k, w, i, out)
	case phaseResult:
		c.record(k, w, i, out)
	case phaseLook:
		c.recordLook(k, w, i, out)
		return
	}
	n := *w
	n.workers[i] = worker{}
	out(n, label{who: workerNames[i], what: "crashes"})
}

// idle does what Next says, by the worker's own clock.
func (c *config) idle(k *core, w *world, i int, out emit) {
	clock := w.now + c.clock(i)
	if id := k.own(w.op, clock); id != "" {
		n := *w
		n.workers[i] = worker{phase: phaseHeld, try: tryOf(id), snap: w.op}
		out(n, label{who: workerNames[i], what: "takes " + string(id) + " for its own claim"})
	}
	m := k.next(w.op, c.policy, clock)
	switch m.Action {
	case operation.ActionSend, operation.ActionReplay:
		if w.n < c.tries {
			c.claim(k, w, i, m.Action == operation.ActionReplay, out)
		}
	case operation.ActionLookUp:
		if c.clock(i) == c.skew { // the fast clock is the hard case
			c.look(w, i, out)
		}
	case operation.ActionAsk:
		c.ask(k, w, m, clock, out)
	}
}

func (c *config) ask(k *core, w *world, m operation.Move, clock operation.Time, out emit) {
	if q := w.op.Question; q != nil && q.Kind == m.Kind {
		return
	}
	q := operation.Question{
		ID: operation.QuestionID(rune('A' + w.asked)), Kind: m.Kind, Reviewers: []operation.Person{reviewer},
		Expires: clock + 3, ValidFor: 3,
	}
	n := *w
	n.asked++
	c.fact(k, &n, operation.Asked{At: clock, Question: q}, label{who: "a worker", what: "asks a person: " + string(m.Kind), detail: string(m.Reason)}, out)
}

func (c *config) claim(k *core, w *world, i int, replay bool, out emit) {
	clock := w.now + c.clock(i)
	op := w.op
	f := operation.Filled{Version: op.Content.Version, Generation: op.Generation, Digest: filledOf(op)}
	next, refused := k.apply(op, operation.Claim{Attempt: attemptID(w.n), Run: "run_1", At: clock, LeaseUntil: clock + leaseT, Replay: replay, Filled: f}, c.policy)
	if refused != nil {
		return
	}
	n := *w
	n.problem = n.rivalOf(c, i)
	n.accept(op, next)
	n.tries[n.n] = try{claimed: clock, gen: op.Generation, version: op.Content.Version, storedBefore: w.storedError(op.Generation)}
	n.workers[i] = worker{phase: phaseHeld, try: n.n, snap: n.op}
	n.n++
	what := "claims"
	if replay {
		what = "claims, as a replay,"
	}
	out(n, label{who: workerNames[i], what: what, detail: string(attemptID(w.n))})
}

var recordsWhat = [...]string{"records unknown for", "records not_executed for", "records executed for"}

// record brings the outcome to the ledger.
func (c *config) record(k *core, w *world, i int, out emit) {
	me := w.workers[i]
	o := k.classify(me.answer)
	f := operation.Reported{Attempt: attemptID(me.try), At: w.now + c.clock(i), Outcome: o, NoRepeat: me.answer == answerStored, Kind: operation.EvidenceAnswer}
	if o == operation.OutcomeExecuted {
		f.Reference = me.ref
	}
	n := *w
	n.workers[i] = worker{}
	next, refused := k.apply(w.op, f, c.policy)
	if refused == nil {
		n.accept(w.op, next)
		t := &n.tries[me.try]
		t.proven = t.proven || me.answer == answerRejected || me.answer == answerNoByte
		t.stored = t.stored || me.answer == answerStored
	} else if a := w.op.Attempt(f.Attempt); a != nil && a.Recorded == 0 {
		n.problem = "an attempt's own outcome was pushed out of the ledger (R12)"
	}
	out(n, label{who: workerNames[i], what: recordsWhat[o], detail: string(f.Attempt), ref: f.Reference})
}

// sweepActs: ended leases and expired questions are written down.
func (c *config) sweepActs(k *core, w *world, out emit) {
	if c.sweepLate {
		c.fact(k, w, operation.LeaseOver{At: w.now}, label{who: "sweep", what: "writes that a lease is over"}, out)
	}
	if q := w.op.Question; q != nil && q.Expires != 0 {
		c.fact(k, w, operation.Lapsed{At: w.now, Question: q.ID}, label{who: "sweep", what: "expires the question"}, out)
	}
}
