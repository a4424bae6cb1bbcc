package simtarget

import (
	"maps"
	"time"
)

// Effect is one commit at a target.
type Effect struct {
	Time       string `json:"time"`
	Route      string `json:"route"`
	Operation  string `json:"operation"` // the operation's mark, else the natural key, else the key, else "unmarked"
	Key        string `json:"key,omitempty"`
	Natural    string `json:"natural,omitempty"`
	Reference  string `json:"reference"`
	Connection int    `json:"connection"`
	Method     string `json:"method"` // of the request, whole as it came
	Path       string `json:"path"`
	BodyDigest string `json:"body_digest"` // SHA-256 of the body's bytes
	BodyBytes  int    `json:"body_bytes"`
}

// Commit is one effect at the moment at which it happens.
type Commit struct {
	Effect
	Target     string
	Collection string
	At         time.Time // the target's clock
	Number     int       // which effect of this target it is, from 1
	Earlier    int       // effects of the same operation, route and target before it; 0 unless it is a second effect
	Late       bool      // it came after its request was over (KindLateCommit)
}

// Counts are one target's counters.
type Counts struct {
	Effects, Requests, Replays, Updates int
}

// Connection is what one connection carried.
type Connection struct {
	ID       int   `json:"id"`
	Requests int   `json:"requests"`
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	Fault    Kind  `json:"fault,omitempty"` // the last switch that struck it
	Open     bool  `json:"open"`
}

// Report is what one target shows the judge.
type Report struct {
	Effects     int            `json:"effects"`
	Requests    int            `json:"requests"`
	Replays     int            `json:"replays"` // answers repeated from a key's memory
	Updates     int            `json:"updates"` // writes over a record that was there already
	ByOperation map[string]int `json:"by_operation"`
	ByRoute     map[string]int `json:"by_route"`
	List        []Effect       `json:"list"`
	Connections []Connection   `json:"connections"`
}

// tally counts for the judge.
type tally struct {
	requests, replays, updates int
	byOperation, byRoute       map[string]int
	byBoth                     map[[2]string]int // route and operation, while somebody listens
	effects                    []Effect
	connections                []*Connection
	connectionsMade            int
}

func newTally() tally {
	return tally{byOperation: map[string]int{}, byRoute: map[string]int{}, byBoth: map[[2]string]int{}}
}

func (t *tally) add(e Effect) {
	t.effects = append(t.effects, e)
	t.byOperation[e.Operation]++
	t.byRoute[e.Route]++
}

func (t *tally) counts() Counts {
	return Counts{Effects: len(t.effects), Requests: t.requests, Replays: t.replays, Updates: t.updates}
}

// made counts a commit and tells the hook.
func (t *target) made(c call, e Effect, rec *record) {
	t.tally.add(e)
	if t.sim.onEffect == nil {
		return
	}
	who := [2]string{e.Route, e.Operation}
	t.tally.byBoth[who]++
	t.sim.onEffect(Commit{Effect: e, Target: t.spec.Target, Collection: c.route.Effect.In, At: rec.at,
		Number: len(t.tally.effects), Earlier: t.tally.byBoth[who] - 1, Late: c.wire.Kind == KindLateCommit})
}

// open remembers a connection; the oldest are forgotten.
func (t *tally) open() *Connection {
	t.connectionsMade++
	c := &Connection{ID: t.connectionsMade, Open: true}
	t.connections = append(t.connections, c)
	if len(t.connections) > connectionLogMax {
		t.connections = t.connections[len(t.connections)-connectionLogMax:]
	}
	return c
}

// opened remembers a new connection of the target.
func (t *target) opened() *Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tally.open()
}

// noted changes what is remembered of a connection.
func (t *target) noted(note *Connection, f func(*Connection)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(note)
}

func (t *target) report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Report{
		Effects: len(t.tally.effects), Requests: t.tally.requests, Replays: t.tally.replays, Updates: t.tally.updates,
		ByOperation: maps.Clone(t.tally.byOperation), ByRoute: maps.Clone(t.tally.byRoute),
		List: append([]Effect{}, t.tally.effects...), Connections: []Connection{},
	}
	for _, c := range t.tally.connections {
		r.Connections = append(r.Connections, *c)
	}
	return r
}
