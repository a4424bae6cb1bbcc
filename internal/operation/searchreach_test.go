package operation_test

// reach says what can still follow from a world, so that the rest need not be told apart.
type reach struct {
	closed bool           // settled: nothing is claimed any more
	more   bool           // something may still be claimed
	send   bool           // some request may still leave
	held   [triesMax]bool // tries whose worker may still send
	owned  [triesMax]bool // tries whose outcome may still be recorded
	gens   [triesMax + 1]genReach
}

// genReach is about one key generation.
type genReach struct {
	matters bool // a request may still leave under it, or a person decide about it
	moving  bool // the attempts under it may still become more, or one of them be recorded
}

func (c *config) reach(k *core, w *world) reach {
	r := reach{closed: w.op.Status.Settled()}
	r.more = !r.closed && w.n < c.tries
	r.send = r.more
	r.gens[w.op.Generation] = genReach{matters: !r.closed, moving: r.more}
	for i := range w.workers {
		me := &w.workers[i]
		if me.phase == phaseHeld {
			r.send, r.held[me.try], r.gens[w.tries[me.try].gen].matters = true, true, true
		}
		if me.phase == phaseHeld || me.phase == phaseResult {
			r.owned[me.try], r.gens[w.tries[me.try].gen].moving = true, true
		}
	}
	if k.adopts {
		for j := range w.n {
			r.owned[j], r.gens[w.tries[j].gen].moving = true, true
		}
	}
	return r
}

// still says that some attempt may still be recorded, or made.
func (r *reach) still() bool { return !r.more && r.owned == [triesMax]bool{} }

// lost is a try that the ledger knows nothing of.
func (e *encoder) lost(c *config, w *world, r *reach, j int) {
	t := &w.tries[j]
	e.byte(became(t, false))
	e.bits(t.proven)
	e.history(c, w, r, t)
}

// rewound is what the window of a key is counted from once the ledger is restored: its beginning, and at the latest then.
func (e *encoder) rewound(w *world) {
	e.age(beginning, w.now, claimedAge)
	for j := range w.n {
		t := &w.tries[j]
		e.bits(t.gen == w.op.Generation, t.stored)
		if !t.proven {
			e.age(t.claimed, w.now, claimedAge)
		}
		e.byte(t.gen)
	}
	for i := range w.op.Attempts {
		if a := &w.op.Attempts[i]; a.Restored {
			e.age(a.Recorded, w.now, windowT)
		}
	}
	for g := range w.keys {
		k := &w.keys[g]
		e.age(k.at, w.now, windowT)
		e.byte(k.by)
		e.bits(k.err)
	}
}
