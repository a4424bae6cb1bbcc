package bench_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/flows"
	"holdfast/internal/bench"
	"holdfast/internal/clock"
	"holdfast/internal/local"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
	"testing/fstest"
)

func laptop(t *testing.T, change func(*local.Options)) (*local.Local, *bench.Counter) {
	t.Helper()
	counter := &bench.Counter{}
	o := local.Options{Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(), OnCall: counter.Call, Seed: 11}
	if change != nil {
		change(&o)
	}
	l, err := local.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, counter
}

// timed are the figures that depend on the machine; they are never asserted.
var timed = cmpopts.IgnoreFields(bench.Result{}, "RunsPerSecond", "AckP50", "AckP99", "HeapMiB", "WritesPerRun", "ReadsPerRun")

func TestCounts(t *testing.T) {
	t.Parallel()
	const runs = 20
	tests := map[string]struct {
		o    bench.Options
		want bench.Result
		// exact says that nothing adds transitions: no retries and no waits.
		exact bool
	}{
		"each event once":        {bench.Options{Runs: runs, Concurrency: 4}, bench.Result{Runs: runs, Effects: 2 * runs, TransitionsPerRun: 5}, true},
		"each event three times": {bench.Options{Runs: runs, Concurrency: 8, Repeat: 3}, bench.Result{Runs: runs, Effects: 2 * runs, TransitionsPerRun: 5}, true},
		"refused at times":       {bench.Options{Runs: runs, Concurrency: 4, Err: 0.2}, bench.Result{Runs: runs, Effects: 2 * runs}, false},
		"answers lost at times":  {bench.Options{Runs: runs, Concurrency: 4, Lost: 0.3}, bench.Result{Runs: runs, Effects: 2 * runs}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, counter := laptop(t, nil)
			seen := 0
			tt.o.Progress = func(n int) { seen = max(seen, n) }
			got, err := bench.Run(t.Context(), l, counter, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.exact {
				if got.TransitionsPerRun < 5 {
					t.Errorf("%v transitions", got.TransitionsPerRun)
				}
				got.TransitionsPerRun = 0
			}
			if got.WritesPerRun < 5 || got.ReadsPerRun <= 0 {
				t.Errorf("%v writes, %v reads per run", got.WritesPerRun, got.ReadsPerRun)
			}
			if d := cmp.Diff(tt.want, got, timed); d != "" {
				t.Errorf("%s\n%v", d, got.Why)
			}
			if want := runs * max(tt.o.Repeat, 1); seen != want {
				t.Errorf("%d answers told, want %d", seen, want)
			}
		})
	}
}

func TestRunNeedsItsFlow(t *testing.T) {
	t.Parallel()
	raw, err := flows.FS.ReadFile("campaign-follow-up.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, counter := laptop(t, func(o *local.Options) { o.Flows = fstest.MapFS{"campaign-follow-up.yaml": {Data: raw}} })
	if _, err := bench.Run(t.Context(), l, counter, bench.Options{Runs: 1, Concurrency: 1}); err == nil || !strings.Contains(err.Error(), "standing-follow-up") {
		t.Errorf("%v", err)
	}
}

func TestBodiesAreOneEventEach(t *testing.T) {
	t.Parallel()
	now := clock.New().Now()
	seen := map[string]bool{}
	for i := range 100 {
		b := string(bench.Body(i, now))
		if seen[b] || !strings.Contains(b, fmt.Sprintf(`"bench-%d"`, i)) {
			t.Errorf("%s", b)
		}
		seen[b] = true
	}
}
