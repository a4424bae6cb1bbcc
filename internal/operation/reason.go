package operation

// Reason is a stable code that says why; pages own the sentence.
type Reason string

// Action is what Next answers. Its zero value asks a person: a forgotten case stops, it never acts.
type Action uint8

// The actions.
const (
	ActionAsk    Action = iota // a named person decides
	ActionWait                 // nothing may be done before Due
	ActionLookUp               // ask the target what happened
	ActionSend                 // first send, or a retry after proof
	ActionReplay               // send the same bytes again inside the target's protection
	ActionDone                 // nothing is left to do
	actionCount
)
