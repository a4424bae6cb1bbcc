package operation_test

import (
	"hash/maphash"

	"holdfast/internal/operation"
)

// key is a state's identity. Two states with one key differ only in what no rule can read any more, so that what can
// follow is the same; TestSearchKeyTellsStatesApart compares what does follow. Left out are: absolute time (only the
// distance from now counts, as far as a rule compares it), settled attempts but for their number, evidence, names of ids,
// and whatever only a further send would read when no send can follow.
type key [2]uint64

// How far back an instant is told apart: no rule compares it with now any further. Where two stored instants are
// compared with each other, the answer itself is part of the key.
const (
	claimedAge = windowT - marginT // the key's window
	waitAge    = 1                 // the wait between two tries, and between two lookups
	passed     = 0                 // an instant that only ends something
)

// quietAge is for when an attempt was over: no word about it counts before, and no lookup shows all before.
func (c *config) quietAge() operation.Time {
	return c.skew + operation.Time(max(c.policy.Visible, c.policy.Quiet)/tick)
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

type encoder struct {
	b [256]byte
	n int
}

func (e *encoder) byte(v int) { e.b[e.n], e.n = byte(v), e.n+1 }

func (e *encoder) bits(vs ...bool) {
	v := 0
	for i, on := range vs {
		if on {
			v |= 1 << i
		}
	}
	e.byte(v)
}

// age encodes how far t is ahead of now, or how far back up to most.
func (e *encoder) age(t, now operation.Time, most operation.Time) {
	if t == 0 {
		e.byte(255)
		return
	}
	e.byte(int(max(t-now, -most)) + 100)
}

func (e *encoder) ref(r operation.Reference) {
	if r == "" {
		e.byte(0)
		return
	}
	e.byte(int(r[1]))
}

func (e *encoder) key(c *config, k *core, w *world) key {
	e.n = 0
	r := c.reach(k, w)
	e.operation(c, w, &r)
	for i := range w.op.Attempts {
		e.attempt(c, w, &r, i)
	}
	for j := range w.n {
		if w.lost(j) {
			e.lost(c, w, &r, j)
		}
	}
	if c.policy.Protection == operation.ProtectionKey {
		if c.restores {
			e.rewound(w)
		}
		e.pairs(w, &r)
		if r.more {
			e.memory(w, w.op.Generation)
		}
	}
	if r.still() && !c.policy.AbsentCounts {
		e.age(quiet(w.op), w.now, c.quietAge())
	}
	for i := range w.workers {
		e.worker(c, w, &r, i)
	}
	e.page(w)
	return key{maphash.Bytes(seeds[0], e.b[:e.n]), maphash.Bytes(seeds[1], e.b[:e.n])}
}

func (e *encoder) operation(c *config, w *world, r *reach) {
	op := w.op
	e.byte(int(op.Status)<<4 | w.n)
	e.byte(reasonClass(op.Reason)<<4 | w.lies<<2 | w.edits)
	e.ref(op.Reference)
	x := op.Contradiction
	e.bits(x != nil, x != nil && x.SeenBy != "", op.Confirmed != 0, op.Filled != nil && !r.closed, w.restored, w.storedError(op.Generation) && r.send)
	if !r.closed {
		e.progress(c, op, r, w.now)
	}
	if c.approvals && (r.send || !r.closed) {
		e.approval(op, w.now)
	}
	if q := op.Question; q != nil {
		e.byte(int(q.Kind[0]))
		e.bits(q.Reason == op.Reason)
		if q.Kind == operation.QuestionApprove {
			e.age(q.Expires, w.now, passed)
		}
	}
	if c.policy.Lookup {
		e.look(op, r, w.now)
	}
}

// reasonClass: the rules tell apart what stands in the way of a send, and whether there is a reason at all.
func reasonClass(r operation.Reason) int {
	switch r {
	case "":
		return 0
	case operation.ReasonLookupConflict:
		return 1
	}
	return 2
}

// progress is what the budget and the wait before the next request are computed from.
func (e *encoder) progress(c *config, op *operation.Operation, r *reach, now operation.Time) {
	sends, replays, over, stored := -op.Budget, 0, operation.Time(0), false
	for i := range op.Attempts {
		a := &op.Attempts[i]
		if a.Replay {
			replays++
		} else {
			sends, replays = sends+1, 0
		}
		over = max(over, a.Recorded)
		stored = stored || a.NoRepeat && a.Generation == op.Generation
	}
	e.byte(max(sends, 0)<<4 | replays)
	if r.more || c.policy.Protection == operation.ProtectionKey {
		e.age(over, now, waitAge)
	}
	e.bits(stored)
}

func (e *encoder) approval(op *operation.Operation, now operation.Time) {
	e.byte(op.Content.Version)
	e.age(op.SendBy, now, passed)
	if a := op.Approval; a != nil {
		e.byte(a.Version)
		e.age(a.ValidUntil, now, passed)
		e.bits(a.At < op.SendBy)
	}
}

// look is what lookups said. It is read again only about an attempt that is open, or that its owner can open again.
func (e *encoder) look(op *operation.Operation, r *reach, now operation.Time) {
	matters := false
	for i := range op.Attempts {
		a := &op.Attempts[i]
		matters = matters || a.Open() || a.Outcome == operation.OutcomeExecuted && a.Recorded == 0 && r.owned[tryOf(a.ID)]
	}
	e.bits(matters)
	if !matters {
		return
	}
	e.byte(min(op.Look.Count, lookupsMax))
	e.bits(op.Policy.AbsentCounts && op.Look.Absent != 0, op.Look.At > now)
	if op.Look.Count < lookupsMax && (op.Look.Count > 0 || lookedAfterWord(op)) {
		e.age(op.Look.At, now, waitAge)
	}
}

func lookedAfterWord(op *operation.Operation) bool {
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open() && a.Attested != nil && op.Look.At > a.Attested.At {
			return true
		}
	}
	return false
}

