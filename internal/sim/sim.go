// Package sim plays the whole product against an adversary, one seed after another, with time and order in its hand.
//
// It promises that a seed gives the same world on every machine, step by step; that the handlers, the ledger, the state
// machine's interpreter, the sweep, the review page, the target engine and the simulated targets in it are the product's
// own; and that every rule is checked from outside, against what really happened. It never runs two things at once, never
// reads the machine's time, and never checks a rule by asking the product.
package sim

import (
	"fmt"
)

// Result is what a number of worlds showed.
type Result struct {
	Seeds       int            `json:"seeds"`
	Runs        int            `json:"runs"`
	Steps       int64          `json:"steps"`
	Crashes     int            `json:"crashes"`
	LostAnswers int            `json:"lost_answers"`
	Deliveries  int            `json:"deliveries"`
	Sends       int            `json:"sends"`
	Effects     int            `json:"effects"`
	Duplicates  int            `json:"duplicates"`
	Operations  int            `json:"operations"`
	Restores    int            `json:"restores"`
	Violations  []Violation    `json:"violations"`
	Held        int            `json:"held"`       // decisions that people made
	CouldTell   int            `json:"could_tell"` // operations that people had to settle although the target could have told
	Reached     map[string]int `json:"reached"`
}

// Play plays one seed. tell says that its story and its schedule are to be kept.
func (l *Lab) Play(seed uint64, tell bool) (World, error) {
	t := &tape{seed: seed}
	return l.play(t, drawPlan(t), tell)
}

// Replay plays a schedule.
func (l *Lab) Replay(s Schedule, tell bool) (World, error) {
	t := &tape{seed: s.Seed, schedule: newReplay(s.Faults)}
	w, err := l.play(t, s, tell)
	w.Missed = t.schedule.missed(s.Faults)
	return w, err
}

func (l *Lab) play(t *tape, plan Schedule, tell bool) (World, error) {
	w, err := newWorld(l, t, plan)
	if err != nil {
		return World{}, fmt.Errorf("seed %d: %w", t.seed, err)
	}
	if tell {
		w.story, t.record = &story{}, &recorder{seen: map[boundary]int{}}
	}
	w.play()
	out := World{Result: w.result(), Schedule: plan}
	if tell {
		out.Story, out.Schedule.Faults = w.story.String(), t.record.faults
	}
	return out, w.server.Close()
}

// World is one played world.
type World struct {
	Result   Result
	Story    string   // when it was to be told
	Schedule Schedule // with its faults, when it was to be told
	Missed   []Fault  // of a replayed schedule: those whose boundary nobody came to
}

func (w *world) result() Result {
	if w.violations == nil {
		w.violations = []Violation{}
	}
	r := Result{
		Seeds: 1, Runs: len(w.runs), Steps: w.steps, Crashes: w.crashes, LostAnswers: w.lost, Deliveries: w.deliveries,
		Sends: w.sends, Duplicates: w.duplicates, Operations: len(w.ops), Restores: w.restores, Violations: w.violations, Held: w.decisions, CouldTell: len(w.couldTell),
		Reached: w.reached,
	}
	for _, e := range w.effects {
		r.Effects += len(e)
	}
	return r
}

// Add adds another result to this one.
func (r *Result) Add(o Result) {
	r.Seeds += o.Seeds
	r.Runs += o.Runs
	r.Steps += o.Steps
	r.Crashes += o.Crashes
	r.LostAnswers += o.LostAnswers
	r.Deliveries += o.Deliveries
	r.Sends += o.Sends
	r.Effects += o.Effects
	r.Duplicates += o.Duplicates
	r.Operations += o.Operations
	r.Held += o.Held
	r.Restores += o.Restores
	r.CouldTell += o.CouldTell
	r.Violations = append(r.Violations, o.Violations...)
	if r.Reached == nil {
		r.Reached = map[string]int{}
	}
	for rule, n := range o.Reached {
		r.Reached[rule] += n
	}
}

// Rules are all rules.
func Rules() []string {
	out := make([]string, 0, rulesMax)
	for i := range rulesMax {
		out = append(out, fmt.Sprintf("R%d", i+1))
	}
	return out
}

const rulesMax = 13
