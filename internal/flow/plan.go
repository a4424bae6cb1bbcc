package flow

import "holdfast/internal/operation"

// PinnedPlan is the compiled plan as it is kept on a run: the first thing that planning writes. Every later step
// and handler reads this, never the flow file, so that a deploy in between changes nothing for the run. It holds
// no expressions and no content.
type PinnedPlan struct {
	Flow       string             `json:"flow"`
	Version    int                `json:"version"`
	Owner      operation.Person   `json:"owner"`
	Escalate   []operation.Person `json:"escalate,omitempty"`
	Standing   bool               `json:"standing,omitempty"` // the owner authorised this version in advance
	Reviewers  []operation.Person `json:"reviewers,omitempty"`
	Expires    Duration           `json:"expires,omitzero"` // of the question
	Valid      Duration           `json:"valid,omitzero"`   // of a yes
	SendWithin Duration           `json:"send_within"`      // counted from the event
	Stages     []PinnedStage      `json:"stages"`
}

// PinnedStage is one stage of a pinned plan. Whoever plans fills in the operation's id and the profile's version.
type PinnedStage struct {
	Name         string             `json:"name"`
	Operation    operation.ID       `json:"operation"`
	Target       string             `json:"target"`
	Profile      int                `json:"profile"` // version of the target's profile
	After        string             `json:"after,omitempty"`
	AfterSettled bool               `json:"after_settled,omitempty"`
	OnFailed     operation.OnFailed `json:"on_failed"`
	KeyShape     string             `json:"key_shape"`
}

// Pin makes the plan of a file, without operation ids and profile versions.
func Pin(f File) PinnedPlan {
	p := PinnedPlan{
		Flow: f.Name, Version: f.Version, Owner: f.Owner, Escalate: f.Escalate,
		Standing: f.Approval.Standing, Reviewers: f.Approval.Reviewers,
		Expires: f.Approval.Expires, Valid: f.Approval.Valid, SendWithin: f.SendWithin,
	}
	for _, s := range f.Stages {
		p.Stages = append(p.Stages, PinnedStage{
			Name: s.Name, Target: s.Target, After: s.After, AfterSettled: s.AfterSettled,
			OnFailed: s.OnFailed, KeyShape: KeyShape(s),
		})
	}
	return p
}

// Reasons why an event is not planned into operations. They are stored and shown; permanent.
const (
	ReasonTrigger    operation.Reason = "trigger_says_no"     // the flow is not meant for this event
	ReasonAccount    operation.Reason = "other_account"       // the flow is meant for another account of the source
	ReasonMissing    operation.Reason = "missing_data"        // a required field is missing, null or blank
	ReasonIdentity   operation.Reason = "identity_unclear"    // a part of a business key is missing, blank or ambiguous
	ReasonExpression operation.Reason = "expression_failed"   // an expression cannot be evaluated on this event
	ReasonContent    operation.Reason = "content_not_allowed" // the content does not fit what the target's profile allows
	ReasonBody       operation.Reason = "body_unreadable"     // the body is no JSON that has one meaning
)
