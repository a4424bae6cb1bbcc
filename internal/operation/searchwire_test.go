package operation_test

import "holdfast/internal/operation"

// send asks the fence and puts the request on the wire; every documented and every faulty course is followed.
func (c *config) send(k *core, w *world, i int, out emit) {
	me := w.workers[i]
	if why := k.fence(me.snap, attemptID(me.try), c.policy, w.now+c.clock(i)); why != "" {
		n := *w
		n.workers[i] = worker{phase: phaseResult, try: me.try, answer: answerNoByte, meaning: k.classify(answerNoByte)}
		out(n, label{who: workerNames[i], what: "sends nothing:", detail: string(why)})
		return
	}
	n := *w
	n.problem = n.illegalSend(c, i)
	t := &n.tries[me.try]
	t.sentAt = n.now
	s := sender{c: c, k: k, w: &n, i: i, try: me.try, out: out}
	if ref, repeat := n.collapsed(c, t.gen); repeat {
		s.repeated(t.gen, ref)
		return
	}
	s.fresh(t.gen)
}

// collapsed says whether the target takes the request for a repeat, and of which effect; "" while that one is not
// carried out yet, or when its error was kept.
func (w *world) collapsed(c *config, gen int) (operation.Reference, bool) {
	switch c.policy.Protection {
	case operation.ProtectionKey:
		if !w.keyLive(gen) {
			return "", false
		}
		if j := w.keys[gen].by; w.tries[j].truth == truthEffect && !w.keys[gen].err {
			return refOf(j), true
		}
		return "", true
	case operation.ProtectionNatural:
		for j := range w.n {
			if w.tries[j].truth == truthEffect {
				return refOf(j), true
			}
		}
	}
	return "", false
}

var sendsWhat = [triesMax]string{"sends a1:", "sends a2:", "sends a3:"}

type sender struct {
	c   *config
	k   *core
	w   *world
	i   int
	try int
	out emit
}

func (s *sender) course(t truth, a answer, ref operation.Reference, register keyMemory, what string) {
	n := *s.w
	n.tries[s.try].truth = t
	n.workers[s.i] = worker{phase: phaseResult, try: s.try, answer: a, meaning: s.k.classify(a), ref: ref}
	if register.at != 0 {
		n.keys[n.tries[s.try].gen] = register
	}
	s.out(n, label{who: workerNames[s.i], what: sendsWhat[s.try], detail: what, ref: ref})
}

func (s *sender) repeated(gen int, ref operation.Reference) {
	none := keyMemory{}
	s.course(truthNothing, answerNone, "", none, "a repeat, no answer")
	s.course(truthNothing, answerRejected, "", none, "refused before any effect (429)")
	switch {
	case ref != "":
		s.course(truthNothing, answerExecuted, ref, none, "a repeat, answered with")
	case s.w.keys[gen].err:
		s.course(truthNothing, answerStored, "", none, "a repeat, the stored error comes back")
	default:
		s.course(truthNothing, answerUnlisted, "", none, "the first request is still being worked on (409)")
	}
}

func (s *sender) fresh(gen int) {
	none, mine := keyMemory{}, keyMemory{}
	if s.c.policy.Protection == operation.ProtectionKey {
		mine = keyMemory{at: s.w.now, by: s.try}
	}
	ref := refOf(s.try)
	s.course(truthNothing, answerNone, "", none, "lost on the way, no answer")
	s.course(truthNothing, answerRejected, "", none, "refused before any effect (429)")
	s.course(truthEffect, answerExecuted, ref, mine, "carried out, answered with")
	s.course(truthEffect, answerNone, "", mine, "carried out, the answer is lost")
	s.course(truthEffect, answerUnlisted, "", mine, "carried out, a proxy answers 403")
	s.course(truthPending, answerNone, "", mine, "taken, no answer yet")
	if mine.at != 0 {
		mine.err = true
		s.course(truthEffect, answerStored, "", mine, "carried out, an error is stored under the key")
		s.course(truthNothing, answerStored, "", mine, "failed, an error is stored under the key")
	}
}

// look asks the target; the answer is what it showed when the question arrived, recorded at any later time.
func (c *config) look(w *world, i int, out emit) {
	var certain, possible []operation.Reference
	for j := range w.n {
		if w.tries[j].truth != truthEffect {
			continue
		}
		possible = append(possible, refOf(j))
		if c.policy.AbsentCounts && w.now >= w.tries[j].sentAt+visibleT {
			certain = append(certain, refOf(j))
		}
	}
	saw := func(r operation.LookResult, ref operation.Reference, what string) {
		n := *w
		k := worker{phase: phaseLook, at: w.now + c.clock(i), true0: w.now, look: r, ref: ref}
		for j := range w.n {
			k.quiet[j] = !w.canSend(c, j) && (w.tries[j].truth == truthUnsent || w.tries[j].truth == truthNothing || w.now >= w.tries[j].sentAt+visibleT)
		}
		n.workers[i] = k
		out(n, label{who: workerNames[i], what: "looks:", detail: what, ref: ref})
	}
	if w.op.Look.Count == 0 {
		saw(operation.LookFailed, "", "no usable answer")
	}
	if len(certain) == 0 {
		saw(operation.LookAbsent, "", "nothing found")
	}
	switch {
	case len(certain) == 1:
		saw(operation.LookFound, certain[0], "found")
	case len(certain) == 0:
		for _, r := range possible {
			saw(operation.LookFound, r, "found")
		}
	}
	if len(possible) >= 2 {
		saw(operation.LookConflict, "", "several found")
	}
}

func (c *config) recordLook(k *core, w *world, i int, out emit) {
	me := w.workers[i]
	n := *w
	n.workers[i] = worker{}
	if me.look == operation.LookAbsent {
		for j := range n.n {
			t := &n.tries[j]
			t.absent = t.absent || me.quiet[j]
			t.lookedFor = t.lookedFor || t.attested != 0 && me.true0 >= t.attested
		}
	}
	c.fact(k, &n, operation.Looked{At: me.at, Result: me.look, Reference: me.ref}, label{who: workerNames[i], what: "records the lookup", ref: me.ref}, out)
}

// canSend says that some worker may still pass the fence for attempt j.
func (w *world) canSend(c *config, j int) bool {
	for i := range w.workers {
		k := &w.workers[i]
		if k.phase == phaseHeld && k.try == j && w.now+c.clock(i)+timeoutT <= w.op.Attempt(attemptID(j)).LeaseUntil {
			return true
		}
	}
	return false
}
