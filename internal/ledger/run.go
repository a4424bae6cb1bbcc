package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/operation"
)

func runs() noun[operation.Run] {
	return noun[operation.Run]{
		kind: "run",
		key:  func(r *operation.Run) key { return runKey(r.ID) },
		rev:  func(r *operation.Run) *int64 { return &r.Rev },
		index: func(run *operation.Run, r *record) {
			r.status, r.owner, r.flow, r.due = run.Status.String(), string(run.Owner), run.Flow, dueOf(run.Step)
			if run.Question != nil {
				r.question = string(run.Question.ID)
			}
		},
		own: func(r *operation.Run) {
			r.Missing, r.Stages = slices.Clone(r.Missing), slices.Clone(r.Stages)
			r.Answered, r.Evidence = slices.Clone(r.Answered), slices.Clone(r.Evidence)
		},
		refuse: refuseRun,
		wrong: func(run *operation.Run, r *record) error {
			return sameStatus(r, run.Status.String())
		},
	}
}

func sameStatus(r *record, want string) error {
	if r.status != want {
		return fmt.Errorf("%w: %s has status %s and its document %s", ErrCorrupt, r.key, r.status, want)
	}
	return nil
}

func refuseRun(seen, next *operation.Run) error {
	switch {
	case next.ID == "" || next.Owner == "":
		return fmt.Errorf("%w: run %q has no id or no owner (R7)", ErrRefused, next.ID)
	case next.Step.Action != operation.ActionDone && next.Step.Owner == "":
		return fmt.Errorf("%w: run %s has a next step and nobody who waits for it (R7)", ErrRefused, next.ID)
	case len(next.Evidence) > operation.EvidenceBound || len(next.Answered) > operation.AnsweredBound:
		return fmt.Errorf("%w: the story of run %s is full", ErrTooLarge, next.ID)
	}
	return nil
}

// CreateRun writes a new run: Created, or Exists with the run that was there.
func (l *Ledger) CreateRun(ctx context.Context, run operation.Run) (Result[operation.Run], error) {
	res, err := create(ctx, l, runs(), run)
	return res, wrap("create", string(run.ID), err)
}

// Run reads a run consistently; ErrNotFound when there is none. Its Token is not read: see Token.
func (l *Ledger) Run(ctx context.Context, id operation.RunID) (operation.Run, error) {
	run, _, err := load(ctx, l, runs(), runKey(id))
	return run, err
}

// UpdateRun writes next over seen: Written, or Lost with the run as another writer left it.
func (l *Ledger) UpdateRun(ctx context.Context, seen, next operation.Run) (Result[operation.Run], error) {
	if err := l.recheck(ctx); err != nil {
		return Result[operation.Run]{}, wrap("update", string(seen.ID), err)
	}
	res, err := replace(ctx, l, runs(), seen, next, revision)
	return res, wrap("update", string(seen.ID), err)
}

func wrap(call, id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", call, id, err)
}

// PutPlan keeps a run's compiled plan. The first one wins: Created, or Exists, with the plan that stands. Every later
// step works from that one.
func (l *Ledger) PutPlan(ctx context.Context, id operation.RunID, plan []byte) (Result[[]byte], error) {
	if len(plan) > ContentBytesMax {
		return Result[[]byte]{}, fmt.Errorf("plan of %s: %w: %d bytes of at most %d", id, ErrTooLarge, len(plan), ContentBytesMax)
	}
	if l.EpochNow() == 0 {
		return Result[[]byte]{}, ErrUnchecked
	}
	k := planKey(id)
	it, writeID := k.attributes(), l.WriteID()
	it["v"], it["bytes"], it["digest"], it["write_id"] = num(schemaVersion), blob(plan), str(string(DigestOf(plan))), str(writeID)
	err := l.put(ctx, it, absent, nil, nil)
	if err == nil {
		return Result[[]byte]{Created, plan}, nil
	}
	var refused *refusal
	if !errors.As(err, &refused) {
		return Result[[]byte]{}, err
	}
	stands, err := bytesChecked(refused.item, k)
	if textOf(refused.item, "write_id") == writeID {
		return Result[[]byte]{Created, stands}, err
	}
	return Result[[]byte]{Exists, stands}, err
}

// Plan reads a run's compiled plan; ErrNotFound before the first planning.
func (l *Ledger) Plan(ctx context.Context, id operation.RunID) ([]byte, error) {
	it, err := l.get(ctx, planKey(id))
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, fmt.Errorf("plan of %s: %w", id, ErrNotFound)
	}
	return bytesChecked(it, planKey(id))
}

func bytesChecked(it item, k key) ([]byte, error) {
	b := bytesOf(it, "bytes")
	if string(DigestOf(b)) != textOf(it, "digest") {
		return nil, fmt.Errorf("%s: %w", k, ErrDigest)
	}
	return b, nil
}

// PutToken keeps the task token of a run's execution; a later token of the same generation replaces it.
func (l *Ledger) PutToken(ctx context.Context, id operation.RunID, generation int, token string) error {
	if l.EpochNow() == 0 {
		return ErrUnchecked
	}
	it := tokenKey(id, generation).attributes()
	it["v"], it["token"], it["kept_at"] = num(schemaVersion), str(token), str(l.now().String())
	return l.put(ctx, it, always, nil, nil)
}

// Token reads the latest task token of a run's execution; ErrNotFound when there is none. It is a secret: it goes
// to the state machine and nowhere else.
func (l *Ledger) Token(ctx context.Context, id operation.RunID, generation int) (string, error) {
	it, err := l.get(ctx, tokenKey(id, generation))
	if err != nil {
		return "", err
	}
	if it == nil {
		return "", fmt.Errorf("token of %s: %w", id, ErrNotFound)
	}
	return textOf(it, "token"), nil
}
