package ledger

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/operation"
)

// noun is how one kind of record is stored.
type noun[T any] struct {
	kind   string
	key    func(*T) key
	rev    func(*T) *int64
	index  func(*T, *record)                     // fills what conditions and the index need
	refuse func(seen, next *T) error             // what must not be written; seen is nil for a new one
	fold   func(T, map[string][]byte) (T, error) // nil where the record has no inbox
	wrong  func(*T, *record) error               // attributes that contradict the document
	own    func(*T)                              // gives it lists that it shares with nobody
}

// recordFor is the record that writes v as the given revision.
func recordFor[T any](l *Ledger, n noun[T], v T, rev int64) (record, error) {
	id := l.WriteID()
	if id == "" || len(id) > WriteIDBytesMax {
		return record{}, fmt.Errorf("%w: write id of %d bytes", ErrRefused, len(id))
	}
	if l.EpochNow() == 0 {
		return record{}, ErrUnchecked
	}
	*n.rev(&v) = rev
	doc, err := encode(v)
	if err != nil {
		return record{}, err
	}
	r := record{key: n.key(&v), kind: n.kind, doc: doc, rev: rev, epoch: l.EpochNow()}
	r.writeIDs[rev%writeIDsKept] = id
	n.index(&v, &r)
	return r, nil
}

// valueOf reads a record back into its noun, with the inbox folded in.
func valueOf[T any](n noun[T], r record) (T, error) {
	var v T
	if r.kind != n.kind {
		return v, fmt.Errorf("%w: %s is of kind %q, not %q", ErrCorrupt, r.key, r.kind, n.kind)
	}
	if err := decode(r.doc, &v); err != nil {
		return v, fmt.Errorf("%s: %w", r.key, err)
	}
	if *n.rev(&v) > r.rev || n.key(&v) != r.key {
		return v, fmt.Errorf("%w: %s: its document is of another record or revision", ErrCorrupt, r.key)
	}
	if n.wrong != nil {
		if err := n.wrong(&v, &r); err != nil {
			return v, err
		}
	}
	if len(r.inbox) > 0 && n.fold != nil {
		folded, err := n.fold(v, r.inbox)
		if err != nil {
			return v, fmt.Errorf("fold the inbox of %s: %w", r.key, err)
		}
		v = folded
	}
	*n.rev(&v) = r.rev
	return v, nil
}

// load reads one record consistently.
func load[T any](ctx context.Context, l *Ledger, n noun[T], k key) (T, record, error) {
	var none T
	it, err := l.get(ctx, k)
	if err != nil {
		return none, record{}, err
	}
	if it == nil {
		return none, record{}, fmt.Errorf("%s: %w", k, ErrNotFound)
	}
	return readItem(n, it)
}

func readItem[T any](n noun[T], it item) (T, record, error) {
	r, err := recordOf(it)
	if err != nil {
		var none T
		return none, r, err
	}
	v, err := valueOf(n, r)
	return v, r, err
}

// create writes a new record; the first of several creators wins and the others get its record.
func create[T any](ctx context.Context, l *Ledger, n noun[T], v T) (Result[T], error) {
	r, err := newRecord(l, n, v)
	if err != nil {
		return Result[T]{}, err
	}
	return settle(ctx, l, n, r, v, Created, Exists, l.put(ctx, r.item(), absent, nil, nil))
}

// newRecord is the record that v begins with.
func newRecord[T any](l *Ledger, n noun[T], v T) (record, error) {
	if err := n.refuse(nil, &v); err != nil {
		return record{}, err
	}
	return recordFor(l, n, v, 1)
}

// replace writes next over seen under a condition on seen's revision.
func replace[T any](ctx context.Context, l *Ledger, n noun[T], seen, next T, condition string) (Result[T], error) {
	if err := n.refuse(&seen, &next); err != nil {
		return Result[T]{}, err
	}
	r, err := nextRecord(l, n, seen, next)
	if err != nil {
		return Result[T]{}, err
	}
	expression, names, values := r.update()
	pin(condition, *n.rev(&seen), values)
	return settle(ctx, l, n, r, next, Written, Lost, l.change(ctx, r.key, expression, condition, names, values))
}

func nextRecord[T any](l *Ledger, n noun[T], seen, next T) (record, error) {
	r, err := recordFor(l, n, next, *n.rev(&seen)+1)
	if err == nil && n.key(&seen) != r.key {
		err = fmt.Errorf("%w: %s cannot become %s", ErrRefused, n.key(&seen), r.key)
	}
	return r, err
}

// pin adds the values that a condition on the revision names; epoch is among those that the write sets.
func pin(condition string, seen int64, values item) {
	values[":seen"] = num(seen)
	switch condition {
	case notFinal:
		values[":confirmed"] = str(operation.StatusConfirmed.String())
	case claim:
		for _, s := range []operation.Status{operation.StatusConfirmed, operation.StatusFailed, operation.StatusDeclined, operation.StatusAbandoned} {
			values[":"+s.String()] = str(s.String())
		}
	}
}

// settle turns the end of a write into a verdict; wrote is the value whose document r is. A refused or unclear write is
// ours when the record that stands carries its write id; it is lost for good when the record has moved to the revision we
// wanted without it.
func settle[T any](ctx context.Context, l *Ledger, n noun[T], r record, wrote T, won, lost Verdict, err error) (Result[T], error) {
	if err == nil {
		*n.rev(&wrote) = r.rev
		n.own(&wrote)
		return Result[T]{won, wrote}, nil
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return compare(n, r, won, lost, refused.item)
	}
	if errors.Is(err, ErrRefused) {
		return Result[T]{}, err
	}
	return readBack(ctx, l, n, r, won, lost, err)
}

// compare decides between won and lost by the record that stands.
func compare[T any](n noun[T], r record, won, lost Verdict, it item) (Result[T], error) {
	if it == nil {
		return Result[T]{}, fmt.Errorf("%s: %w", r.key, ErrNotFound)
	}
	v, there, err := readItem(n, it)
	if err != nil {
		return Result[T]{}, err
	}
	if there.wrote(r.writeID()) {
		return Result[T]{won, v}, nil
	}
	return Result[T]{lost, v}, nil
}

// readBack looks once at the record after a write whose answer never came. It has a little time of its own: the
// caller's may be spent, and doubt should be cleared where a read can do it.
func readBack[T any](ctx context.Context, l *Ledger, n noun[T], r record, won, lost Verdict, cause error) (Result[T], error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTimeout)
	defer cancel()
	it, err := l.get(ctx, r.key)
	if err != nil || it == nil {
		return Result[T]{}, cause
	}
	v, there, err := readItem(n, it)
	if err != nil {
		return Result[T]{}, err
	}
	if there.wrote(r.writeID()) {
		return Result[T]{won, v}, nil
	}
	if there.rev >= r.rev {
		return Result[T]{lost, v}, nil
	}
	return Result[T]{}, cause
}
