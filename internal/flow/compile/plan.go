package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/flow"
	"holdfast/internal/identity"
	"holdfast/internal/operation"
)

// Event is what planning knows of an event besides its body.
type Event struct {
	ID       operation.EventID
	Source   string
	Account  string
	Topic    string
	Occurred operation.Time // by the source's own account; zero when it did not say
}

// Input is everything that a plan depends on.
type Input struct {
	Event Event
	Body  []byte // the exact received bytes
	// HoleReference is the text that stands in a content for the reference of a stage, until the first claim
	// fills it in. It must be set when the flow uses a reference.
	HoleReference func(stage string) string
}

// Outcome says what an event means for a flow. Its zero value holds: a forgotten case stops.
type Outcome uint8

// The outcomes.
const (
	OutcomeHeld          Outcome = iota // a named person must supply or decide something first
	OutcomeNotApplicable                // the flow is not meant for this event
	OutcomeRejected                     // the event lacks what the flow says to refuse it for
	OutcomeStages                       // Stages says what to do
)

func (o Outcome) String() string {
	return [...]string{"held", "not_applicable", "rejected", "stages"}[o]
}

// Planned is what one event means for one flow.
type Planned struct {
	Outcome  Outcome
	Reason   operation.Reason // why it is not OutcomeStages; of the first problem
	Problems []Problem        // all of them, in the file's order
	Owner    operation.Person // who decides when it is held: the rule's owner, else the flow's
	Plan     flow.PinnedPlan  // without operation ids and profile versions
	Stages   []Stage          // in the file's order; only with OutcomeStages
}

// Problem is one thing about the event that keeps it from being planned. It names fields and shows the file's
// text, never a value of the event.
type Problem struct {
	Reason operation.Reason
	Field  string // a path such as body.properties.email; "" when no single field is meant
	File   string
	At     flow.Position
	Detail string
}

