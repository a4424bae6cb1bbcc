package sweep_test

import (
	"testing"
	"time"

	"holdfast/internal/app/apptest"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// The bodies of an event hold personal data: they go some time after its last run has ended, and never before.
func TestR04_AuditLetsPayloadsGoAfterTheRuns(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	ev := y.event(func(ev *operation.Event) { ev.Close(operation.EventPlanned, ev.Received) })
	run := y.run(func(r *operation.Run) { r.ID, r.Event = ev.Runs[0], ev.ID })

	y.audit()
	if got := y.stored(ev.ID); got.PayloadExpires != 0 {
		t.Fatalf("the bodies expire at %s while a run is still open", got.PayloadExpires)
	}

	ended := run
	ended.Finish(operation.RunDone, operation.ReasonConfirmed, y.now())
	_, err := y.Ledger.UpdateRun(t.Context(), run, ended)
	apptest.Must(t, err)
	y.audit()
	y.audit()
	got := y.stored(ev.ID)
	if want := y.now().Add(ledger.ContentKeptDefault); got.PayloadExpires == 0 || got.PayloadExpires > want {
		t.Fatalf("the bodies expire at %q, want by %s", got.PayloadExpires, want)
	}
	if _, err := y.Ledger.Payload(t.Context(), ev.ID, ev.Payload); err != nil {
		t.Fatalf("the body is gone too early: %v", err)
	}
	y.Parts.Clock.Move(ledger.ContentKeptDefault + time.Hour)
	if _, err := y.Ledger.Payload(t.Context(), ev.ID, ev.Payload); err == nil {
		t.Fatal("the body can still be read after its expiry")
	}
}

func (y *yard) audit() {
	y.t.Helper()
	_, err := y.Audit(y.t.Context())
	apptest.Must(y.t, err)
}

func (y *yard) stored(id operation.EventID) operation.Event {
	y.t.Helper()
	ev, err := y.Ledger.Event(y.t.Context(), id)
	apptest.Must(y.t, err)
	return ev
}
