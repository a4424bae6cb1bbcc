package sim

import (
	"fmt"
	"time"
)

// event is one thing that happens at the source.
type event struct {
	id      string
	flow    string
	request string
	after   time.Duration
}

// blankRequest is the request whose business key is only spaces.
const blankRequest = "blank"

// key is the event's part of the business key.
func (e event) key() string {
	if e.request == blankRequest {
		return "  "
	}
	return e.request
}

// act is one act from outside: of an operator, of a clock, on the table.
type act struct {
	after  time.Duration
	option int
}

// flowsOf are the flows of the lab.
var flowsOf = []string{"keyed", "asked", "chain", "bare", "vendors"}

// Bounds of a drawn world.
const (
	eventsMax   = 4
	actsMax     = 4
	requestsMax = 3                // different business keys
	blankOne    = 24               // one event of so many has a blank key
	spread      = 20 * time.Minute // from the first event to the last
)

// drawPlan reads from the seed what happens in its world, and how strong the adversary is.
func drawPlan(t *tape) Schedule {
	n := uint64(0)
	draw := func(below int) int {
		n++
		return int(mix(t.seed, planPlaces+n) % uint64(below))
	}
	t.lay(func() bool { return draw(3) > 0 }, []float64{0.3, 1, 1, 2, 4}[draw(5)])
	s := Schedule{Seed: t.seed, Until: time.Hour, Sweeps: []time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour}[draw(4)]}
	if draw(6) == 0 {
		s.Until = 40 * time.Hour // past every window
	}
	one, flow := draw(2) == 0, flowsOf[draw(len(flowsOf))]
	for i := range 1 + draw(eventsMax) {
		if !one {
			flow = flowsOf[draw(len(flowsOf))]
		}
		request := fmt.Sprintf("r%d", 1+draw(requestsMax))
		if draw(blankOne) == 0 {
			request = blankRequest
		}
		s.Events = append(s.Events, event{
			id: fmt.Sprintf("msg_%d", i+1), flow: flow, request: request, after: time.Duration(draw(int(spread/time.Millisecond))) * time.Millisecond,
		})
	}
	for range draw(actsMax) {
		s.Acts = append(s.Acts, act{after: time.Duration(draw(int(3*spread/time.Millisecond))) * time.Millisecond, option: 1 + draw(len(options[kindOutside]))})
	}
	return s
}