// Fields are the names of the fields that the problems are about, sorted.
func (p Planned) Fields() []string {
	var out []string
	for _, one := range p.Problems {
		if one.Field != "" {
			out = append(out, one.Field)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Stage is one operation that the event asks for.
type Stage struct {
	Name         string
	Target       string
	After        string
	AfterSettled bool
	OnFailed     operation.OnFailed
	Key          []KeyPart
	Content      map[string]any // strings, json.Number literals, bools, lists and objects
}

// KeyPart is one typed part of a business key, usable as it is. Name is the expression it comes from.
type KeyPart struct {
	Name  string
	Value any // string, json.Number or bool
}

// Part is the part as the identity package takes it.
func (k KeyPart) Part() identity.Part { return identity.Of(k.Name, k.Value) }

// Plan works out what the event means for the flow. The same input always gives the same answer. Its error means
// that it was called wrongly; whatever is wrong with the event is an outcome.
func (f *Flow) Plan(in Input) (Planned, error) {
	p := &planning{flow: f, in: in, planned: Planned{Owner: f.file.Owner, Plan: flow.Pin(f.file)}}
	if err := p.marks(); err != nil {
		return Planned{}, err
	}
	if f.file.Account != "" && f.file.Account != in.Event.Account {
		return p.end(OutcomeNotApplicable, flow.ReasonAccount), nil
	}
	body, err := decode(in.Body)
	if err != nil {
		p.problem(flow.ReasonBody, "", f.file.At, err.Error())
		return p.end(OutcomeHeld, flow.ReasonBody), nil
	}
	p.body = body
	p.vars = map[string]any{"body": p.body, "event": in.Event.vars()}
	applies := p.applies()
	if !applies && len(p.planned.Problems) == 0 {
		return p.end(OutcomeNotApplicable, flow.ReasonTrigger), nil
	}
	if p.lacking(flow.MissingReject) {
		return p.end(OutcomeRejected, flow.ReasonMissing), nil
	}
	if p.lacking(flow.MissingHold) || !applies {
		return p.end(OutcomeHeld, p.planned.Problems[0].Reason), nil
	}
	return p.stages(), nil
}

func (e Event) vars() map[string]any {
	vars := map[string]any{"id": string(e.ID), "source": e.Source, "account": e.Account, "topic": e.Topic}
	if e.Occurred != 0 {
		vars["occurred"] = e.Occurred.Std()
	}
	return vars
}

// planning is one flow meeting one event.
type planning struct {
	flow    *Flow
	in      Input
	body    any
	vars    map[string]any
	planned Planned
	bytes   int // of content made so far

	holes     map[string]string // the mark of each stage's reference
	forbidden []string          // what an event must not bring: what all marks begin with, or else each mark
}

// marks asks for the mark of every stage. They are known before anything is rendered, so that an event that
// carries one can be told.
func (p *planning) marks() error {
	p.holes = map[string]string{}
	if p.in.HoleReference == nil {
		return nil
	}
	for _, s := range p.flow.stages {
		mark := p.in.HoleReference(s.Name)
		if mark == "" {
			return fmt.Errorf("plan %s: the mark for the reference of stage %s is empty", p.flow.file.Name, s.Name)
		}
		p.holes[s.Name] = mark
	}
	p.forbidden = forbidden(p.in.HoleReference)
	if len(p.forbidden) == 0 {
		p.forbidden = slices.Sorted(maps.Values(p.holes))
	}
	return nil
}

// forbidden is what the marks of any two stages begin with. It is stricter than the marks of this flow's stages:
// whoever fills the holes may not know which flow a mark came from.
func forbidden(mark func(string) string) []string {
	a, b := mark("a"), mark("b")
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n < markBytesMin {
		return nil
	}
	return []string{a[:n]}
}

// markBytesMin is the shortest beginning that nobody writes by chance, in bytes.
const markBytesMin = 4

func (p *planning) problem(reason operation.Reason, field string, at flow.Position, detail string) {
	p.planned.Problems = append(p.planned.Problems, Problem{Reason: reason, Field: field, File: p.flow.file.Path, At: at, Detail: detail})
}

func (p *planning) end(outcome Outcome, reason operation.Reason) Planned {
	p.planned.Outcome, p.planned.Reason, p.planned.Stages = outcome, reason, nil
	return p.planned
}

// applies is the trigger's answer. When it has none, a problem says so, and the required fields are still looked
// at: a missing one that says "reject" explains it.
func (p *planning) applies() bool {
	when := p.flow.when
	if when == nil {
		return true
	}
	v, err := when.evaluate(p.vars)
	if err != nil {
		p.failed(when, flow.ReasonExpression, err)
		return false
	}
	yes, ok := v.Value().(bool)
	if !ok {
		p.problem(flow.ReasonExpression, "", when.at, "`when` must be true or false, and on this event it is neither")
		return false
	}
	return yes
}

// lacking adds a problem for each missing field of these rules. A rejection shows the rejecting fields alone.
func (p *planning) lacking(rule flow.Missing) bool {
	var found []Problem
	for _, r := range p.flow.require {
		if v, ok := lookup(p.body, r.path); r.Missing != rule || (ok && !empty(v)) {
			continue
		}
		if len(found) == 0 && r.Owner != "" {
			p.planned.Owner = r.Owner
		}
		found = append(found, Problem{Reason: flow.ReasonMissing, Field: r.Field.Value, File: p.flow.file.Path, At: r.Field.At,
			Detail: r.Field.Value + " is missing or blank"})
	}
	if len(found) > 0 {
		p.planned.Problems = found
	}
	return len(found) > 0
}

func empty(v any) bool {
	s, ok := v.(string)
	return v == nil || (ok && blank(s))
}

// failed explains an expression without an answer: by the fields it lacks, or by its own text.
func (p *planning) failed(e *expression, reason operation.Reason, why error) {
	missing := e.missing(p.body)
	for _, field := range missing {
		p.problem(reason, field, e.at, fmt.Sprintf("${%s} needs %s, which this event does not have", e.source, field))
	}
	if len(missing) == 0 {
		p.problem(reason, "", e.at, fmt.Sprintf("${%s}: %s", e.source, why))
	}
}

func (p *planning) stages() Planned {
	var out []Stage
	for i := range p.flow.stages {
		s := &p.flow.stages[i]
		out = append(out, Stage{
			Name: s.Name, Target: s.Target, After: s.After, AfterSettled: s.AfterSettled, OnFailed: s.OnFailed,
			Key: p.key(s), Content: p.content(s),
		})
	}
	if len(p.planned.Problems) > 0 {
		return p.end(OutcomeHeld, p.planned.Problems[0].Reason)
	}
	p.planned.Outcome, p.planned.Stages = OutcomeStages, out
	return p.planned
}

// key gives every part, or problems: what is missing or unclear must never become a shared id (R10).
func (p *planning) key(s *stage) []KeyPart {
	parts := make([]KeyPart, 0, len(s.key))
	for _, e := range s.key {
		v, err := e.evaluate(p.vars)
		if err != nil {
			p.failed(e, flow.ReasonIdentity, err)
			continue
		}
		raw, err := plain(v)
		if err != nil {
			p.unclear(e, err.Error())
			continue
		}
		part := KeyPart{Name: e.source, Value: raw}
		var unusable *identity.PartError
		if err := part.Part().Err(); errors.As(err, &unusable) {
			p.unclear(e, unusable.Problem)
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

func (p *planning) unclear(e *expression, problem string) {
	field := ""
	if len(e.paths) == 1 {
		field = "body." + strings.Join(e.paths[0], ".")
	}
	p.problem(flow.ReasonIdentity, field, e.at, fmt.Sprintf("the part of the key ${%s} %s", e.source, problem))
}
