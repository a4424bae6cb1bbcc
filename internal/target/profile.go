package target

import (
	"regexp"
	"time"

	"holdfast/internal/operation"
)

var nameShape = regexp.MustCompile(`^[a-z][a-z0-9-]{0,47}$`)

// Claim is where a statement about a target comes from. Doc is a documentation page, or "contract" for a target
// whose contract is the profile's own text. Grade A: read in the vendor's own pages; B: the vendor's page as
// quoted elsewhere; C: third party only. There is no U: what is unverified does not stand in a profile.
type Claim struct {
	Doc     string
	Checked string // the date, as 2026-11-29
	Grade   string
}

// Profile is everything that is believed about one target and one kind of operation in it.
type Profile struct {
	Name     string
	Version  int
	Title    string
	Summary  string // what the operation does, in plain words
	Contract string // for a user's own service: what it must do

	Destination Destination // Base may be "": then configuration must give one
	Auth        Auth
	Content     []Field
	Request     Call
	Answers     []Rule // first match wins; unmatched is unknown
	Protection  Protection
	Lookup      *Lookup // nil: the target cannot be asked
	Feed        *Feed
	Retry       Retry
	Recovery    Recovery
	Rate        *Rate
	Timeout     time.Duration // of one request
}

// AuthKind says how a request proves who sends it.
type AuthKind string

// The kinds of authentication.
const (
	AuthNone              AuthKind = "none"
	AuthBearer            AuthKind = "bearer"
	AuthHeader            AuthKind = "header"
	AuthClientCredentials AuthKind = "oauth_client_credentials"
	AuthRefreshToken      AuthKind = "oauth_refresh_token"
)

// Auth names the secrets a target needs. It never holds one.
type Auth struct {
	Kind     AuthKind
	Secret   string // name of the token, the header's value, or the client's secret
	Header   string // with AuthHeader
	TokenURL string // with OAuth: an https address, or a path under the destination's base address
	ClientID string // with OAuth: name of the secret that holds it
	Refresh  string // with AuthRefreshToken: name of the secret that holds it
	Scope    string
	Claim    Claim
}

// FieldType is the type of a content field.
type FieldType string

// The types of content fields.
const (
	FieldString  FieldType = "string"
	FieldInteger FieldType = "integer"
	FieldNumber  FieldType = "number"
	FieldBoolean FieldType = "boolean"
	FieldStrings FieldType = "strings" // a list of texts
	FieldObject  FieldType = "object"  // any JSON object
)

// Field is one declared part of the content.
type Field struct {
	Name     string
	Type     FieldType
	Required bool
	Max      int // bytes of a string, items of a list; 0 means the bound on the whole body only
}

// Call is one kind of request as a template.
type Call struct {
	Method  string
	Path    text
	Query   []pair
	Headers []pair
	Body    *tree // nil: no body
	Claim   Claim
}

// RuleOutcome is what an answer proves by a rule.
type RuleOutcome string

// The outcomes of answer rules. Conflict means unknown, and that somebody holds the key or value already.
const (
	RuleExecuted    RuleOutcome = "executed"
	RuleNotExecuted RuleOutcome = "not_executed"
	RuleUnknown     RuleOutcome = "unknown"
	RuleConflict    RuleOutcome = "conflict"
)

// Rule says what one kind of answer proves.
type Rule struct {
	Status      statuses
	Where       []Condition
	Outcome     RuleOutcome
	Reference   []pointer // joined by ":"; with executed only
	Reason      string
	StoredError bool // the target stored this error under the key: repeating the key repeats the error
	Retry       bool // a later attempt may be answered differently
	Claim       Claim
}

// Condition is true of an answer or not. Exactly one of JSON and Header is set.
type Condition struct {
	JSON   pointer
	Header string
	Equals []string // the scalar's text is one of these; "${operation}" is our operation's id
	Exists *bool    // present and not null
}

// NaturalFrom says what a natural key is made from.
type NaturalFrom string

// The origins of a natural key. Only the first two let a request be repeated (R3).
const (
	NaturalOperation NaturalFrom = "operation" // our operation's id
	NaturalReference NaturalFrom = "reference" // the reference of an earlier operation of ours
	NaturalContent   NaturalFrom = "content"   // a value that content gives: others may hold it too
)

