package sweep

import (
	"context"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

const auditSegments = 4

// AuditReport counts what an audit found.
type AuditReport struct {
	Operations, Runs, Events int
	Unindexed                int // open, and missing from the due index: written again
	Shared                   int // operations that hold a reference which another one holds too
	Unreadable               int
}

// Audit reads the whole ledger, slowly: it finds what the index lost, and one reference on two operations (R12).
func (s *Sweep) Audit(ctx context.Context) (AuditReport, error) {
	var r AuditReport
	holders := map[string]operation.ID{}
	err := s.Store.Audit(ctx, auditSegments, func(f ledger.Found) error {
		switch {
		case f.Err != nil:
			r.Unreadable++
			s.Log.Error("unreadable record", "key", f.Key, "error", f.Err)
		case f.Operation != nil:
			r.Operations++
			return s.auditOperation(ctx, f, holders, &r)
		case f.Run != nil:
			r.Runs++
			return s.auditRun(ctx, f, &r)
		case f.Event != nil:
			r.Events++
			return s.auditEvent(ctx, f, &r)
		}
		return nil
	})
	return r, err
}

func (s *Sweep) auditOperation(ctx context.Context, f ledger.Found, holders map[string]operation.ID, r *AuditReport) error {
	op := f.Operation
	if op.Step.Action != operation.ActionDone && !f.Indexed {
		r.Unindexed++
		if _, err := s.Store.Update(ctx, *op, *operation.Postpone(op, s.Policy(op), s.now())); err != nil {
			return err
		}
	}
	if op.Reference == "" {
		return nil
	}
	key := op.Target + "\x00" + string(op.Reference)
	first, taken := holders[key]
	if !taken || first == op.ID {
		holders[key] = op.ID
		return nil
	}
	r.Shared++
	return s.shared(ctx, op.ID, first, op.Reference)
}

// shared marks both operations that hold one reference.
func (s *Sweep) shared(ctx context.Context, a, b operation.ID, ref operation.Reference) error {
	for _, pair := range [][2]operation.ID{{a, b}, {b, a}} {
		op, err := s.Store.Operation(ctx, pair[0])
		if err != nil {
			return err
		}
		next, refused := operation.Apply(&op, operation.Shared{At: s.now(), Other: pair[1], Reference: ref}, s.Policy(&op))
		if refused != nil {
			continue // marked by an earlier audit
		}
		if _, err := s.Store.Update(ctx, op, *next); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sweep) auditRun(ctx context.Context, f ledger.Found, r *AuditReport) error {
	if f.Indexed || f.Run.Step.Action == operation.ActionDone {
		return nil
	}
	r.Unindexed++
	_, err := s.Store.UpdateRun(ctx, *f.Run, *f.Run)
	return err
}

func (s *Sweep) auditEvent(ctx context.Context, f ledger.Found, r *AuditReport) error {
	if f.Indexed || f.Event.Step.Action == operation.ActionDone {
		return nil
	}
	r.Unindexed++
	_, err := s.Store.UpdateEvent(ctx, *f.Event, *f.Event)
	return err
}
