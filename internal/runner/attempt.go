package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

func won(v ledger.Verdict) bool { return v == ledger.Written }

// attempt makes one attempt on the operation of the move's stage: fill, claim, send, record. Losing the claim is no
// error: the operation is read again and the run decides anew.
func (r *Runner) attempt(ctx context.Context, v *view, m operation.RunMove) error {
	op := v.ops[v.run.Stages[m.Stage].Operation]
	profile, ok := r.Profiles(op.Target)
	if !ok {
		return r.unfit(ctx, v, op, operation.ReasonProfileMissing)
	}
	request, filled, why, err := r.fill(ctx, v, op)
	if err != nil {
		return err
	}
	if why != "" {
		return r.unfit(ctx, v, op, why)
	}
	claimed, id, err := r.claim(ctx, v, op, filled, m.Action == operation.ActionReplay)
	if err != nil || id == "" {
		return err
	}
	return r.send(ctx, v, claimed, id, profile, request)
}

// unfit stops automatic work on an operation whose stored parts may not be sent. An attempt whose lease has run out
// unnoticed ends first: nothing can be said about an operation in flight.
func (r *Runner) unfit(ctx context.Context, v *view, op *operation.Operation, why operation.Reason) error {
	r.Log.Warn("not sent", "operation", op.ID, "reason", why)
	if op.Status == operation.StatusInFlight {
		if _, err := r.apply(ctx, v, op, operation.LeaseOver{At: r.now()}); err != nil {
			return err
		}
	}
	_, err := r.apply(ctx, v, v.ops[op.ID], operation.Unfit{At: r.now(), Reason: why})
	return err
}

// fill makes the bytes of the attempt from the approved content, and keeps them before the claim that names them. Bytes
// that were filled before under this key are read back, hashed, and compared with what the approved content gives:
// only all three together may be sent (R5).
func (r *Runner) fill(ctx context.Context, v *view, op *operation.Operation) (target.Request, operation.Filled, operation.Reason, error) {
	approved, why, err := r.approved(ctx, op)
	if err != nil || why != "" {
		return approved, operation.Filled{}, why, err
	}
	request, err := target.Fill(approved, target.Key(op.ID, op.Generation), references(v))
	if err != nil {
		return request, operation.Filled{}, operation.ReasonReferenceMissing, nil
	}
	encoded := request.Encode()
	f := operation.Filled{Version: op.Content.Version, Generation: op.Generation, Digest: ledger.DigestOf(encoded)}
	if op.Filled == nil || op.Filled.Version != f.Version || op.Filled.Generation != f.Generation {
		return request, f, "", r.Store.PutFilled(ctx, op.ID, f, encoded)
	}
	stored, err := r.Store.Filled(ctx, op.ID, *op.Filled)
	if notTheBytes(err) {
		return request, f, operation.ReasonDigestMismatch, nil
	}
	if err == nil && (f != *op.Filled || !bytes.Equal(stored, encoded)) {
		return request, f, operation.ReasonDigestMismatch, nil
	}
	return request, f, "", err
}

// approved reads the content, which is hashed on reading, and compares it with what the approval names.
func (r *Runner) approved(ctx context.Context, op *operation.Operation) (target.Request, operation.Reason, error) {
	if op.Approval == nil || op.Approval.Digest != op.Content.Digest {
		return target.Request{}, operation.ReasonDigestMismatch, nil
	}
	return r.contentOf(ctx, op)
}

func (r *Runner) contentOf(ctx context.Context, op *operation.Operation) (target.Request, operation.Reason, error) {
	raw, err := r.Store.Content(ctx, op.ID, op.Content)
	switch {
	case notTheBytes(err), err == nil && ledger.DigestOf(raw) != op.Content.Digest:
		return target.Request{}, operation.ReasonDigestMismatch, nil
	case err != nil:
		return target.Request{}, "", err
	}
	request, err := target.Decode(raw)
	if err != nil {
		return target.Request{}, operation.ReasonDigestMismatch, nil
	}
	return request, "", nil
}

// notTheBytes says that the stored bytes are not, or no longer, what the operation names.
func notTheBytes(err error) bool {
	return errors.Is(err, ledger.ErrDigest) || errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrExpired)
}

