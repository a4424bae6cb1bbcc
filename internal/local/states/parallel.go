package states

import "sync"

// Parallel is how a server does several things at once: one thing for each running execution, one for each function
// call in progress. Without one, a server uses goroutines. With one, it starts no goroutine and makes no choice that
// the Go runtime would make, so that a scheduler which runs one thing at a time gets the same history from the same
// schedule.
//
// A server calls Go and Ring without holding a lock, so that both may run other things before they return. NewBell,
// and the clock, NewToken and Random of Options, must not.
type Parallel interface {
	// Go runs f beside everything else. The name is for people: "execution run_1-1", "PlanFunction of run_1-1".
	Go(name string, f func())
	NewBell() Bell
}

// Bell wakes the one that waits at it. Ring never waits for that one, and rings before a wait are kept as one.
type Bell interface {
	Ring()
	// Wait returns after a ring.
	Wait()
}

// goroutines is the Parallel of a server that was given none.
type goroutines struct{}

// Go implements Parallel.
func (goroutines) Go(_ string, f func()) { go f() }

// NewBell implements Parallel.
func (goroutines) NewBell() Bell { return make(channelBell, 1) }

type channelBell chan struct{}

// Ring implements Bell.
func (b channelBell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// Wait implements Bell.
func (b channelBell) Wait() { <-b }

// work counts what a server has set off, so that Close can wait for it.
type work struct {
	parallel Parallel
	pending  sync.WaitGroup
}

// beside runs f beside everything else. The caller has counted it in pending, at a moment when Close could not
// already have been waiting.
func (w *work) beside(name string, f func()) {
	w.parallel.Go(name, func() {
		defer w.pending.Done()
		f()
	})
}
