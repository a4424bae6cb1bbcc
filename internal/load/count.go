package load

import (
	"context"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/local"
	"holdfast/internal/operation"
)

// Count is a recount: the ledger read whole, and the targets' own counters.
type Count struct {
	Events     int            `json:"events"`
	Deliveries int            `json:"deliveries"` // as the events list them
	Runs       map[string]int `json:"runs"`       // by status
	Operations map[string]int `json:"operations"` // by status
	Effects    int            `json:"effects"`
	Duplicates int            `json:"duplicates"` // effects of one operation after its first
	Unknown    int            `json:"unknown"`    // effects of no operation in the ledger
	Unproven   int            `json:"unproven"`   // confirmed operations that no target shows
	Unowned    int            `json:"unowned"`    // open things without an owner or a time
	Open       int            `json:"open"`       // things with a next step
	Attempts   int            `json:"attempts"`

	runs   map[operation.RunID]operation.Run
	events []operation.Event
}

// recount reads everything. It keeps the runs and the events, for whoever compares them one by one.
func recount(ctx context.Context, l *local.Local) (Count, error) {
	c := Count{Runs: map[string]int{}, Operations: map[string]int{}, runs: map[operation.RunID]operation.Run{}}
	effects := map[string]int{}
	for _, report := range l.Sim.Effects() {
		for id, n := range report.ByOperation {
			c.Effects += n
			effects[id] += n
			if strings.HasPrefix(id, "op_") && n > 1 {
				c.Duplicates += n - 1
			}
		}
	}
	err := l.App.Ledger.Audit(ctx, 1, func(f ledger.Found) error {
		if f.Err != nil {
			return f.Err
		}
		c.add(f, effects)
		return nil
	})
	for _, n := range effects {
		c.Unknown += n
	}
	return c, err
}

func (c *Count) add(f ledger.Found, effects map[string]int) {
	var step operation.Step
	switch {
	case f.Operation != nil:
		step = f.Operation.Step
		c.Operations[f.Operation.Status.String()]++
		c.Attempts += len(f.Operation.Attempts)
		id := string(f.Operation.ID)
		if f.Operation.Status == operation.StatusConfirmed && effects[id] == 0 {
			c.Unproven++
		}
		delete(effects, id)
	case f.Run != nil:
		step = f.Run.Step
		c.Runs[f.Run.Status.String()]++
		c.runs[f.Run.ID] = *f.Run
	default:
		step = f.Event.Step
		c.Events++
		for _, d := range f.Event.Deliveries {
			c.Deliveries += max(d.Count, 1)
		}
		c.events = append(c.events, *f.Event)
	}
	if step.Action == operation.ActionDone {
		return
	}
	c.Open++
	if step.Owner == "" || step.Due == 0 {
		c.Unowned++
	}
}

// judge names what of a finished load does not hold, whatever the load was.
func (c *Count) judge(p *promises) {
	p.holds(c.Duplicates == 0, "%d effects happened twice", c.Duplicates)
	p.holds(c.Unknown == 0, "%d effects belong to no operation in the ledger", c.Unknown)
	p.holds(c.Unproven == 0, "%d operations are confirmed and no target shows their effect", c.Unproven)
	p.holds(c.Unowned == 0, "%d open things have no owner or no due time", c.Unowned)
	p.holds(c.Open == 0, "%d things are still open", c.Open)
}

// accepted checks that each event that was answered with a 2xx is in the ledger with exactly the run it was answered
// with, that this run has come to its end, and that there is no other.
func (c *Count) accepted(p *promises, first map[operation.RunID]bool) {
	lost, unfinished := 0, 0
	for id := range first {
		run, ok := c.runs[id]
		switch {
		case !ok:
			lost++
		case !run.Ended():
			unfinished++
		}
	}
	p.holds(lost == 0, "%d runs that were answered with a 2xx are not in the ledger", lost)
	p.holds(unfinished == 0, "%d accepted runs did not come to their end", unfinished)
	p.holds(len(c.runs) == len(first), "%d runs are in the ledger and %d were told of", len(c.runs), len(first))
	p.holds(c.Events == len(first), "%d events are in the ledger and %d were accepted", c.Events, len(first))
	wrong := 0
	for i := range c.events {
		if e := &c.events[i]; len(e.Runs) != 1 || c.runs[e.Runs[0]].Event != e.ID {
			wrong++
		}
	}
	p.holds(wrong == 0, "%d events have no run, or more than one", wrong)
}