// references are the saved results of the run's confirmed stages.
func references(v *view) map[string]operation.Reference {
	refs := map[string]operation.Reference{}
	for _, s := range v.run.Stages {
		if op := v.ops[s.Operation]; op != nil && op.Status == operation.StatusConfirmed {
			refs[s.Name] = op.Reference
		}
	}
	return refs
}

// claim writes the attempt before anything is sent. An empty id says that the claim was not won.
func (r *Runner) claim(ctx context.Context, v *view, op *operation.Operation, f operation.Filled, replay bool) (operation.Operation, operation.AttemptID, error) {
	p := r.PolicyOf(op)
	at := r.now() // before the claim request leaves: the lease counts from here
	id := r.NewAttempt()
	next, refused := operation.Apply(op, operation.Claim{
		Attempt: id, Run: v.run.ID, At: at, LeaseUntil: at.Add(p.Lease), Replay: replay, Filled: f,
	}, p)
	if refused != nil {
		return *op, "", r.reload(ctx, v, op.ID)
	}
	res, err := r.Store.Claim(ctx, *op, *next)
	if err != nil {
		return *op, "", fmt.Errorf("attempt %s sent nothing: %w", id, err)
	}
	v.ops[op.ID] = &res.Current
	if !won(res.Verdict) {
		return res.Current, "", nil
	}
	return res.Current, id, nil
}

// send puts the request on the wire and records what was seen. The context of the record is the invocation's, not the
// request's, so that a slow target leaves time to write down the doubt.
func (r *Runner) send(ctx context.Context, v *view, op operation.Operation, id operation.AttemptID, profile *target.Profile, request target.Request) error {
	p := r.PolicyOf(&op)
	attempt := op.Attempt(id)
	var window operation.Time
	if attempt.Replay {
		window = operation.WindowUntil(&op, p)
	}
	clocks := target.NewFence(r.Clock, attempt.LeaseUntil, window, p.Timeout, p.Skew)
	fence := func() error {
		if why := operation.Fence(&op, id, p, r.now()); why != "" {
			return fmt.Errorf("the claim no longer allows it: %s", why)
		}
		return clocks()
	}
	sent := r.Engine.Send(ctx, profile, request, fence)
	fact := reported(id, r.now(), sent)
	r.Log.Info("attempt", "operation", op.ID, "attempt", id, "outcome", fact.Outcome.String(), "status", sent.Status, "bytes", sent.BytesWritten)
	raw, err := json.Marshal(fact)
	if err != nil {
		return err
	}
	return r.record(ctx, v, op, id, raw)
}

// record writes down what an attempt saw, which nobody else may ever be able to say. It is safe to repeat.
func (r *Runner) record(ctx context.Context, v *view, op operation.Operation, id operation.AttemptID, fact []byte) error {
	var failed error
	for range recordTries {
		res, err := r.Store.RecordOutcome(ctx, op, id, fact)
		if err == nil {
			v.ops[op.ID] = &res.Current
			return nil
		}
		failed = err
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("attempt %s of %s: what it saw could not be recorded: %w", id, op.ID, failed)
}

func reported(id operation.AttemptID, at operation.Time, s target.Sent) operation.Reported {
	return operation.Reported{
		Attempt: id, At: at, Outcome: s.Outcome, Kind: s.Evidence, Reference: s.Reference,
		NoRepeat: s.NoRepeat, Permanent: s.Outcome == operation.OutcomeNotExecuted && !s.Retry,
		RetryAfter: s.RetryAfter, Detail: s.Detail,
	}
}

// Fold applies an outcome in its recorded encoding; the ledger uses it to fold what reached its inbox.
func Fold(policy func(*operation.Operation) operation.Policy) ledger.Fold {
	return func(op operation.Operation, attempt operation.AttemptID, fact []byte) (operation.Operation, error) {
		var f operation.Reported
		if err := json.Unmarshal(fact, &f); err != nil {
			return op, fmt.Errorf("outcome of %s does not read: %w", attempt, err)
		}
		next, refused := operation.Apply(&op, f, policy(&op))
		switch {
		case refused != nil && refused.Reason == operation.ReasonRecorded:
			return op, nil
		case refused != nil:
			return op, refused
		}
		return *next, nil
	}
}
