package sweep

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

const auditSegments = 4

// payloadKept is how long the bodies of an event stay after its runs have ended, for "why was this sent?" and for a
// deliberate second.
const payloadKept = ledger.ContentKeptDefault

// AuditReport counts what an audit found.
type AuditReport struct {
	Operations, Runs, Events int
	Unindexed                int // open, and missing from the due index: written again
	Shared                   int // operations that hold a reference which another one holds too
	Unreadable               int
	Failed                   int  // records that could not be looked after
	More                     bool // time was up before the whole ledger was read
}

var errTimeUp = errors.New("time is up")

// audit is one reading of the whole ledger.
type audit struct {
	*Sweep
	report  AuditReport
	holders map[string]operation.ID // the first operation with each reference
}

// Audit reads the whole ledger, slowly: it finds what the index lost, one reference on two operations (R12), and content
// whose expiry was not set when its operation settled. One record that cannot be looked after does not end it.
func (s *Sweep) Audit(ctx context.Context) (AuditReport, error) {
	a := &audit{Sweep: s, holders: map[string]operation.ID{}}
	err := s.Store.Audit(ctx, auditSegments, func(f ledger.Found) error {
		if s.timeUp(ctx) {
			return errTimeUp
		}
		if err := a.one(ctx, f); err != nil {
			a.report.Failed++
			s.Log.Error("not looked after", "key", f.Key, "error", err)
		}
		return nil
	})
	if errors.Is(err, errTimeUp) {
		a.report.More, err = true, nil
	}
	r := a.report
	s.Log.Info("audit", "operations", r.Operations, "runs", r.Runs, "events", r.Events, "unindexed", r.Unindexed, "shared", r.Shared,
		"unreadable", r.Unreadable, "failed", r.Failed, "more", r.More)
	return r, err
}

func (a *audit) one(ctx context.Context, f ledger.Found) error {
	switch {
	case f.Err != nil:
		a.report.Unreadable++
		a.Log.Error("unreadable record", "key", f.Key, "error", f.Err)
	case f.Operation != nil:
		a.report.Operations++
		return a.operation(ctx, *f.Operation, f.Indexed)
	case f.Run != nil:
		a.report.Runs++
		if a.lost(f.Run.Step, f.Indexed) {
			_, err := a.Store.UpdateRun(ctx, *f.Run, *f.Run)
			return err
		}
	case f.Event != nil:
		a.report.Events++
		if a.lost(f.Event.Step, f.Indexed) {
			_, err := a.Store.UpdateEvent(ctx, *f.Event, *f.Event)
			return err
		}
		return a.payload(ctx, *f.Event)
	}
	return nil
}

// payload sets the expiry of an event's bodies once no run needs them any more, and notes on the event that it did.
func (a *audit) payload(ctx context.Context, ev operation.Event) error {
	if ev.Step.Action != operation.ActionDone || ev.PayloadExpires != 0 {
		return nil
	}
	for _, id := range ev.Runs {
		run, err := a.Store.Run(ctx, id)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil || !run.Ended() {
			return err
		}
	}
	if err := a.Store.ExpirePayloads(ctx, ev.ID, payloadKept); err != nil {
		return err
	}
	next := ev
	next.PayloadExpires = a.now().Add(payloadKept)
	_, err := a.Store.UpdateEvent(ctx, ev, next)
	return err
}

// lost says that something with a next step is missing from the due index; writing it again puts it there.
func (a *audit) lost(step operation.Step, indexed bool) bool {
	if indexed || step.Action == operation.ActionDone {
		return false
	}
	a.report.Unindexed++
	return true
}

func (a *audit) operation(ctx context.Context, op operation.Operation, indexed bool) error {
	if a.lost(op.Step, indexed) {
		if _, err := a.Store.Update(ctx, op, *operation.Postpone(&op, a.Policy(&op), a.now())); err != nil {
			return err
		}
	}
	if op.Status.Settled() && op.Step.Action == operation.ActionDone {
		if err := a.Store.Expire(ctx, op); err != nil {
			return err
		}
	}
	if op.Reference == "" {
		return nil
	}
	key := op.Target + "\x00" + string(op.Reference)
	first, taken := a.holders[key]
	if !taken || first == op.ID {
		a.holders[key] = op.ID
		return nil
	}
	a.report.Shared++
	return errors.Join(a.mark(ctx, op.ID, first, op.Reference), a.mark(ctx, first, op.ID, op.Reference))
}

// mark says on one operation that another one holds its reference too.
func (a *audit) mark(ctx context.Context, id, other operation.ID, ref operation.Reference) error {
	for range markRaces {
		op, err := a.Store.Operation(ctx, id)
		if err != nil {
			return err
		}
		next, refused := operation.Apply(&op, operation.Shared{At: a.now(), Other: other, Reference: ref}, a.Policy(&op))
		if refused != nil {
			return nil // marked by an earlier audit
		}
		res, err := a.Store.Update(ctx, op, *next)
		if err != nil || res.Verdict == ledger.Written {
			return err
		}
	}
	return fmt.Errorf("mark %s: others write it all the time; the next audit does it", id)
}
