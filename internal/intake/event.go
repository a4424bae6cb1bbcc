package intake

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/flow"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/source"
)

// Reasons why an event is held before any run is made.
const (
	ReasonIncomplete     operation.Reason = "identity_incomplete" // what names the event is missing, blank or ambiguous
	ReasonOversize       operation.Reason = "oversize"            // genuine, recorded by its digest, not parsed
	ReasonPossibleRepeat operation.Reason = "possible_repeat"     // nothing tells it from an earlier event
	ReasonConflict       operation.Reason = "same_id_other_body"  // the first one stands; a person looks at the other
)

// event makes the record of a notification as if it were the first.
func (in *Intake) event(ctx context.Context, n source.Notification) (operation.Event, error) {
	who, now := n.Identity(), in.now()
	id, err := who.EventID(in.Key)
	if err != nil {
		return operation.Event{}, err
	}
	ev := operation.Event{
		ID: operation.EventID(id), Source: who.Source, Account: who.Account, Topic: who.Topic, Rung: string(who.Rung), SignedID: who.SignedID,
		BodyDigest: operation.Digest(who.BodyDigest), Canonical: operation.Digest(who.CanonicalDigest), Payload: operation.Digest(who.BodyDigest),
		Received: now, Occurred: operation.TimeOf(who.OccurredAt), Owner: in.Owner,
		Deliveries: []operation.Delivery{{ID: who.DeliveryID, At: now, BodyDigest: operation.Digest(who.BodyDigest)}},
	}
	ev.Await(now)
	if err := in.match(&ev); err != nil {
		return ev, err
	}
	return ev, in.doubts(ctx, &ev, n)
}

// match names the flows and runs in the event's own put, so that a repeat or the sweep makes what a crash left out.
func (in *Intake) match(ev *operation.Event) error {
	for _, name := range flow.Match(in.Flows, ev.Source, ev.Topic) {
		id, err := in.Key.RunID(name, string(ev.ID))
		if err != nil {
			return err
		}
		ev.Flows, ev.Runs = append(ev.Flows, name), append(ev.Runs, operation.RunID(id))
	}
	if len(ev.Flows) == 0 {
		ev.Close(operation.EventPlanned, ev.Received)
		return nil
	}
	ev.Owner = in.ownerOf(ev.Flows[0])
	ev.Await(ev.Received)
	return nil
}

// doubts holds an event that cannot be told from another one.
func (in *Intake) doubts(ctx context.Context, ev *operation.Event, n source.Notification) error {
	who := n.Identity()
	switch {
	case n.Oversize():
		ev.Payload = ledger.DigestOf(nil) // the body is named by its digest, and not kept
		ev.Hold(ReasonOversize, ev.Received)
	case !who.Complete():
		for _, gap := range who.Incomplete {
			ev.Missing = append(ev.Missing, gap.Part)
		}
		ev.Hold(ReasonIncomplete, ev.Received)
	default:
		return in.alike(ctx, ev, who)
	}
	return nil
}

// alike looks for an earlier event that this one may repeat under another id. All likenesses are kept, also when the
// first one is found already: a later notification may share only one of them.
func (in *Intake) alike(ctx context.Context, ev *operation.Event, who source.Identity) error {
	ids, err := who.LikenessIDs(in.Key)
	if err != nil {
		return err
	}
	for _, id := range ids {
		found, err := in.Store.Guard(ctx, id, ev.ID, ev.Received, who.Horizon)
		if err != nil {
			return err
		}
		if found.Found {
			ev.Hold(ReasonPossibleRepeat, ev.Received)
		}
	}
	return nil
}

// record puts the event.
func (in *Intake) record(ctx context.Context, ev operation.Event, n source.Notification) (ledger.Result[operation.Event], error) {
	who, body := n.Identity(), n.Body()
	if n.Oversize() {
		body = []byte{} // not nil: the ledger keeps a binary of no bytes
	}
	res, err := in.Store.RecordEvent(ctx, ev, body)
	if err != nil || who.Rung != source.RungBodyDigest || res.Verdict == ledger.Recorded {
		return res, err
	}
	return in.again(ctx, ev, res.Current, body, who.Horizon)
}

// again records an equal notification without any id of its own. Time is cut into horizons, counted from the first one:
// the first in a horizon is an event of its own, unless it came within a horizon of the one before it; every other one
// is a possible repeat, and all of those in one horizon are one held event. So the cost of a notification does not grow
// with the number of those before it.
func (in *Intake) again(ctx context.Context, ev, first operation.Event, body []byte, horizon time.Duration) (ledger.Result[operation.Event], error) {
	period := int(ev.Received.Sub(first.Received) / max(horizon, time.Millisecond))
	if period > 0 {
		before, err := in.before(ctx, first, period)
		if err != nil {
			return ledger.Result[operation.Event]{}, err
		}
		repeat := before != nil && ev.Received.Sub(before.Received) <= horizon
		res, err := in.put(ctx, ev, first.ID, 2*period+1, repeat, body)
		if err != nil || res.Verdict == ledger.Recorded {
			return res, err
		}
	}
	return in.put(ctx, ev, first.ID, 2*period+2, true, body)
}

// before is the first equal notification of the horizon before, or nil.
func (in *Intake) before(ctx context.Context, first operation.Event, period int) (*operation.Event, error) {
	if period == 1 {
		return &first, nil
	}
	id, err := in.Key.RepeatID(string(first.ID), 2*(period-1)+1)
	if err != nil {
		return nil, err
	}
	ev, err := in.Store.Event(ctx, operation.EventID(id))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	return &ev, err
}

// put records the event under the id of its ordinal.
func (in *Intake) put(ctx context.Context, ev operation.Event, first operation.EventID, ordinal int, repeat bool, body []byte) (ledger.Result[operation.Event], error) {
	id, err := in.Key.RepeatID(string(first), ordinal)
	if err != nil {
		return ledger.Result[operation.Event]{}, err
	}
	held := ev.Status == operation.EventHeld
	ev.ID, ev.Flows, ev.Runs, ev.Evidence = operation.EventID(id), nil, nil, nil
	if err := in.match(&ev); err != nil {
		return ledger.Result[operation.Event]{}, err
	}
	if repeat || held {
		ev.Hold(ReasonPossibleRepeat, ev.Received)
	}
	return in.Store.RecordEvent(ctx, ev, body)
}
