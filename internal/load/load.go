// Package load puts more on a laptop's parts than a day brings, and counts what came of it.
//
// It promises that every figure is counted or measured in this process: runs and deliveries from the ledger, effects
// from the simulated targets, memory from the runtime. What breaks one of the product's promises is named in the result.
// It never asserts a time, and never repeats a claim that it did not measure.
package load

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"holdfast/internal/local"
)

// Options say how much is offered.
type Options struct {
	// Runs is the number of events of a storm, of full runs, and of a flood.
	Runs int
	// Repeat is the number of deliveries of each event of a storm.
	Repeat int
	// Operations is how many operations the large ledger holds; the small one holds SmallLedger.
	Operations int
	// Concurrency is the number of notifications in flight.
	Concurrency int
	// Seed sets the order of deliveries and where faults strike.
	Seed uint64
	// Laptop has the configuration files; every part starts a laptop of its own from it.
	Laptop local.Options
	// Dir is an empty folder for a ledger on disk.
	Dir string
	// Tell is told how far it is, in words; nil tells nobody.
	Tell func(format string, args ...any)
}

// Result is what the parts found. Parts that did not run are nil.
type Result struct {
	Seed     uint64    `json:"seed"`
	Storm    *Storm    `json:"storm,omitempty"`
	Runs     *Runs     `json:"runs,omitempty"`
	Ledger   *Ledger   `json:"ledger,omitempty"`
	Overload *Overload `json:"overload,omitempty"`
	// Broken are the promises that did not hold, in words. Empty is what everybody wants.
	Broken []string `json:"broken"`
}

// Parts are the names that Run takes, in the order in which it runs them.
func Parts() []string { return []string{"storm", "runs", "ledger", "overload"} }

// Run runs the named parts, one after the other.
func Run(ctx context.Context, o Options, parts []string) (Result, error) {
	if o.Tell == nil {
		o.Tell = func(string, ...any) {}
	}
	out := Result{Seed: o.Seed, Broken: []string{}}
	for _, part := range Parts() {
		if !slices.Contains(parts, part) {
			continue
		}
		o.Tell("%s", part)
		broken, err := o.part(ctx, part, &out)
		if err != nil {
			return out, fmt.Errorf("%s: %w", part, err)
		}
		for _, b := range broken {
			out.Broken = append(out.Broken, part+": "+b)
		}
	}
	return out, nil
}

func (o Options) part(ctx context.Context, part string, out *Result) (broken promises, err error) {
	switch part {
	case "storm":
		out.Storm, broken, err = o.storm(ctx)
	case "runs":
		out.Runs, broken, err = o.runs(ctx)
	case "ledger":
		out.Ledger, broken, err = o.ledger(ctx)
	case "overload":
		out.Overload, broken, err = o.overload(ctx)
	}
	return broken, err
}

// promises are those that did not hold.
type promises []string

// holds notes a promise that does not hold.
func (p *promises) holds(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// mixed is a number that says nothing about n: a seeded choice without a stream of random numbers, so that it does not
// depend on who asks first.
func mixed(seed, n uint64) uint64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// mixedOrder are the numbers below n, each repeat times. A first delivery comes about in its turn, the repeats at any time
// up to a quarter of all later, so that new and repeated ones are mixed throughout.
func mixedOrder(seed uint64, n, repeat int) []int {
	type place struct {
		n  int
		at uint64
	}
	all := make([]place, 0, n*repeat)
	for i := range n * repeat {
		within := uint64(n/4 + 1)
		if i < n {
			within = min(within, uint64(repeat)*firstWithin)
		}
		all = append(all, place{i % n, uint64(i%n) + mixed(seed, uint64(i))%within})
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	out := make([]int, len(all))
	for i := range all {
		out[i] = all[i].n
	}
	return out
}

// firstWithin is how many places a first delivery may come late, for each delivery of its event.
const firstWithin = 8
