package load

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/flows"
	"holdfast/internal/ledger"
	"holdfast/internal/local"
	"holdfast/internal/operation"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

// small is a load that a test can wait for.
func small(t *testing.T) Options {
	t.Helper()
	return Options{
		Runs: 100, Repeat: 3, Operations: 100, Concurrency: 8, Seed: 7, Tell: t.Logf,
		Laptop: local.Options{Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files()},
	}
}

func held(t *testing.T, broken promises, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

// A storm of 300 deliveries of 100 events: each event has one run, each repeat is answered like the first.
func TestStorm(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), small(t), []string{"storm"})
	held(t, r.Broken, err)
	s := r.Storm
	if s.Deliveries != 300 || len(s.HeapMiB) != 4 {
		t.Errorf("%d deliveries, memory %v", s.Deliveries, s.HeapMiB)
	}
	want := Count{Events: 100, Deliveries: 300, Runs: map[string]int{"done": 100}, Operations: map[string]int{"confirmed": 200}, Effects: 200, Attempts: 200}
	s.Count.runs, s.Count.events = nil, nil
	if d := cmp.Diff(want, s.Count, cmp.AllowUnexported(Count{})); d != "" {
		t.Error(d)
	}
}

// Full runs whose targets lose answers, refuse and break, half of them approved by a person: no effect twice, none lost.
func TestRunsWithFaults(t *testing.T) {
	t.Parallel()
	o := small(t)
	o.Runs = 40
	t.Logf("seed %d", o.Seed)
	r, err := Run(t.Context(), o, []string{"runs"})
	held(t, r.Broken, err)
	if r.Runs.Struck == 0 || r.Runs.Answers[operation.AnswerApprove] != o.Runs || r.Runs.Count.Effects < o.Runs {
		t.Errorf("%d faults, answers %v, %d effects", r.Runs.Struck, r.Runs.Answers, r.Runs.Count.Effects)
	}
}

// The handlers' answers are kept back until the bodies in progress fill what may be in progress: bodies that nobody says
// the size of count as the largest. Whoever comes then is told when to come again; everybody who was let in is answered,
// and all come to their end.
func TestStuckHandlers(t *testing.T) {
	t.Parallel()
	w := Wave{Offered: 20, InFlight: 20, Unsized: true}
	p, err := small(t).stuck(t.Context(), &w)
	held(t, p, err)
	if w.AtOnce != 6 || w.Refused < 14 || !slices.Equal(w.Statuses, []int{503}) {
		t.Errorf("%d let in, %d refused with %v; want the 6 that 64 MiB hold, and 503 for the others", w.AtOnce, w.Refused, w.Statuses)
	}
}

// While the table takes no requests, a webhook answers 503 and says when to come again; it has promised nothing, and the
// repeats get in.
func TestThrottledTable(t *testing.T) {
	t.Parallel()
	w := Wave{Offered: 20, InFlight: 20}
	p, err := small(t).throttled(t.Context(), &w)
	held(t, p, err)
	if w.AtOnce != 10 || w.Refused < 20 || !slices.Equal(w.Statuses, []int{503}) {
		t.Errorf("%d were in, %d refused with %v", w.AtOnce, w.Refused, w.Statuses)
	}
}

func TestFilledLedger(t *testing.T) {
	t.Parallel()
	f, err := small(t).fill(t.Context(), "test", 200)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.l.Close(); err != nil {
			t.Error(err)
		}
	}()
	for round := range 2 {
		took, err := f.round(t.Context(), round)
		if err != nil {
			t.Fatal(err)
		}
		if len(took) != 5 {
			t.Errorf("%v", took)
		}
	}
	got := map[string]int{}
	if err := f.l.App.Ledger.Audit(t.Context(), 1, func(found ledger.Found) error {
		got[found.Operation.Status.String()]++
		return found.Err
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"proposed": 100, "confirmed": 180}, got); d != "" {
		t.Error(d)
	}
}

