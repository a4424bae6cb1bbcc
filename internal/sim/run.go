package sim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// Options say which seeds are played.
type Options struct {
	First   uint64 // seed
	Seeds   int    // 0: until Over says so
	Workers int    // worlds at once; each is played by itself
	Over    func() bool
	// Progress is told of the sum so far after each world, by one worker at a time. It may be nil.
	Progress func(Result)
}

// violationsMax bounds the broken rules that are collected before the run ends.
const violationsMax = 20

// Run plays seeds one after another, on several workers, and adds up what they showed.
func (l *Lab) Run(ctx context.Context, o Options) (Result, error) {
	r := &running{Options: o, next: o.First, sum: Result{Violations: []Violation{}, Reached: map[string]int{}}}
	var all sync.WaitGroup
	for range max(o.Workers, 1) {
		all.Go(func() {
			for seed, ok := r.take(ctx); ok; seed, ok = r.take(ctx) {
				w, err := l.Play(seed, false)
				r.add(w.Result, err)
			}
		})
	}
	all.Wait()
	slices.SortFunc(r.sum.Violations, func(a, b Violation) int { return cmp.Compare(a.Seed, b.Seed) })
	return r.sum, errors.Join(r.failed, ctx.Err())
}

type running struct {
	Options
	mu     sync.Mutex
	next   uint64
	sum    Result
	failed error
}

func (r *running) take(ctx context.Context) (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := r.Seeds > 0 && r.next-r.First >= uint64(r.Seeds) || r.Over != nil && r.Over()
	if done || ctx.Err() != nil || r.failed != nil || len(r.sum.Violations) >= violationsMax {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

func (r *running) add(one Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed = errors.Join(r.failed, err)
		return
	}
	r.sum.Add(one)
	if r.Progress != nil {
		r.Progress(r.sum)
	}
}

// NeverReached are the rules that a result never put to the test.
func (r *Result) NeverReached() []string {
	return slices.DeleteFunc(Rules(), func(rule string) bool { return r.Reached[rule] > 0 })
}
