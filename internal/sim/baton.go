package sim

import (
	"runtime"
	"time"

	"github.com/tidwall/btree"
)

// baton lets one actor act at a time. Whoever has it goes on until it parks; then the root picks the next by the
// seed's choice, or lets time pass until the next timer. Nothing here runs beside anything else, so a seed gives the
// same steps on every machine.
type baton struct {
	tape  *tape
	now   time.Time
	ready []*actor
	due   *btree.BTreeG[*timer]
	count int64 // of timers made; breaks ties in their order
	steps int64
	me    *actor // who has the baton; nil: the root
	root  actor  // stands for whoever starts the world
	all   map[*actor]bool
	back  chan struct{} // gives the baton back to the root
}

// actor is one thread of the simulated world: a function call, an execution, a person, a sender.
type actor struct {
	b        *baton
	name     string
	id       uint64 // the same in every run in which the same actor starts it as the same child
	children uint64
	points   uint64 // choices made so far
	draws    uint64
	turns    uint64
	wake     chan struct{}
	parked   bool
	doomed   bool        // ends at its next point
	call     *invocation // the function call that it is, if it is one
}

func newBaton(t *tape, start time.Time) *baton {
	due := btree.NewBTreeGOptions(sooner, btree.Options{NoLocks: true})
	return &baton{tape: t, now: start, due: due, all: map[*actor]bool{}, back: make(chan struct{})}
}

// spawn starts an actor, which gets the baton some time later.
func (b *baton) spawn(name string, f func()) *actor {
	parent := b.current()
	parent.children++
	a := &actor{b: b, name: name, id: mix(parent.id, parent.children), wake: make(chan struct{})}
	b.all[a] = true
	b.ready = append(b.ready, a)
	go func() {
		<-a.wake
		defer func() { // also when the actor was ended on the way
			delete(b.all, a)
			b.back <- struct{}{}
		}()
		if !a.doomed {
			f()
		}
	}()
	return a
}

// run passes the baton on until nobody is ready and no timer is left, or until over says so.
func (b *baton) run(over func() bool) {
	for !over() {
		if len(b.ready) == 0 {
			if !b.pass() {
				return
			}
			continue
		}
		b.give(b.pick())
	}
}

// current is who acts now; the root when nobody has the baton.
func (b *baton) current() *actor {
	if b.me != nil {
		return b.me
	}
	return &b.root
}

func (b *baton) pick() *actor {
	i := 0
	if len(b.ready) > 1 {
		i = b.tape.order(b.ready[0], len(b.ready))
	}
	a := b.ready[i]
	b.ready = append(b.ready[:i], b.ready[i+1:]...)
	return a
}

func (b *baton) give(a *actor) {
	b.steps++
	b.me, a.parked = a, false
	a.wake <- struct{}{}
	<-b.back
	b.me = nil
}

// pass lets time pass until the next timer and fires it. It reports false when there is none.
func (b *baton) pass() bool {
	t, ok := b.due.PopMin()
	if !ok {
		return false
	}
	if t.at.After(b.now) {
		b.now = t.at
	}
	t.fire()
	return true
}

// park gives the baton back until somebody makes the actor ready. An actor that is doomed meanwhile does not return.
func (b *baton) park() {
	b.me.parked = true
	b.rest(b.me)
}

func (b *baton) rest(a *actor) {
	b.back <- struct{}{}
	<-a.wake
	if a.doomed {
		runtime.Goexit()
	}
}

func (b *baton) ripen(a *actor) {
	if a.parked {
		a.parked = false
		b.ready = append(b.ready, a)
	}
}

// sleep parks the actor for a time; nobody else can wake it.
func (b *baton) sleep(d time.Duration) {
	a := b.me
	woken := false
	b.at(b.now.Add(d), func() {
		woken = true
		b.ripen(a)
	})
	for !woken {
		b.park()
	}
}

// yield lets others act first.
func (b *baton) yield() {
	b.ready = append(b.ready, b.me)
	b.rest(b.me)
}

// close ends every actor.
func (b *baton) close() {
	for len(b.all) > 0 {
		for a := range b.all {
			a.doomed = true
		}
		b.ready = b.ready[:0]
		for a := range b.all {
			b.give(a)
		}
	}
}

type timer struct {
	at    time.Time
	order int64
	fire  func()
}

// at calls fire once the time has come, in nobody's name: it must not park.
func (b *baton) at(when time.Time, fire func()) *timer {
	b.count++
	t := &timer{at: when, order: b.count, fire: fire}
	b.due.Set(t)
	return t
}

// cancel takes a timer back; it may have fired already.
func (b *baton) cancel(t *timer) { b.due.Delete(t) }

// sooner orders timers by their time, and those of one time as they were made.
func sooner(a, b *timer) bool {
	if a.at.Equal(b.at) {
		return a.order < b.order
	}
	return a.at.Before(b.at)
}

// bell wakes one actor; a ring before the wait is kept.
type bell struct {
	b       *baton
	rung    bool
	waiting *actor
}

// Ring implements states.Bell.
func (l *bell) Ring() {
	l.rung = true
	if l.waiting != nil {
		l.b.ripen(l.waiting)
	}
}

// Wait implements states.Bell.
func (l *bell) Wait() {
	for !l.rung {
		l.waiting = l.b.me
		l.b.park()
	}
	l.rung, l.waiting = false, nil
}