// quiet is when the last open attempt was over. Where nothing is recorded or claimed any more, all are settled together.
func quiet(op *operation.Operation) operation.Time {
	var t operation.Time
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open() {
			t = max(t, over(a, 0))
		}
	}
	return t
}

// over is when an attempt was over by anybody's clock.
func over(a *operation.Attempt, skew operation.Time) operation.Time {
	if a.Recorded != 0 {
		return a.Recorded + skew
	}
	return a.LeaseUntil + skew
}

func (e *encoder) attempt(c *config, w *world, r *reach, i int) {
	a, now := &w.op.Attempts[i], w.now
	j := tryOf(a.ID)
	t := &w.tries[j]
	if a.Outcome == operation.OutcomeNotExecuted && a.Recorded != 0 && t.proven && t.truth != truthPending && t.truth != truthEffect && !r.held[j] {
		e.byte(250) // over and proven: it only counts
		return
	}
	e.byte(int(a.Outcome)<<4 | became(t, r.held[j]))
	e.bits(a.Recorded != 0, a.Ended != 0, t.proven, a.Attested != nil, a.Attested != nil && a.Attested.AfterConfirmed,
		a.Generation == w.op.Generation && !r.closed, a.Version == w.op.Content.Version && !r.closed, r.held[j])
	e.belief(c, w, r, a)
	if c.policy.Protection == operation.ProtectionKey && r.gens[a.Generation].matters && unproven(w, i) && (r.gens[a.Generation].moving || oldest(w, i)) {
		e.age(a.Claimed, now, claimedAge)
	}
	e.history(c, w, r, t)
}

// became: a request that can no longer leave and one that was lost come to the same.
func became(t *try, held bool) int {
	if t.truth == truthUnsent && !held {
		return int(truthNothing)
	}
	return int(t.truth)
}

// unproven: the core or the oracle counts a key's window from it.
func unproven(w *world, i int) bool {
	a := &w.op.Attempts[i]
	return a.Outcome != operation.OutcomeNotExecuted || !w.tries[tryOf(a.ID)].proven
}

// oldest: no earlier attempt of its generation is unproven.
func oldest(w *world, i int) bool {
	for j := range i {
		if w.op.Attempts[j].Generation == w.op.Attempts[i].Generation && unproven(w, j) {
			return false
		}
	}
	return true
}

// belief is what the core can still read of an attempt that is not settled.
func (e *encoder) belief(c *config, w *world, r *reach, a *operation.Attempt) {
	op := w.op
	if a.Open() {
		if c.policy.AbsentCounts || !r.still() {
			e.age(a.Recorded, w.now, c.quietAge())
		}
		e.bits(c.policy.AbsentCounts && op.Look.Absent >= over(a, c.skew)+visibleT,
			a.Attested != nil && op.Look.At > a.Attested.At, a.Attested != nil && op.Look.Absent > a.Attested.At)
	}
	switch {
	case a.Recorded != 0:
	case a.Open() && (c.policy.AbsentCounts || !r.still() || w.now <= a.LeaseUntil+c.skew), r.held[tryOf(a.ID)]:
		e.age(a.LeaseUntil, w.now, c.quietAge())
	}
	if a.Outcome == operation.OutcomeExecuted && a.Recorded == 0 && r.owned[tryOf(a.ID)] {
		e.ref(a.Reference)
	}
}

