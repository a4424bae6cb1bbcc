package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"

	"holdfast/internal/local"
)

// Ledger compares a large ledger with a small one, both in memory in this process and reached without a wire.
type Ledger struct {
	Small int `json:"small"` // operations
	Large int `json:"large"`
	Asked int `json:"asked"` // operations that the large one was to have
	// BytesPerOperation is the memory of one operation with its content, measured on the small ledger.
	BytesPerOperation int     `json:"bytes_per_operation"`
	AvailableMiB      float64 `json:"available_mib,omitempty"` // when the large one was filled; 0 where the system does not say
	HeapMiB           float64 `json:"heap_mib"`
	Rounds            int     `json:"rounds"`
	// Steps are the costs of each step, in processor time of the calling thread: without the collector.
	Steps map[string]Step `json:"steps"`
	// Collector is what the garbage collector costs beside it.
	Collector Collector `json:"collector"`
}

// Step is what one step costs on both ledgers, measured by turns.
type Step struct {
	SmallMicros float64 `json:"small_us"` // median over the rounds
	LargeMicros float64 `json:"large_us"`
	Ratio       float64 `json:"ratio"` // median over the rounds of large by small
}

// Collector is the cost of one full collection with the small ledger alone and with both, and what of it falls to a
// step: with a target of 100 % a collection comes each time as much was allocated as is in use.
type Collector struct {
	SmallHeapMiB  float64 `json:"small_heap_mib"`
	LargeHeapMiB  float64 `json:"large_heap_mib"`
	SmallMillis   float64 `json:"small_cycle_ms"`
	LargeMillis   float64 `json:"large_cycle_ms"`
	BytesPerStep  float64 `json:"bytes_per_step"`
	SmallPerMicro float64 `json:"small_us_per_step"`
	LargePerMicro float64 `json:"large_us_per_step"`
}

// SmallLedger is the number of operations that a step's cost is compared with.
const SmallLedger = 10_000

// Bounds of the comparison.
const (
	rounds        = 115
	warmRounds    = 10
	stepsPerRound = 40
	collectEvery  = 60   // rounds
	ratioMax      = 1.10 // cost of a step on the large ledger by that on the small one
	// spareWhileFilling is the collector's target in percent while the large ledger is filled: what is available allows it.
	spareWhileFilling = 200
	useOfMemory       = 0.5 // share of what is available that the large ledger may take
)

// ledger fills two ledgers and measures the same steps on both by turns.
func (o Options) ledger(ctx context.Context) (out *Ledger, broken promises, err error) {
	before := heapNow()
	small, err := o.fill(ctx, "small", min(SmallLedger, o.Operations))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, small.l.Close()) }()
	out = &Ledger{Small: small.n, Asked: o.Operations, Rounds: rounds, Steps: map[string]Step{}}
	heap := heapNow()
	out.BytesPerOperation = int((heap - before) / uint64(small.n))
	out.Collector.SmallHeapMiB, out.Collector.SmallMillis = inMiB(heap), collection()
	out.Large = o.Operations
	if available := availableBytes(); available > 0 {
		out.AvailableMiB = inMiB(available)
		out.Large = min(out.Large, int(float64(available)*useOfMemory)/out.BytesPerOperation)
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(float64(available) * (1 + useOfMemory) / 2)))
	}
	o.Tell("%d bytes for each operation: a ledger of %d takes %.0f MiB", out.BytesPerOperation, out.Large, inMiB(uint64(out.Large*out.BytesPerOperation)))
	if out.Large < out.Asked {
		o.Tell("%.0f MiB are available: the large ledger has %d operations instead of %d", out.AvailableMiB, out.Large, out.Asked)
	}
	spare := debug.SetGCPercent(spareWhileFilling)
	large, err := o.fill(ctx, "large", out.Large)
	debug.SetGCPercent(spare)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, large.l.Close()) }()
	if err := o.compare(ctx, out, small, large); err != nil {
		return nil, nil, err
	}
	return out, out.judge(), nil
}

func (l *Ledger) judge() (p promises) {
	for name, s := range l.Steps {
		p.holds(s.Ratio <= ratioMax, "%s costs %.2f of what it costs in a ledger of %d operations, more than %.2f", name, s.Ratio, l.Small, ratioMax)
	}
	return p
}

func (o Options) fill(ctx context.Context, name string, n int) (*filled, error) {
	l, err := o.open(ctx, func(lo *local.Options) { lo.Dir = "" })
	if err != nil {
		return nil, err
	}
	f := &filled{l: l, name: name}
	if err := f.fill(ctx, n, o.Tell); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return f, nil
}

// compare measures by turns, the small one first in even rounds. The collector runs between rounds only.
func (o Options) compare(ctx context.Context, out *Ledger, small, large *filled) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	heap := heapNow()
	out.HeapMiB = inMiB(heap)
	out.Collector.LargeHeapMiB, out.Collector.LargeMillis = out.HeapMiB, collection()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	costs := [2]map[string][]float64{{}, {}}
	var allocated, steps uint64
	for round := range warmRounds + rounds {
		if round%collectEvery == 0 {
			runtime.GC()
			o.Tell("round %d of %d", round, warmRounds+rounds)
		}
		begun := allocatedBytes()
		for turn := range 2 {
			which := (turn + round) % 2
			took, err := [2]*filled{small, large}[which].round(ctx, round)
			if err != nil {
				return err
			}
			if round < warmRounds {
				continue
			}
			for name, us := range took {
				costs[which][name] = append(costs[which][name], us)
			}
			steps += uint64(len(took) * stepsPerRound)
		}
		if round >= warmRounds {
			allocated += allocatedBytes() - begun
		}
	}
	for name, of := range costs[0] {
		out.Steps[name] = stepOf(of, costs[1][name])
	}
	out.Collector.share(float64(allocated) / float64(steps))
	return nil
}

func stepOf(small, large []float64) Step {
	ratios := make([]float64, len(small))
	for i := range small {
		ratios[i] = large[i] / small[i]
	}
	return Step{rounded(median(small)), rounded(median(large)), rounded(median(ratios))}
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	if len(sorted) == 0 {
		return math.NaN()
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }

func (c *Collector) share(bytesPerStep float64) {
	c.BytesPerStep = math.Round(bytesPerStep)
	c.SmallPerMicro = rounded(bytesPerStep / (c.SmallHeapMiB * mib) * c.SmallMillis * 1000)
	c.LargePerMicro = rounded(bytesPerStep / (c.LargeHeapMiB * mib) * c.LargeMillis * 1000)
}

// collection is the processor time of one full collection, in milliseconds, on all its threads.
func collection() float64 {
	var took []float64
	for range 2 {
		before := collectorSeconds()
		runtime.GC()
		took = append(took, (collectorSeconds()-before)*1000)
	}
	return rounded(median(took))
}

// collectorSeconds is the time that the collector took from others: what it did while a processor was idle is left out.
func collectorSeconds() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64() + s[1].Value.Float64()
}

func allocatedBytes() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

var errShape = errors.New("the ledger does not hold what was filled in")

func shape(step string, n int, got any) error {
	return fmt.Errorf("%s of operation %d: %w: %v", step, n, errShape, got)
}
