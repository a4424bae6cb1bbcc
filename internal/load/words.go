package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Words are the result as a person reads it.
func (r Result) Words() string {
	var b strings.Builder
	if s := r.Storm; s != nil {
		fmt.Fprintf(&b, "storm     %d deliveries of %d events, %d in flight: %d answered with another run, %d refused and sent again\n", s.Deliveries, s.Events, s.InFlight, s.Different, s.Refused)
		fmt.Fprintf(&b, "          memory %v MiB at the start, a quarter, a half, the end; %.0f bytes kept for each run of the second half\n", s.HeapMiB, s.KeptBytesPerRun)
		s.Count.words(&b)
	}
	if u := r.Runs; u != nil {
		fmt.Fprintf(&b, "runs      %d full runs, %d requests struck by faults, people answered %v\n", u.Runs, u.Struck, u.Answers)
		u.Count.words(&b)
	}
	if l := r.Ledger; l != nil {
		l.words(&b)
	}
	if o := r.Overload; o != nil {
		for i := range o.Stuck {
			o.Stuck[i].words(&b, "stuck")
		}
		o.Flood.words(&b, "flood")
		o.Throttled.words(&b, "throttled")
	}
	if len(r.Broken) == 0 {
		fmt.Fprintf(&b, "every promise held (seed %d)\n", r.Seed)
	}
	return b.String()
}

func (c *Count) words(b *strings.Builder) {
	fmt.Fprintf(b, "          recount: %d events, %d deliveries, runs %v, operations %v, effects %d, duplicates %d, unowned %d, open %d\n",
		c.Events, c.Deliveries, c.Runs, c.Operations, c.Effects, c.Duplicates, c.Unowned, c.Open)
}

func (l *Ledger) words(b *strings.Builder) {
	fmt.Fprintf(b, "ledger    %d operations beside %d, %d bytes each, %.0f MiB\n", l.Large, l.Small, l.BytesPerOperation, l.HeapMiB)
	if l.Large < l.Asked {
		fmt.Fprintf(b, "          %d were asked for and do not fit into %.0f MiB\n", l.Asked, l.AvailableMiB)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Steps)) {
		s := l.Steps[name]
		fmt.Fprintf(b, "          %-8s %7.1f µs on the small one, %7.1f µs on the large one: %.3f\n", name, s.SmallMicros, s.LargeMicros, s.Ratio)
	}
	c := l.Collector
	fmt.Fprintf(b, "          collector, beside it: %.0f ms for %.0f MiB, %.0f ms for %.0f MiB; %.1f and %.1f µs for each step's garbage\n",
		c.SmallMillis, c.SmallHeapMiB, c.LargeMillis, c.LargeHeapMiB, c.SmallPerMicro, c.LargePerMicro)
}

func (w *Wave) words(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%-9s %d offered, %d in flight, bodies of %d bytes: %d let in at first, told to come again %d times with %v, %d in at last\n",
		name, w.Offered, w.InFlight, w.BodyBytes, w.AtOnce, w.Refused, w.Statuses, w.Accepted)
	fmt.Fprintf(b, "          memory %.0f MiB before, at most %.0f, %.0f after\n", w.BeforeMiB, w.PeakMiB, w.AfterMiB)
	w.Count.words(b)
}
