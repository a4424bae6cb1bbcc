package flow

import "holdfast/internal/operation"

// Bounds of one flow file. A file that passes one is refused.
const (
	FileBytesMax       = 64 << 10 // bytes of one file
	FilesMax           = 200      // files in one directory
	StagesMax          = 10       // stages of one flow
	KeyPartsMax        = 8        // expressions in one key
	RequireMax         = 50       // required fields of one flow
	PersonsMax         = 20       // people in one list
	TopicsMax          = 10       // topics of one trigger
	NameBytesMax       = 64       // bytes of a name
	TopicBytesMax      = 128      // bytes of a topic
	ExpressionBytesMax = 2 << 10  // bytes of one expression
	TextBytesMax       = 32 << 10 // bytes of one text in a content
	ContentDepthMax    = 8        // levels of lists and mappings in a content
	ContentItemsMax    = 200      // members of one list or mapping in a content
)

// Position is where something stands in a file; both count from 1. The zero Position means "nowhere".
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Text is a text of the file. Exact says that its characters stand in the file one by one from At, so that a
// place within the text can be shown too.
type Text struct {
	Value string
	At    Position
	Exact bool
}

// Within is the position of the byte offset in the text, or where the text begins when that cannot be told.
func (t Text) Within(offset int) Position {
	if !t.Exact || offset < 0 || offset > len(t.Value) {
		return t.At
	}
	return Position{Line: t.At.Line, Column: t.At.Column + len([]rune(t.Value[:offset]))}
}

// File is one flow as its author wrote it.
type File struct {
	Path       string // of the file, for messages
	Name       string // permanent: part of the identity of runs and operations
	Version    int    // pinned on each run; never part of an identity
	Owner      operation.Person
	Account    string // only events of this account of the source; "" for any
	Trigger    Trigger
	Require    []Require
	Approval   Approval
	SendWithin Duration // counted from the event; later a person is asked
	Escalate   []operation.Person
	Stages     []Stage
	At         Position
}

// Trigger says which events start the flow. When is a CEL expression that gives true or false; it may be empty.
type Trigger struct {
	Source   string
	SourceAt Position
	Topics   []string
	When     Text
}

// Missing says what happens to an event that lacks a required field.
type Missing string

// The missing-data rules.
const (
	MissingReject Missing = "reject" // the event is refused: nothing is done and nobody is asked
	MissingHold   Missing = "hold"   // the event is held until its owner supplies the field or says no
)

// Require is one field that the event must have. A blank or null field counts as missing.
type Require struct {
	Field   Text // a dotted path such as body.properties.email
	Missing Missing
	Owner   operation.Person // who is asked; the flow's owner when empty
}

// Approval says who is asked before anything is sent. Standing means that the flow's owner authorised this
// version of the flow in advance (`approval: none`); the other fields are then empty.
type Approval struct {
	Standing  bool
	Reviewers []operation.Person
	Expires   Duration // how long the question stands
	Valid     Duration // how long a yes may be used
	At        Position
}

// Stage is one intended effect in one target.
type Stage struct {
	Name         string // permanent: part of the operation's identity
	Key          []Text // CEL expressions; their shape is permanent, see KeyShape
	Target       string // a profile's name
	After        string // "" starts at once
	AfterSettled bool   // starts also after a failed or declined one
	OnFailed     operation.OnFailed
	Content      []Member // the fields of the content, in the file's order
	At           Position
	AfterAt      Position
	TargetAt     Position
	ContentAt    Position
}

// ValueKind says what a value of a content is.
type ValueKind uint8

// The kinds of values.
const (
	ValueText   ValueKind = iota // a template: text with `${expression}` in it
	ValueNumber                  // a JSON number literal, with all its digits
	ValueBool
	ValueList
	ValueObject
)

// Value is one value of a content, not evaluated.
type Value struct {
	Kind    ValueKind
	Text    Text     // of a text, a number or a bool: as written
	Items   []Value  // of a list
	Members []Member // of an object
}

// Member is one named value.
type Member struct {
	Name  string
	At    Position
	Value Value
}

// Stage is the stage of that name; ok is false when the flow has none.
func (f *File) Stage(name string) (Stage, bool) {
	for _, s := range f.Stages {
		if s.Name == name {
			return s, true
		}
	}
	return Stage{}, false
}

// StageNames are the names of all stages in the file's order.
func (f *File) StageNames() []string {
	names := make([]string, len(f.Stages))
	for i, s := range f.Stages {
		names[i] = s.Name
	}
	return names
}

// Referable says whether the stage's content may use the reference of the stage before: before must be reached
// over `after`, and be certain to be confirmed when the stage starts. The problem says why not.
func (f *File) Referable(stage, before string) (ok bool, problem string) {
	certain := true
	for range f.Stages {
		s, found := f.Stage(stage)
		if !found || s.After == "" {
			break
		}
		previous, _ := f.Stage(s.After)
		certain = certain && !s.AfterSettled && previous.OnFailed != operation.OnFailedContinue
		if s.After == before {
			if !certain {
				return false, "it may have failed by then and have no reference"
			}
			return true, ""
		}
		stage = s.After
	}
	return false, "the stage does not start after it"
}