// What a judge says of counts that break a promise.
func TestJudge(t *testing.T) {
	t.Parallel()
	run := func(id operation.RunID, s operation.RunStatus) operation.Run {
		return operation.Run{ID: id, Event: "ev_1", Status: s}
	}
	one := func(s operation.RunStatus) Count {
		return Count{Events: 1, runs: map[operation.RunID]operation.Run{"run_1": run("run_1", s)}, events: []operation.Event{{ID: "ev_1", Runs: []operation.RunID{"run_1"}}}}
	}
	good := map[operation.RunID]bool{"run_1": true}
	tests := map[string]struct {
		count Count
		told  map[operation.RunID]bool
		want  string
	}{
		"all is well":     {one(operation.RunDone), good, ""},
		"lost":            {Count{Events: 1}, good, "not in the ledger"},
		"unfinished":      {one(operation.RunStarted), good, "did not come to their end"},
		"never told of":   {one(operation.RunDone), nil, "1 runs are in the ledger and 0 were told of"},
		"a second effect": {func() Count { c := one(operation.RunDone); c.Duplicates = 1; return c }(), good, "happened twice"},
		"a stray effect":  {func() Count { c := one(operation.RunDone); c.Unknown = 1; return c }(), good, "belong to no operation"},
		"unproven":        {func() Count { c := one(operation.RunDone); c.Unproven = 1; return c }(), good, "no target shows"},
		"unowned":         {func() Count { c := one(operation.RunDone); c.Unowned = 1; return c }(), good, "no owner"},
		"open":            {func() Count { c := one(operation.RunDone); c.Open = 1; return c }(), good, "still open"},
		"two runs for one event": {func() Count {
			c := one(operation.RunDone)
			c.events[0].Runs = append(c.events[0].Runs, "run_2")
			return c
		}(), good, "more than one"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p promises
			tt.count.accepted(&p, tt.told)
			tt.count.judge(&p)
			said := strings.Join(p, "; ")
			if (tt.want == "") != (said == "") || !strings.Contains(said, tt.want) {
				t.Errorf("got %q, want %q in it", said, tt.want)
			}
		})
	}
}

func TestRefusedRight(t *testing.T) {
	t.Parallel()
	tests := map[reply]bool{
		{status: 503, retryAfter: "1"}: true, {status: 429, retryAfter: "5"}: true,
		{status: 503}: false, {status: 500, retryAfter: "1"}: false, {status: 200, retryAfter: "1"}: false, {status: 400}: false,
	}
	for r, want := range tests {
		if got := r.refusedRight(); got != want {
			t.Errorf("%+v: %v", r, got)
		}
	}
}

func TestMixedOrder(t *testing.T) {
	t.Parallel()
	a, b, c := mixedOrder(1, 50, 3), mixedOrder(1, 50, 3), mixedOrder(2, 50, 3)
	if !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Error("the seed does not make the order")
	}
	count := map[int]int{}
	for _, n := range a {
		count[n]++
	}
	for n := range 50 {
		if count[n] != 3 {
			t.Errorf("%d comes %d times", n, count[n])
		}
	}
	if slices.IsSorted(a) {
		t.Error("nothing is mixed")
	}
}

func TestRatioIsPaired(t *testing.T) {
	t.Parallel()
	// The machine was slow in the second round for both: that is not the ledger's.
	if d := cmp.Diff(Step{2, 2.2, 1.1}, stepOf([]float64{1, 100, 2}, []float64{1.1, 110, 2.2})); d != "" {
		t.Error(d)
	}
}

// BenchmarkLedger takes the five steps of a round on ledgers of two sizes; `holdfast load ledger` compares them by turns.
func BenchmarkLedger(b *testing.B) {
	for name, n := range map[string]int{"10k": SmallLedger, "100k": 10 * SmallLedger} {
		b.Run(name, func(b *testing.B) {
			o := Options{Seed: 7, Tell: b.Logf, Laptop: local.Options{Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files()}}
			f, err := o.fill(b.Context(), name, n)
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := f.l.Close(); err != nil {
					b.Error(err)
				}
			}()
			rounds := 0
			for b.Loop() {
				f.next %= f.n - 2*f.stride*stepsPerRound
				if _, err := f.round(b.Context(), rounds); err != nil {
					b.Fatal(err)
				}
				rounds++
			}
		})
	}
}
