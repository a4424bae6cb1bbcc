package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/operation"
)

// Repeat is what a repeat guard found: the earlier event with an equal body, or none.
type Repeat struct {
	Found bool
	Event operation.EventID
	At    operation.Time
}

// Guard remembers that a body without an id of its own was seen, under its canonical digest key, for event at an
// instant. It finds an earlier event with the same key within the window. The same event again finds nothing.
func (l *Ledger) Guard(ctx context.Context, digest string, event operation.EventID, at operation.Time, window time.Duration) (Repeat, error) {
	if l.EpochNow() == 0 {
		return Repeat{}, ErrUnchecked
	}
	it := guardKey(digest).attributes()
	it["v"], it["event_id"], it["seen_at"] = num(schemaVersion), str(string(event)), str(at.String())
	it[TTLAttribute] = num(int64(at.Add(window+24*time.Hour)) / 1000)
	err := l.put(ctx, it, absent, nil, nil)
	for range conflictTriesMax {
		var refused *refusal
		if !errors.As(err, &refused) {
			return Repeat{}, err
		}
		if refused.item == nil { // housekeeping deleted it between the write and the read
			err = l.put(ctx, it, absent, nil, nil)
			continue
		}
		before := Repeat{Event: operation.EventID(textOf(refused.item, "event_id"))}
		if before.At, err = operation.ParseTime(textOf(refused.item, "seen_at")); err != nil {
			return Repeat{}, fmt.Errorf("%w: repeat guard: %v", ErrCorrupt, err)
		}
		if before.Event == event {
			return Repeat{}, nil
		}
		if before.At.Add(window) >= at {
			before.Found = true
			return before, nil
		}
		err = l.put(ctx, it, guardOld, nil, item{":seen_at": str(before.At.String()), ":event_id": str(string(before.Event))})
	}
	return Repeat{}, fmt.Errorf("repeat guard: %w: %w", ErrThrottled, err)
}

// KeepShape remembers the shape of a stage's business key, which is permanent. It gives the shape that stands: another
// one than the given means that the stage must not run under its name.
func (l *Ledger) KeepShape(ctx context.Context, flow, stage, shape string) (string, error) {
	if l.EpochNow() == 0 {
		return "", ErrUnchecked
	}
	if strings.Contains(flow+stage, "#") {
		return "", fmt.Errorf("%w: the names of flow %q and stage %q must not contain #", ErrRefused, flow, stage)
	}
	it := shapeKey(flow, stage).attributes()
	it["v"], it["shape"] = num(schemaVersion), str(shape)
	err := l.put(ctx, it, absent, nil, nil)
	var refused *refusal
	switch {
	case err == nil:
		return shape, nil
	case !errors.As(err, &refused):
		return "", err
	}
	return textOf(refused.item, "shape"), nil
}
