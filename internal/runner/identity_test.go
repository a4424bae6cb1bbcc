package runner_test

import (
	"strings"
	"testing"

	"holdfast/internal/app/apptest"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// A deploy between two events that mean the same does not make two operations of it: no version is in an id.
func TestR10_ADeployRenamesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.planned(goodBody)
	b.deploy(strings.Replace(flowFile, "version: 1", "version: 2", 1))
	second := b.planned(goodBody)
	if b.run(second.ID).Version != 2 {
		t.Fatal("the second run is not of version 2")
	}
	for _, stage := range []string{"first", "second"} {
		if a, c := b.stage(first.ID, stage).ID, b.stage(second.ID, stage).ID; a != c {
			t.Errorf("%s is %s, and %s after the deploy", stage, a, c)
		}
	}
}

// An event is planned when every flow that it matched has its run; a crash may have left one out.
func TestR09_AnEventWaitsForAllItsRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	now := b.Now()
	run := operation.Run{ID: "run_made", Flow: "two", Event: "ev_two_flows", Source: "s", Owner: owner, Created: now, Generation: 1}
	run.Launch(now)
	digest := ledger.DigestOf([]byte(goodBody))
	ev := operation.Event{
		ID: run.Event, Source: "s", Account: "acc", Topic: "note", BodyDigest: digest, Payload: digest, Received: now, Owner: owner,
		Deliveries: []operation.Delivery{{ID: "d", At: now, BodyDigest: digest}}, Flows: []string{"two", "other"}, Runs: []operation.RunID{run.ID, "run_left_out"},
	}
	ev.Await(now)
	_, err := b.Ledger.RecordEvent(t.Context(), ev, []byte(goodBody))
	apptest.Must(t, err)
	_, err = b.Ledger.CreateRun(t.Context(), run)
	apptest.Must(t, err)
	b.plan(run.ID)
	got, err := b.Ledger.Event(t.Context(), ev.ID)
	apptest.Must(t, err)
	if got.Status != operation.EventReceived || got.Step.Due == 0 {
		t.Errorf("the event is %s, next step %+v; want it due until its other run is made", got.Status, got.Step)
	}
}