// history is what the oracle can still read of a try.
func (e *encoder) history(c *config, w *world, r *reach, t *try) {
	switch {
	case t.truth == truthPending:
		e.age(t.sentAt, w.now, visibleT)
	case t.truth == truthEffect && c.policy.AbsentCounts:
		e.age(t.sentAt, w.now, visibleT)
	}
	if r.send && !t.proven {
		e.bits(t.attested != 0, t.lookedFor && c.policy.Lookup, t.absent && absentMatters(c.policy), t.storedBefore)
	}
}

// absentMatters: only there does the oracle ask whether a lookup came late enough.
func absentMatters(p operation.Policy) bool {
	return p.AbsentCounts && p.Protection != operation.ProtectionNone && p.Order == operation.OrderLookUp
}

// pairs says which attempts left within the window that another one can have opened. While it may still leave, the claim
// itself decides.
func (e *encoder) pairs(w *world, r *reach) {
	as := w.op.Attempts
	for i := range as {
		for j := range as {
			a, b := &as[i], &as[j]
			if a.Generation != b.Generation || a.Version != b.Version || a.Outcome == operation.OutcomeNotExecuted || b.Outcome == operation.OutcomeNotExecuted {
				continue
			}
			left, fixed := leftBy(b, r, w.now)
			if !fixed {
				e.age(a.Claimed, w.now, claimedAge)
				continue
			}
			e.bits(left-a.Claimed < claimedAge)
		}
	}
}

// leftBy is when an attempt's request left at the latest, once that is fixed.
func leftBy(a *operation.Attempt, r *reach, now operation.Time) (operation.Time, bool) {
	switch {
	case a.Replay:
		return a.Claimed, true
	case a.Recorded != 0:
		return min(a.Recorded, a.LeaseUntil), true
	}
	return a.LeaseUntil, now >= a.LeaseUntil || !r.owned[tryOf(a.ID)]
}

// memory is what the target remembers of a key that a request may still carry, and which attempts carried it.
func (e *encoder) memory(w *world, gen int) {
	for i := range w.n {
		e.bits(w.tries[i].gen == gen)
	}
	if !w.keyLive(gen) {
		e.byte(254)
		return
	}
	k := &w.keys[gen]
	e.age(k.at, w.now, windowT)
	e.byte(k.by)
	e.bits(k.err)
}

func (e *encoder) worker(c *config, w *world, r *reach, i int) {
	k := &w.workers[i]
	e.byte(int(k.phase)<<4 | k.try)
	switch k.phase {
	case phaseHeld:
		if c.policy.Protection == operation.ProtectionKey {
			e.memory(w, w.tries[k.try].gen)
		}
		if a := k.snap.Attempt(attemptID(k.try)); a.Replay {
			e.age(operation.WindowUntil(k.snap, c.policy), w.now, passed)
		}
		if a := k.snap.Approval; a != nil && c.approvals {
			e.age(a.ValidUntil, w.now, passed)
			e.byte(w.tries[k.try].version)
		}
	case phaseResult:
		e.byte(int(k.meaning))
		e.bits(k.answer == answerStored, k.answer == answerRejected || k.answer == answerNoByte)
		e.ref(k.ref)
	case phaseLook:
		e.inLook(c, w, r, k)
	}
}

// inLook is a lookup's answer under way: how its instant compares with what it will be judged by.
func (e *encoder) inLook(c *config, w *world, r *reach, k *worker) {
	e.age(k.at, w.now, waitAge)
	e.byte(int(k.look))
	e.ref(k.ref)
	for i := range w.op.Attempts {
		a := &w.op.Attempts[i]
		t := &w.tries[tryOf(a.ID)]
		if a.Open() {
			e.bits(c.policy.AbsentCounts && k.at >= over(a, c.skew)+visibleT, a.Attested != nil && k.at > a.Attested.At,
				a.Recorded != 0 || k.at > a.LeaseUntil+c.skew, k.quiet[tryOf(a.ID)] && absentMatters(c.policy) && !t.absent && r.send)
		}
	}
}

func (e *encoder) page(w *world) {
	p := &w.page
	if !p.open {
		e.byte(0)
		return
	}
	q := w.op.Question
	e.bits(true, q != nil && q.ID == p.id, w.op.Rev == p.rev, p.clean)
	e.byte(p.version)
}
