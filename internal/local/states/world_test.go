package states_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"holdfast/internal/local/states"
)

const turnsMax = 100_000 // of one world, so that one that never comes to rest fails

// world is a Parallel and a clock in one: actors are coroutines that take turns, and time moves only when nobody has
// anything left to do. Who is next is the first that became ready or, with random set, anyone.
type world struct {
	testing.TB
	random *rand.Rand
	born   time.Time
	now    time.Time
	ready  []*actor
	all    []*actor
	dues   []*due // by time, then by age
	turn   *actor
	names  []string // of all actors, in the order of their making
}

type actor struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

type due struct {
	at   time.Time
	fire func()
}

// dropped unwinds an actor whose world ends.
type dropped struct{}

func newWorld(t testing.TB, random *rand.Rand) *world {
	w := &world{TB: t, random: random, born: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	w.now = w.born
	t.Cleanup(w.drop)
	return w
}

// drop ends all actors where they are, as a scheduler does with a world that it is done with.
func (w *world) drop() {
	for _, a := range w.all {
		w.turn = a
		a.stop()
	}
}

// Go implements states.Parallel.
func (w *world) Go(name string, f func()) {
	a := &actor{}
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			r := recover()
			if _, ok := r.(dropped); r != nil && !ok {
				panic(r)
			}
		}()
		a.yield = yield
		f()
	})
	w.names, w.all, w.ready = append(w.names, name), append(w.all, a), append(w.ready, a)
}

// park ends the current actor's turn; whoever keeps the actor makes it ready again.
func (w *world) park() {
	if !w.turn.yield(struct{}{}) {
		panic(dropped{})
	}
}

type worldBell struct {
	world  *world
	rung   bool
	waiter *actor
}

// NewBell implements states.Parallel.
func (w *world) NewBell() states.Bell { return &worldBell{world: w} }

// Ring implements states.Bell.
func (b *worldBell) Ring() {
	b.rung = true
	if b.waiter != nil {
		b.world.ready, b.waiter = append(b.world.ready, b.waiter), nil
	}
}

// Wait implements states.Bell.
func (b *worldBell) Wait() {
	for !b.rung {
		b.waiter = b.world.turn
		b.world.park()
	}
	b.rung = false
}

// Now implements clock.Clock.
func (w *world) Now() time.Time { return w.now }

// Mono implements clock.Clock.
func (w *world) Mono() time.Duration { return w.now.Sub(w.born) }

// SleepUntil implements clock.Clock.
func (w *world) SleepUntil(ctx context.Context, t time.Time) error {
	sleeper := w.turn
	w.AfterFunc(t, func() { w.ready = append(w.ready, sleeper) })
	w.park()
	return ctx.Err()
}

// AfterFunc implements clock.Clock.
func (w *world) AfterFunc(t time.Time, f func()) (stop func()) {
	one := &due{t, f}
	i, _ := slices.BinarySearchFunc(w.dues, t, func(d *due, t time.Time) int {
		if d.at.After(t) {
			return 1
		}
		return -1
	})
	w.dues = slices.Insert(w.dues, i, one)
	return func() { w.dues = slices.DeleteFunc(w.dues, func(d *due) bool { return d == one }) }
}

// run gives turns until nobody has anything to do and nothing is due any more.
func (w *world) run() {
	w.Helper()
	for range turnsMax {
		switch {
		case len(w.ready) > 0:
			i := 0
			if w.random != nil {
				i = w.random.IntN(len(w.ready))
			}
			w.turn = w.ready[i]
			w.ready = slices.Delete(w.ready, i, i+1)
			w.turn.next()
		case len(w.dues) > 0:
			w.pass()
		default:
			return
		}
	}
	w.Fatalf("the world did not come to rest within %d turns", turnsMax)
}

// pass moves time to the next due moment and fires everything that is due then.
func (w *world) pass() {
	w.now = w.dues[0].at
	for len(w.dues) > 0 && !w.dues[0].at.After(w.now) {
		one := w.dues[0]
		w.dues = w.dues[1:]
		one.fire()
	}
}

// sleep is for functions and people in this world.
func (w *world) sleep(d time.Duration) {
	if err := w.SleepUntil(context.Background(), w.now.Add(d)); err != nil {
		w.Error(err)
	}
}
