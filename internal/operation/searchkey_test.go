package operation_test

import (
	"hash/maphash"

	"holdfast/internal/operation"
)

// How far back an instant is told apart: no rule compares it with now any further. Where two stored instants are
// compared with each other, the answer itself is part of the key.
const (
	ageMax     = windowT + 3
	recordAge  = visibleT + skewT + 1
	leaseAge   = visibleT + skewT + 2
	lookAge    = 2
	claimedAge = windowT + 1
)

// key is a state's identity: the same up to a shift of time and the names of ids.
type key [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

type encoder struct{ b []byte }

func (e *encoder) byte(v int) { e.b = append(e.b, byte(v)) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

func (e *encoder) age(t, now operation.Time, most int) {
	if t == 0 {
		e.b = append(e.b, 255)
		return
	}
	e.byte(int(max(min(t-now, ageMax), operation.Time(-most))) + 100)
}

func (e *encoder) text(s string) {
	e.b = append(e.b, s...)
	e.b = append(e.b, 0)
}

func (e *encoder) key(w *world) key {
	e.b = e.b[:0]
	e.operation(w.op, w.now)
	e.byte(w.n)
	for i := range w.n {
		e.try(&w.tries[i], w)
	}
	for i := range w.keys {
		k := &w.keys[i]
		if live := w.keyLive(i); live {
			e.age(k.at, w.now, windowT+1)
			e.byte(k.by)
			e.bool(k.err)
			continue
		}
		e.byte(254)
	}
	for i := range w.workers {
		e.worker(w, &w.workers[i])
	}
	e.page(w)
	e.byte(w.lies)
	e.byte(w.edits)
	return key{maphash.Bytes(seeds[0], e.b), maphash.Bytes(seeds[1], e.b)}
}

func (e *encoder) operation(op *operation.Operation, now operation.Time) {
	e.byte(int(op.Status))
	e.text(string(op.Reason))
	e.text(string(op.Reference))
	e.byte(op.Generation)
	e.byte(op.Budget)
	e.byte(op.Content.Version)
	e.bool(op.Confirmed != 0)
	e.bool(op.Filled != nil)
	e.age(op.SendBy, now, 1)
	for i := range op.Attempts {
		e.attempt(op, &op.Attempts[i], now)
	}
	e.age(op.Look.At, now, lookAge)
	e.bool(op.Look.Absent != 0)
	e.order(op, op.Look.At, false)
	e.order(op, op.Look.Absent, true)
	e.byte(min(op.Look.Count, lookupsMax))
	if q := op.Question; q != nil {
		e.text(string(q.Kind))
		e.text(string(q.Reason))
		e.age(q.Expires, now, 1)
	}
	if c := op.Contradiction; c != nil {
		e.text(string(c.Reason))
		e.bool(c.SeenBy != "")
	}
	if a := op.Approval; a != nil {
		e.byte(a.Version)
		e.age(a.ValidUntil, now, 1)
		e.bool(op.SendBy != 0 && a.At < op.SendBy)
	}
}

// order encodes how an instant compares with what lookups are judged by.
func (e *encoder) order(op *operation.Operation, t operation.Time, shown bool) {
	for i := range op.Attempts {
		a := &op.Attempts[i]
		over := max(a.Recorded, a.LeaseUntil)
		if a.Recorded != 0 {
			over = a.Recorded
		}
		e.bool(shown && op.Policy.AbsentCounts && t >= over+visibleT+skewT)
		e.bool(a.Attested != nil && t > a.Attested.At)
	}
}

func (e *encoder) attempt(op *operation.Operation, a *operation.Attempt, now operation.Time) {
	e.bool(a.Replay)
	e.byte(int(a.Outcome))
	e.text(string(a.Reference))
	e.byte(a.Generation)
	if a.Outcome != operation.OutcomeNotExecuted && op.Policy.Protection == operation.ProtectionKey {
		e.age(a.Claimed, now, claimedAge)
	}
	e.age(a.Recorded, now, recordAge)
	if a.Recorded == 0 {
		e.age(a.LeaseUntil, now, leaseAge)
	}
	e.bool(a.Ended != 0)
	e.bool(a.NoRepeat)
	if a.Attested != nil {
		e.bool(a.Attested.At == now)
		e.bool(a.Attested.AfterConfirmed)
	}
}

func (e *encoder) try(t *try, w *world) {
	e.byte(int(t.truth))
	if t.truth == truthPending || t.truth == truthEffect && w.op.Policy.AbsentCounts {
		e.age(t.sentAt, w.now, visibleT+1)
	}
	e.byte(t.gen<<4 | t.version)
	e.bool(t.proven)
	e.bool(t.stored)
	e.bool(t.storedBefore)
	e.bool(t.attested != 0)
	e.bool(t.lookedFor)
	e.bool(t.absent && absentMatters(w.op.Policy))
}

// absentMatters: only there does the oracle ask whether a lookup came late enough.
func absentMatters(p operation.Policy) bool {
	return p.AbsentCounts && p.Protection != operation.ProtectionNone && p.Order == operation.OrderLookUp
}

func (e *encoder) worker(w *world, k *worker) {
	e.byte(int(k.phase))
	switch k.phase {
	case phaseHeld:
		e.byte(k.try)
		e.age(operation.WindowUntil(k.snap, w.op.Policy), w.now, 1)
		if a := k.snap.Approval; a != nil {
			e.age(a.ValidUntil, w.now, 1)
		}
	case phaseResult:
		e.byte(k.try)
		e.byte(int(k.answer))
		e.text(string(k.ref))
	case phaseLook:
		e.age(k.at, w.now, lookAge)
		e.order(w.op, k.at, true)
		for i := range w.op.Attempts {
			e.bool(k.at > w.op.Attempts[i].LeaseUntil+skewT)
		}
		e.byte(int(k.look))
		e.text(string(k.ref))
		for _, q := range k.quiet {
			e.bool(q && absentMatters(w.op.Policy))
		}
	}
}

func (e *encoder) page(w *world) {
	e.bool(w.page.open)
	if !w.page.open {
		return
	}
	q := w.op.Question
	e.bool(q != nil && q.ID == w.page.id)
	e.bool(w.op.Rev == w.page.rev)
	e.bool(w.page.clean)
	e.byte(w.page.version)
}
