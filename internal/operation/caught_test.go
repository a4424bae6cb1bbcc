package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
)

// Each further failure of a generation waits twice as long, up to the bound, and leaves the run due with its owner.
func TestR07_TheWaitAfterAFailureGrows(t *testing.T) {
	t.Parallel()
	run := operation.Run{ID: "run_1", Owner: owner, Generation: 1}
	var got []time.Duration
	for range 8 {
		until := run.Caught(t0, 10*time.Second, 5*time.Minute)
		got = append(got, until.Sub(t0))
		if run.Step.Due < until || run.Step.Owner != owner {
			t.Errorf("it goes on at %s, and is due at %s with %q", until, run.Step.Due, run.Step.Owner)
		}
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s, 300 * s}, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	run.Relaunch(operation.ReasonAnswered, t0)
	if until := run.Caught(t0, 10*s, 5*time.Minute); until.Sub(t0) != 10*s {
		t.Errorf("a new generation begins with a wait of %s", until.Sub(t0))
	}
}
