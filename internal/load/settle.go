package load

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/local"
	"holdfast/internal/operation"
)

// Bounds of bringing everything to its end.
const (
	quietFor  = 50 * time.Millisecond // without any work, until it counts as quiet
	stepsMax  = 1_000                 // moves of the clock
	leastStep = 2 * time.Second       // of one move
	mostStep  = 10 * time.Minute      // of one move, so that nothing becomes stale while others work
	openPage  = 500                   // hints on one page of what is open
)

// house is a laptop with the people around it.
type house struct {
	l *local.Local
	// answered counts the questions that people answered, by answer.
	answered map[operation.Answer]int
	// told is told what is left, now and then.
	told func(open int)
}

// settle lets time pass, sweeps, and has people answer, until nothing is open any more.
func (h *house) settle(ctx context.Context) error {
	var open []ledger.Hint
	for range stepsMax {
		if err := h.quiet(ctx); err != nil {
			return err
		}
		var err error
		if open, err = h.open(ctx); err != nil || len(open) == 0 {
			return err
		}
		if h.told != nil {
			h.told(len(open))
		}
		answered, err := h.answer(ctx, open)
		if err != nil {
			return err
		}
		if answered > 0 {
			continue
		}
		h.move(open)
		if _, err := h.l.SweepOnce(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d events, runs or operations are still open after %d moves of the clock; the first is %+v", len(open), stepsMax, open[0])
}

// move lets time pass until the next thing is due.
func (h *house) move(open []ledger.Hint) {
	now := operation.TimeOf(h.l.Clock.Now())
	next := operation.TimeMax
	for i := range open {
		if open[i].Due > now {
			next = min(next, open[i].Due)
		}
	}
	d := mostStep
	if next != operation.TimeMax {
		d = min(time.Duration(next-now)*time.Millisecond, mostStep)
	}
	h.l.Clock.Move(max(d, leastStep))
}

// quiet waits until nothing works any more; what only waits for a time is quiet.
func (h *house) quiet(ctx context.Context) error {
	c := h.l.Clock
	for before := int64(-1); ; {
		now := h.l.States.Transitions()
		if now == before && h.l.Busy() == 0 {
			return nil
		}
		before = now
		if err := c.SleepUntil(ctx, c.Now().Add(quietFor)); err != nil {
			return err
		}
	}
}

// open lists all that has a next step.
func (h *house) open(ctx context.Context) ([]ledger.Hint, error) {
	var all []ledger.Hint
	for shard := range ledger.Shards {
		for after := (*ledger.Hint)(nil); ; {
			page, err := h.l.App.Ledger.Due(ctx, shard, operation.TimeMax, openPage, after)
			if err != nil {
				return nil, err
			}
			all = append(all, page...)
			if len(page) < openPage {
				break
			}
			after = &page[len(page)-1]
		}
	}
	return all, nil
}
