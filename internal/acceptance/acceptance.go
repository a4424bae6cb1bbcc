// Package acceptance plays the six cases that decide whether a flow is safe, on a laptop of its own for each, and tells
// what happened with evidence.
//
// It promises that what it reports was counted at the simulated target and read from the ledger, for any flow file, and
// that a case which cannot be judged is never told as passed. Everything goes through the product's own doors: signed
// notifications, the review page with its typed code, the simulated targets' switches, the clock and the sweep.
//
// It never decides a business rule, never speaks to a real target, and never changes a file of the user's.
//
// Read it in this order: prepare.go (what is tried), sample.go and infer.go (the event), site.go, drive.go and people.go
// (the laptop, time and people), judge.go (what really happened), case*.go (the cases), report.go (what is written).
package acceptance

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"holdfast/internal/local"
)

// Options say what is tried. The folders hold files at their roots.
type Options struct {
	Flow    string // "" picks the only one, or the shipped campaign-follow-up
	Flows   fs.FS
	Targets fs.FS
	Sims    fs.FS
	Sources fs.FS
	// Parallel is how many cases run at once; 0 means parallelDefault.
	Parallel int
	// Progress, when set, is told of each case, one at a time and in the report's order.
	Progress func(Case)
	// Around, when set, is called with every laptop before anything is sent to it; tests break the product here.
	Around func(*local.Local)
}

// Bounds of one acceptance.
const (
	parallelDefault = 3
	caseTimeMax     = 2 * time.Minute // of one case, by the machine's clock
)

// CallError says that acceptance was called with something it cannot try, and what to do about it.
type CallError struct{ err error }

func (e *CallError) Error() string { return e.err.Error() }
func (e *CallError) Unwrap() error { return e.err }

func wrongCall(format string, args ...any) error { return &CallError{fmt.Errorf(format, args...)} }

// Run tries the flow. Its error means that nothing could be judged; a case that fails is in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	p, err := prepare(o)
	if err != nil {
		return Report{}, err
	}
	places, first, err := p.learn(ctx)
	if err != nil {
		return Report{}, err
	}
	r := p.report()
	trials := p.trials(places)
	r.Cases = make([]Case, len(trials)+1)
	r.Cases[0] = first
	told := teller{tell: o.Progress, ended: map[int]Case{}}
	told.done(0, first)
	slots := make(chan struct{}, parallel(o.Parallel))
	var work sync.WaitGroup
	for i, t := range trials {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			r.Cases[i+1] = p.try(ctx, t)
			told.done(i+1, r.Cases[i+1])
		})
	}
	work.Wait()
	return r, ctx.Err()
}

func parallel(n int) int {
	if n <= 0 {
		return parallelDefault
	}
	return n
}

// teller tells of one case at a time, in the report's order.
type teller struct {
	tell func(Case)

	mu    sync.Mutex
	ended map[int]Case
	next  int
}

func (t *teller) done(i int, c Case) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended[i] = c
	for c, ok := t.ended[t.next]; ok; c, ok = t.ended[t.next] {
		t.next++
		if t.tell != nil {
			t.tell(c)
		}
	}
}

// trial is one case to be played.
type trial struct {
	n    int
	name string
	play func(context.Context, *probe) error
}

// try plays a case on a laptop of its own. A malfunction fails the case: what cannot be judged has not passed.
func (p *plan) try(ctx context.Context, t trial) Case {
	ctx, cancel := context.WithTimeout(ctx, caseTimeMax)
	defer cancel()
	b := &probe{plan: p, Case: Case{N: t.n, Name: t.name, Effects: map[string]int{}}}
	err := b.start(ctx)
	if err == nil {
		err = t.play(ctx, b)
	}
	if err != nil {
		b.expect(false, "the case could be played to its end (%s)", err)
	}
	if err := b.close(); err != nil {
		b.expect(false, "the laptop could be closed (%s)", err)
	}
	return b.end()
}
