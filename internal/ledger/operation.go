package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/operation"
)

func (l *Ledger) operations() noun[operation.Operation] {
	return noun[operation.Operation]{
		kind:  "operation",
		key:   func(op *operation.Operation) key { return operationKey(op.ID) },
		rev:   func(op *operation.Operation) *int64 { return &op.Rev },
		index: indexOperation,
		own: func(op *operation.Operation) {
			op.Attempts, op.Evidence = slices.Clone(op.Attempts), slices.Clone(op.Evidence)
			op.Answered, op.Runs, op.Escalate = slices.Clone(op.Answered), slices.Clone(op.Runs), slices.Clone(op.Escalate)
		},
		refuse: refuseOperation,
		fold:   l.foldInbox,
		wrong: func(op *operation.Operation, r *record) error {
			return sameStatus(r, op.Status.String())
		},
	}
}

func indexOperation(op *operation.Operation, r *record) {
	r.status, r.owner, r.flow = op.Status.String(), string(op.Owner), op.Flow
	if op.Question != nil {
		r.question = string(op.Question.ID)
	}
	r.due = dueOf(op.Step)
}

// dueOf keeps everything that has a next step in the due index; without a time of its own it stands at the end of it.
func dueOf(s operation.Step) operation.Time {
	switch {
	case s.Action == operation.ActionDone:
		return 0
	case s.Due == 0:
		return operation.TimeMax
	}
	return s.Due
}

// refuseOperation holds what no caller may write, whatever it computed.
func refuseOperation(seen, next *operation.Operation) error {
	switch {
	case next.ID == "" || next.Owner == "":
		return fmt.Errorf("%w: operation %q has no id or no owner (R7)", ErrRefused, next.ID)
	case next.Step.Action != operation.ActionDone && next.Step.Owner == "":
		return fmt.Errorf("%w: operation %s has a next step and nobody who waits for it (R7)", ErrRefused, next.ID)
	case len(next.Attempts) > operation.AttemptsMost || len(next.Evidence) > operation.EvidenceMost ||
		len(next.Runs) > operation.RunsBound || len(next.Answered) > operation.AnsweredMost:
		return fmt.Errorf("%w: the story of operation %s is full", ErrTooLarge, next.ID)
	case len(next.Evidence) == 0:
		return fmt.Errorf("%w: operation %s cites no evidence (R6)", ErrRefused, next.ID)
	case seen != nil && seen.Status != next.Status && slices.Equal(seen.Evidence, next.Evidence):
		return fmt.Errorf("%w: operation %s would go from %s to %s without evidence (R6)", ErrRefused, next.ID, seen.Status, next.Status)
	case seen != nil && seen.Status == operation.StatusConfirmed && next.Status != operation.StatusConfirmed:
		return fmt.Errorf("%w: operation %s is confirmed, which is final (R8)", ErrRefused, next.ID)
	}
	return nil
}

// CreateOperation writes a new operation after its content: Created, or Exists with the operation that was there,
// which may have other content. It is safe to repeat.
func (l *Ledger) CreateOperation(ctx context.Context, op operation.Operation, content []byte) (Result[operation.Operation], error) {
	if err := l.PutContent(ctx, op.ID, op.Content, content); err != nil {
		return Result[operation.Operation]{}, err
	}
	res, err := create(ctx, l, l.operations(), op)
	if err != nil {
		return res, fmt.Errorf("create %s: %w", op.ID, err)
	}
	if res.Verdict == Exists && res.Current.Content.Digest != op.Content.Digest {
		l.orphan(ctx, op.ID, op.Content)
	}
	return res, nil
}

// Operation reads an operation consistently, with its inbox folded in; ErrNotFound when there is none.
func (l *Ledger) Operation(ctx context.Context, id operation.ID) (operation.Operation, error) {
	op, _, err := load(ctx, l, l.operations(), operationKey(id))
	return op, err
}

// Update writes next over seen: Written, or Lost with the operation as another writer left it. On an error the
// write may stand (ErrUnclear, ErrThrottled): read again before acting, and never send on it.
func (l *Ledger) Update(ctx context.Context, seen, next operation.Operation) (Result[operation.Operation], error) {
	if err := l.recheck(ctx); err != nil {
		return Result[operation.Operation]{}, fmt.Errorf("update %s: %w", seen.ID, err)
	}
	return l.update(ctx, seen, next)
}

// update is Update without another look at the table.
func (l *Ledger) update(ctx context.Context, seen, next operation.Operation) (Result[operation.Operation], error) {
	if err := l.reopen(ctx, &seen, &next); err != nil {
		return Result[operation.Operation]{}, err
	}
	res, err := replace(ctx, l, l.operations(), seen, next, conditionFor(&next))
	if err != nil {
		return res, fmt.Errorf("update %s: %w", seen.ID, err)
	}
	l.settled(ctx, &seen, res)
	return res, nil
}

func conditionFor(next *operation.Operation) string {
	if next.Status == operation.StatusConfirmed {
		return revision
	}
	return notFinal
}

// Claim writes the attempt that next adds at its end: Written gives the exclusive right to make it, and nothing
// else does. Lost, and every error, means: send nothing.
func (l *Ledger) Claim(ctx context.Context, seen, next operation.Operation) (Result[operation.Operation], error) {
	if err := refuseClaim(&seen, &next, l.now()); err != nil {
		return Result[operation.Operation]{}, fmt.Errorf("claim %s: %w", seen.ID, err)
	}
	if err := l.recheck(ctx); err != nil {
		return Result[operation.Operation]{}, fmt.Errorf("claim %s: %w", seen.ID, err)
	}
	res, err := replace(ctx, l, l.operations(), seen, next, claim)
	if err != nil {
		return res, fmt.Errorf("claim %s: %w", seen.ID, err)
	}
	return res, nil
}

var errNoClaim = errors.New("a claim adds exactly one attempt with a lease that has not ended")

func refuseClaim(seen, next *operation.Operation, now operation.Time) error {
	if len(next.Attempts) != len(seen.Attempts)+1 || next.Status != operation.StatusInFlight {
		return fmt.Errorf("%w: %w", ErrRefused, errNoClaim)
	}
	a := next.Attempts[len(next.Attempts)-1]
	if a.ID == "" || a.Recorded != 0 || a.Claimed == 0 || a.LeaseUntil <= now {
		return fmt.Errorf("%w: %w", ErrRefused, errNoClaim)
	}
	for i := range seen.Attempts {
		b := &seen.Attempts[i]
		if b.ID == a.ID {
			return fmt.Errorf("%w: attempt %s is already in the story", ErrRefused, a.ID)
		}
		if b.Recorded == 0 && b.Open() && now <= b.LeaseUntil {
			return fmt.Errorf("%w: attempt %s holds the claim until %s", ErrRefused, b.ID, b.LeaseUntil)
		}
	}
	return nil
}
