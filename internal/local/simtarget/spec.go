package simtarget

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Spec is one simulated target: what a data file in targets/sim states.
type Spec struct {
	Target      string                `yaml:"target" need:"yes"`
	About       string                `yaml:"about" need:"yes"`
	Auth        *Auth                 `yaml:"auth"`
	Unrouted    Answer                `yaml:"unrouted" need:"yes"`
	Failures    Failures              `yaml:"failures" need:"yes"`
	Collections map[string]Collection `yaml:"collections" need:"yes"`
	Routes      []Route               `yaml:"routes" need:"yes"`

	places    map[string][]place // where each collection's records are looked up
	documents *documents         // nil: no route is a GraphQL one
}

// Auth is the header that has to be present; any value is taken.
type Auth struct {
	Header  string `yaml:"header" need:"yes"`
	Missing Answer `yaml:"missing" need:"yes"`
	Fact    Fact   `yaml:"fact" need:"yes"`
}

// Failures are the target's own error shapes, used by the fault switches.
type Failures struct {
	Limited Answer `yaml:"limited" need:"yes"` // over the rate limit, before any effect
	Broken  Answer `yaml:"broken" need:"yes"`  // an internal error; says nothing about the effect
	Refused Answer `yaml:"refused" need:"yes"` // a rejection; the contradiction switch sends it after the commit
}

// Collection is a kind of record that the target keeps.
type Collection struct {
	ID      string   `yaml:"id" need:"yes"` // uuid, number, token, or a prefix that ends in "/" and is followed by a number
	Foreign Template `yaml:"foreign" need:"yes"`
	Fact    Fact     `yaml:"fact" need:"yes"`
}

// Route is one request the target understands. Exactly one of Effect, Get, List and Archive is set.
type Route struct {
	Name    string      `yaml:"name" need:"yes"`
	Method  string      `yaml:"method" need:"yes"`
	Path    string      `yaml:"path" need:"yes"`
	GraphQL string      `yaml:"graphql"` // name of the top-level field
	Query   string      `yaml:"query"`   // a query parameter that has to be present
	Fact    Fact        `yaml:"fact" need:"yes"`
	Rejects []Reject    `yaml:"rejects"`
	Effect  *EffectRule `yaml:"effect"`
	Get     *Get        `yaml:"get"`
	List    *List       `yaml:"list"`
	Archive *Archive    `yaml:"archive"`

	line  int
	steps []string // of Path, made ready at load
}

// Reject is a check made before the key layer and before any effect. Exactly one condition is set.
type Reject struct {
	Missing Template    `yaml:"missing"` // the expression yields nothing or a blank
	Longer  *Longer     `yaml:"longer"`  // longer than so many characters
	Equals  *Comparison `yaml:"equals"`  // the texts are equal
	Absent  *Selector   `yaml:"absent"`  // no such record
	Answer  Answer      `yaml:"answer" need:"yes"`
	Fact    Fact        `yaml:"fact" need:"yes"`
}

// Longer is true for a text of more than Than characters.
type Longer struct {
	Of   Template `yaml:"of" need:"yes"`
	Than int      `yaml:"than" need:"yes"`
}

// Comparison is true when both sides yield the same text.
type Comparison struct {
	Of Template `yaml:"of" need:"yes"`
	To Template `yaml:"to" need:"yes"`
}

// Selector picks records of a collection by one stored value.
type Selector struct {
	In    string   `yaml:"in" need:"yes"`
	Field Template `yaml:"field" need:"yes"` // JSON pointer into the stored record
	Value Template `yaml:"value" need:"yes"`
	Fold  bool     `yaml:"fold"` // letter case does not matter
}

// EffectRule is a request that changes the target: it commits one record, or one for each item of a batch.
type EffectRule struct {
	In      string   `yaml:"in" need:"yes"`
	Each    Template `yaml:"each"` // the items of a batch
	Store   Template `yaml:"store" need:"yes"`
	Mark    Template `yaml:"mark"` // the sender's mark, when the request has a place for it
	Key     *Key     `yaml:"key"`
	Natural *Natural `yaml:"natural"`
	Result  Template `yaml:"result"` // one item of ${results}
	Answer  Answer   `yaml:"answer" need:"yes"`
}