// Protection is what the target documents against repeats.
type Protection struct {
	Kind       operation.Protection
	KeyHeader  string  // where the key goes: a header …
	KeyJSON    pointer // … or a place in the body
	KeyClaim   Claim
	Window     time.Duration // how long the key is remembered
	Margin     time.Duration
	WindowAt   Claim
	Natural    string // which value is unique, in words
	From       NaturalFrom
	NaturalAt  Claim
	OtherBody  *Statement // what the same key with another body gets
	Stored     *Statement // what is stored under a key
	Concurrent *Statement // what two at once get
}

// Statement is a documented behaviour in words.
type Statement struct {
	Says  string
	Claim Claim
}

// Lookup is how the target is asked by our mark.
type Lookup struct {
	Call     Call
	List     pointer // set: the answer is a list of effects at this place
	Found    []FoundRule
	Absent   []FoundRule
	Conflict []FoundRule
	Visible  *Visible  // nil: not documented, so that finding nothing never counts
	Complete *Complete // nil: not documented, likewise
	Every    time.Duration
	Max      int
}

// FoundRule recognises one kind of answer to a lookup. Mark and Reference are for found rules only, and relative
// to the item when the lookup has a list.
type FoundRule struct {
	Status    statuses
	Where     []Condition
	Mark      pointer
	MarkWord  bool // the mark is one of the words of that text, not the whole of it
	Reference []pointer
	Claim     Claim
}

// Visible is how long an effect may stay invisible to a lookup.
type Visible struct {
	After time.Duration
	Claim Claim
}

// Complete is when a lookup saw everything there is.
type Complete struct {
	Statement
	When  []Condition
	Total pointer // how many there are in all; with a list only
}

// Feed is the target's own event that joins to our operation. Declared for people and for the feed handler.
type Feed struct {
	Event  string
	Joins  string
	Proves string
	Claim  Claim
}

// Retry is our own policy after a proven not_executed.
type Retry struct {
	Attempts int
	First    time.Duration
	Factor   float64
	Max      time.Duration
}

// Recovery is our own policy after an unknown outcome.
type Recovery struct {
	Order   operation.Order
	Replays int
	Quiet   time.Duration // after this an effect cannot newly appear
}

// Rate is the target's documented limit.
type Rate struct {
	Requests int
	Per      time.Duration
	Claim    Claim
}

const (
	skewDefault  = 5 * time.Second
	leaseDefault = 2 * time.Minute
)

// Options are the bounds of the machines that send, not of the target.
type Options struct {
	Skew  time.Duration // between two machines' clocks; 0 means 5 s
	Lease time.Duration // at least the function's hard kill time; 0 means 2 min
}

// Policy gives the core what it may rely on. A natural key that is not made from our own id lets nothing be
// repeated, so it counts as no protection; finding nothing counts only where delay and completeness are documented.
func (p *Profile) Policy(o Options) operation.Policy {
	out := operation.Policy{
		Protection: p.Protection.Kind, KeyWindow: p.Protection.Window, KeyMargin: p.Protection.Margin,
		Order: p.Recovery.Order, ReplaysMax: p.Recovery.Replays, Quiet: p.Recovery.Quiet,
		AttemptsMax: p.Retry.Attempts, BackoffMin: p.Retry.First, BackoffMax: p.Retry.Max, Factor: p.Retry.Factor,
		Timeout: p.Timeout, Skew: orDefault(o.Skew, skewDefault), Lease: max(orDefault(o.Lease, leaseDefault), 2*p.Timeout),
	}
	if out.Protection == operation.ProtectionNatural && p.Protection.From == NaturalContent {
		out.Protection = operation.ProtectionNone
	}
	if l := p.Lookup; l != nil {
		out.Lookup, out.LookupEvery, out.LookupsMax = true, l.Every, l.Max
		if l.Visible != nil {
			out.Visible = l.Visible.After
		}
		out.AbsentCounts = l.Visible != nil && l.Complete != nil
	}
	return out
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}
