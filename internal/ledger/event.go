package ledger

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/operation"
)

func events() noun[operation.Event] {
	return noun[operation.Event]{
		kind: "event",
		key:  func(e *operation.Event) key { return eventKey(e.ID) },
		rev:  func(e *operation.Event) *int64 { return &e.Rev },
		index: func(e *operation.Event, r *record) {
			r.status, r.owner, r.due = e.Status.String(), string(e.Owner), dueOf(e.Step)
		},
		own: func(e *operation.Event) {
			e.Deliveries, e.Flows, e.Runs = slices.Clone(e.Deliveries), slices.Clone(e.Flows), slices.Clone(e.Runs)
			e.Missing, e.Evidence = slices.Clone(e.Missing), slices.Clone(e.Evidence)
		},
		refuse: refuseEvent,
		wrong: func(e *operation.Event, r *record) error {
			return sameStatus(r, e.Status.String())
		},
	}
}

func refuseEvent(_, next *operation.Event) error {
	switch {
	case next.ID == "" || next.Owner == "" || len(next.Deliveries) == 0:
		return fmt.Errorf("%w: event %q has no id, no owner or no delivery (R7)", ErrRefused, next.ID)
	case next.Step.Action != operation.ActionDone && next.Step.Owner == "":
		return fmt.Errorf("%w: event %s has a next step and nobody who waits for it (R7)", ErrRefused, next.ID)
	case len(next.Evidence) > operation.EvidenceBound || len(next.Deliveries) > DeliveriesBound:
		return fmt.Errorf("%w: the story of event %s is full", ErrTooLarge, next.ID)
	}
	return nil
}

// RecordEvent keeps the payload (none when it is nil), then the event with its one delivery. Recorded: new and durable. Duplicate, Conflict
// and Variant: the event of an earlier delivery stands, Current is it, and this delivery is folded into its list.
// A sender may be answered with 2xx after any of them (R9).
func (l *Ledger) RecordEvent(ctx context.Context, ev operation.Event, payload []byte) (Result[operation.Event], error) {
	if err := l.recheck(ctx); err != nil {
		return Result[operation.Event]{}, err
	}
	if payload != nil {
		if err := l.PutPayload(ctx, ev.ID, ev.Payload, payload); err != nil {
			return Result[operation.Event]{}, err
		}
	}
	res, err := create(ctx, l, events(), ev)
	if err != nil || res.Verdict == Created {
		if err == nil {
			res.Verdict = Recorded
		}
		return res, wrap("record", string(ev.ID), err)
	}
	verdict := classify(&res.Current, &ev)
	current, err := l.foldDelivery(ctx, res.Current, ev.Deliveries[0], verdict)
	return Result[operation.Event]{verdict, current}, wrap("record", string(ev.ID), err)
}

// classify compares a delivery with the event that stands. The canonical body decides where both have one: spelling
// is no difference.
func classify(stands, came *operation.Event) Verdict {
	if came.BodyDigest == stands.BodyDigest || (came.Canonical != "" && came.Canonical == stands.Canonical) {
		return Duplicate
	}
	d := came.Deliveries[0]
	verdict := Variant
	for _, before := range stands.Deliveries {
		switch {
		case before.BodyDigest == d.BodyDigest && before.ID == d.ID:
			return classified(before)
		case before.ID != "" && before.ID == d.ID:
			verdict = Conflict
		}
	}
	return verdict
}

// classified is what an equal delivery was found to be the first time.
func classified(before operation.Delivery) Verdict {
	if before.Variant {
		return Variant
	}
	return Conflict
}

// foldDelivery adds a delivery to the event's list, again from what others left. Where that does not end, the event
// stands without it: a count is no reason to have the sender come again.
func (l *Ledger) foldDelivery(ctx context.Context, stands operation.Event, d operation.Delivery, v Verdict) (operation.Event, error) {
	d.Variant = v == Variant
	for try := range deliveryTriesMax {
		next := stands
		next.Deliveries = withDelivery(stands.Deliveries, d)
		res, err := replace(ctx, l, events(), stands, next, revision)
		if err != nil || res.Verdict == Written {
			return res.Current, err
		}
		stands = res.Current
		if err := l.pause(ctx, try+1); err != nil {
			return stands, fmt.Errorf("%w: %w", ErrThrottled, err)
		}
	}
	return stands, nil
}

// withDelivery folds equal deliveries; beyond the bound, all others are counted on the last one.
func withDelivery(list []operation.Delivery, d operation.Delivery) []operation.Delivery {
	out := slices.Clone(list)
	same := func(b operation.Delivery) bool {
		return b.ID == d.ID && b.BodyDigest == d.BodyDigest && b.Variant == d.Variant
	}
	i := slices.IndexFunc(out, same)
	if i < 0 && len(out) < DeliveriesBound {
		return append(out, d)
	}
	if i < 0 {
		i = len(out) - 1
	}
	out[i].Count = max(out[i].Count, 1) + 1
	return out
}

// Event reads an event consistently; ErrNotFound when there is none.
func (l *Ledger) Event(ctx context.Context, id operation.EventID) (operation.Event, error) {
	ev, _, err := load(ctx, l, events(), eventKey(id))
	return ev, err
}

// UpdateEvent writes next over seen: Written, or Lost with the event as another writer left it.
func (l *Ledger) UpdateEvent(ctx context.Context, seen, next operation.Event) (Result[operation.Event], error) {
	res, err := replace(ctx, l, events(), seen, next, revision)
	return res, wrap("update", string(seen.ID), err)
}