// Key is how the target treats an idempotency key.
type Key struct {
	At           Template `yaml:"at" need:"yes"`
	Window       Span     `yaml:"window" need:"yes"`
	OtherPayload Answer   `yaml:"other_payload" need:"yes"`
	Concurrent   Answer   `yaml:"concurrent" need:"yes"`
	StoresErrors bool     `yaml:"stores_errors"`
	ReplayHeader string   `yaml:"replay_header"` // set to "true" on a repeated answer
	Fact         Fact     `yaml:"fact" need:"yes"`
}

// Natural is a unique value in the record itself.
type Natural struct {
	Field    Template `yaml:"field" need:"yes"`
	Value    Template `yaml:"value" need:"yes"`
	Fold     bool     `yaml:"fold"`
	Again    string   `yaml:"again" need:"yes"` // update: overwrite and answer with the same id; same: answer with the same id; conflict: refuse
	Conflict *Answer  `yaml:"conflict"`
	Archived string   `yaml:"archived"` // frees (default): an archived record gives its value free; holds: it still occupies it
	Fact     Fact     `yaml:"fact" need:"yes"`
}

// Get reads one record.
type Get struct {
	By     Selector `yaml:"by" need:"yes"`
	Lag    Span     `yaml:"lag"`
	Answer Answer   `yaml:"answer" need:"yes"`
	Absent Answer   `yaml:"absent" need:"yes"`
	Fact   Fact     `yaml:"fact" need:"yes"`
}

// List reads a page of records, oldest first.
type List struct {
	By     Selector `yaml:"by" need:"yes"`
	All    bool     `yaml:"all"` // the selector does not filter: the target has no such filter
	Lag    Span     `yaml:"lag"`
	Limit  Template `yaml:"limit" need:"yes"`
	Cursor Template `yaml:"cursor" need:"yes"`
	Result Template `yaml:"result" need:"yes"`
	Answer Answer   `yaml:"answer" need:"yes"`
	Fact   Fact     `yaml:"fact" need:"yes"`
}

// Archive takes a record out of sight.
type Archive struct {
	By     Selector `yaml:"by" need:"yes"`
	Answer Answer   `yaml:"answer" need:"yes"`
	Absent Answer   `yaml:"absent" need:"yes"`
	Fact   Fact     `yaml:"fact" need:"yes"`
}

// Answer is a response template. Body is sent as JSON; an absent body sends none.
type Answer struct {
	Status  int                 `yaml:"status" need:"yes"`
	Headers map[string]Template `yaml:"headers"`
	Body    Template            `yaml:"body"`
}

// Span is a length of time such as 24h.
type Span time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Span) UnmarshalYAML(n *yaml.Node) error {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d < 0 {
		return atLine(n, fmt.Sprintf("%q is not a length of time; write for example 30s or 24h", n.Value))
	}
	*s = Span(d)
	return nil
}

// Fact is the source of a line: "[grade] page: statement".
type Fact string

var (
	factShape  = regexp.MustCompile(`^\[(A|B|C|U|made)\] \S.*$`)
	factSource = regexp.MustCompile(`^\[(A|B|C)\] https://\S+`)
)

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *Fact) UnmarshalYAML(n *yaml.Node) error {
	switch {
	case !factShape.MatchString(n.Value):
		return atLine(n, "a fact starts with its grade: [A], [B], [C], [U] (unverified) or [made] (not a real product), then the page and what it says")
	case n.Value[1] != 'U' && n.Value[1] != 'm' && !factSource.MatchString(n.Value):
		return atLine(n, "a graded fact names its page right after the grade, as https://…")
	}
	*f = Fact(n.Value)
	return nil
}

// UnmarshalYAML implements yaml.Unmarshaler; it keeps the line for later messages.
func (r *Route) UnmarshalYAML(n *yaml.Node) error {
	type plain Route
	r.line = n.Line
	err := n.Decode((*plain)(r))
	r.steps = strings.Split(r.Path, "/")
	return err
}
