package runner_test

import (
	"testing"
	"time"

	"holdfast/internal/execution"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// "Nothing found" speaks about the instant before the lookup left: a slow one says nothing about what came while it was
// under way.
func TestR04_ALookupIsDatedBeforeItLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.doubtful()
	var left operation.Time
	b.engine.onLook = func(int) target.Looked {
		left = b.Now()
		b.Parts.Clock.Move(time.Minute)
		return target.Looked{Result: target.LookAbsent, Complete: true}
	}
	b.reconcile(run.ID, execution.NextLook)
	if at := b.stage(run.ID, "first").Look.At; at == 0 || at > left {
		t.Errorf("the lookup is dated %s; it left at %s", at, left)
	}
}
