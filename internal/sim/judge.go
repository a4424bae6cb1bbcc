package sim

import (
	"maps"
	"slices"
	"time"

	"holdfast/internal/app/work"
	"holdfast/internal/ledger"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// judge holds what the rules are checked against: what really happened, seen from outside of the product.
type judge struct {
	w          *world
	violations []Violation
	reached    map[string]int
	policyOf   func(*operation.Operation) operation.Policy

	ops      map[operation.ID]operation.Operation // as last written
	runs     map[operation.RunID]operation.Run
	runOrder []operation.RunID
	evs      map[operation.EventID]operation.Event
	claims   map[*actor]claim // the latest claim that an actor wrote
	sent     map[operation.AttemptID]int
	expected map[operation.AttemptID]target.Request // what an attempt must send
	effects  map[operation.ID][]effect
	marks    []mark

	restored, everRestored bool
	acceptedAt             operation.Time
	forgotten              map[operation.ID]bool // had an effect that a restored copy does not know
	everKnown              map[operation.ID]bool // before some restore
	couldTell              map[operation.ID]bool // people had to settle them although the target could have told

	writes, deliveries, lost, crashes, sends, duplicates, decisions, restores int
}

type claim struct {
	op      operation.ID
	attempt operation.AttemptID
}

// effect is one effect at a target.
type effect struct {
	simtarget.Commit
	attested bool // a person had said that nothing had happened
}

// Reference is the target's own id of it.
func (e effect) Reference() operation.Reference { return operation.Reference(e.Commit.Reference) }

// Violation is one broken rule.
type Violation struct {
	Rule string `json:"rule"`
	What string `json:"what"`
	Seed uint64 `json:"seed"`
	At   string `json:"at"`
}

func (j *judge) init(w *world) {
	*j = judge{
		w: w, reached: map[string]int{}, ops: map[operation.ID]operation.Operation{}, runs: map[operation.RunID]operation.Run{},
		evs: map[operation.EventID]operation.Event{}, claims: map[*actor]claim{}, sent: map[operation.AttemptID]int{}, expected: map[operation.AttemptID]target.Request{},
		effects: map[operation.ID][]effect{}, forgotten: map[operation.ID]bool{}, everKnown: map[operation.ID]bool{}, couldTell: map[operation.ID]bool{},
		policyOf: work.Policies(w.lab.profiles, w.lab.config()),
	}
}

func (w *world) fold() ledger.Fold { return runner.Fold(w.policyOf) }

func (j *judge) fail(rule, what string) {
	j.violations = append(j.violations, Violation{Rule: rule, What: what, Seed: j.w.tape.seed, At: j.w.now.Sub(start).Round(time.Millisecond).String()})
	j.w.tell("VIOLATION of %s: %s", rule, what)
}

func (j *judge) failed() bool { return len(j.violations) > 0 }

func (j *judge) reach(rule string) { j.reached[rule]++ }

// mark is a copy of the table with what the judge knew of it.
type mark struct {
	mark dynamo.Mark
	ops  map[operation.ID]operation.Operation
	runs map[operation.RunID]operation.Run
	evs  map[operation.EventID]operation.Event
}

// marksMax bounds the copies that one world keeps.
const marksMax = 8

// backUp makes a copy of the table, as a backup does.
func (w *world) backUp() {
	if w.lab.Store != StoreFile && len(w.marks) < marksMax && !w.restored && len(w.evs) > 0 {
		w.marks = append(w.marks, mark{w.server.Mark(), maps.Clone(w.ops), maps.Clone(w.runs), maps.Clone(w.evs)})
	}
}

// back makes the judge know what the copy knows.
func (j *judge) back(m mark) {
	j.restored, j.everRestored = true, true
	for id := range j.ops {
		j.everKnown[id] = true
	}
	for id := range j.effects {
		if _, known := m.ops[id]; !known {
			j.forgotten[id] = true
		}
	}
	j.ops, j.runs, j.evs = maps.Clone(m.ops), maps.Clone(m.runs), maps.Clone(m.evs)
	j.runOrder = slices.DeleteFunc(j.runOrder, func(id operation.RunID) bool { _, ok := j.runs[id]; return !ok })
}

// wrote is told of every item that a commit changes.
func (w *world) wrote(_ string, old, new attr.Item) {
	w.writes++
	if new == nil {
		return
	}
	switch sk := new.Get("sk"); sk.Text {
	case "op", "run", "ev":
	default:
		return
	}
	if c := w.current().call; c != nil && c.refuse {
		w.fail("R13", "a delivery that is rubbish, forged or stale changed something")
	}
	is := w.peek.ReadItem(dynamo.Attributes(new))
	if is.Err != nil {
		w.fail("R13", "a record was written that does not read: "+is.Err.Error())
		return
	}
	switch {
	case is.Operation != nil:
		w.wroteOperation(before(w.ops, is.Operation.ID, old), *is.Operation)
		w.dueAt(is.Operation.Step)
	case is.Run != nil:
		w.wroteRun(before(w.runs, is.Run.ID, old), *is.Run)
		w.dueAt(is.Run.Step)
	case is.Event != nil:
		w.owned("event "+string(is.Event.ID), is.Event.Step, is.Event.Status == operation.EventPlanned || is.Event.Status == operation.EventRefused)
		w.evs[is.Event.ID] = *is.Event
		w.dueAt(is.Event.Step)
	}
}

// before is a record as it was last written; nil when it is new.
func before[K comparable, V any](known map[K]V, id K, old attr.Item) *V {
	if old == nil {
		return nil
	}
	v := known[id]
	return &v
}

// anew says that an operation was made for an event from after the acceptance of a copy that had forgotten it: nothing
// in the ledger can tell that this intention was carried out before. It is outside of what is promised (docs/proof.md).
func (w *world) anew(op *operation.Operation) bool {
	if !w.forgotten[op.ID] || len(op.Runs) == 0 {
		return false
	}
	first := w.evs[w.runs[op.Runs[0]].Event]
	return w.acceptedAt != 0 && first.Occurred >= w.acceptedAt
}

func (w *world) dueAt(s operation.Step) {
	if s.Due != 0 {
		w.sweeper.due(s.Due.Std())
	}
}

// earliest is when the next record is due.
func (w *world) earliest() (at time.Time, ok bool) {
	var due operation.Time
	see := func(s operation.Step) {
		if s.Due != 0 && (due == 0 || s.Due < due) {
			due = s.Due
		}
	}
	for id := range w.ops {
		see(w.ops[id].Step)
	}
	for id := range w.runs {
		see(w.runs[id].Step)
	}
	for id := range w.evs {
		see(w.evs[id].Step)
	}
	return due.Std(), due != 0
}
