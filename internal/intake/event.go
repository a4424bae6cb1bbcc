package intake

import (
	"context"
	"time"

	"holdfast/internal/flow"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/source"
)

// Horizon is how long likenesses count.
type Horizon = time.Duration

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
		ev.Payload = ""
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

// alike looks for an earlier event that this one may repeat under another id.
func (in *Intake) alike(ctx context.Context, ev *operation.Event, who source.Identity) error {
	ids, err := who.LikenessIDs(in.Key)
	if err != nil || who.Rung == source.RungBodyDigest {
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

// record puts the event. One without any id of its own that is there already is a second notification: within the
// source's retry horizon it is held as a possible repeat, after it, it is an event of its own.
func (in *Intake) record(ctx context.Context, ev operation.Event, n source.Notification) (ledger.Result[operation.Event], error) {
	who := n.Identity()
	body := n.Body()
	if n.Oversize() {
		body = nil
	}
	res, err := in.Store.RecordEvent(ctx, ev, body)
	if err != nil || who.Rung != source.RungBodyDigest || res.Verdict == ledger.Recorded {
		return res, err
	}
	first := ev.ID
	for ordinal := 2; ordinal <= repeatsMax; ordinal++ {
		id, err := in.Key.RepeatID(string(first), ordinal)
		if err != nil {
			return res, err
		}
		again := ev
		again.ID, again.Flows, again.Runs = operation.EventID(id), nil, nil
		if err := in.match(&again); err != nil {
			return res, err
		}
		if ev.Received.Sub(res.Current.Received) <= who.Horizon {
			again.Hold(ReasonPossibleRepeat, ev.Received)
		}
		if res, err = in.Store.RecordEvent(ctx, again, body); err != nil || res.Verdict == ledger.Recorded || again.Status == operation.EventHeld {
			return res, err
		}
	}
	return res, nil
}
