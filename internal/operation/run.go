package operation

// EventID names an event, `ev_…`.
type EventID string

// EventStatus is where an event stands.
type EventStatus uint8

const (
	// EventReceived: durable, and its runs may not all exist yet. Left by planning.
	EventReceived EventStatus = iota
	// EventPlanned: every matched flow has its run. Final.
	EventPlanned
	// EventHeld: a named person must supply or decide something (Reason says what).
	EventHeld
	// EventRefused: proven not to be acted on (a `reject` rule, or a person said no). Final.
	EventRefused
	eventStatusCount
)

// Delivery is one HTTP notification that carried the event.
type Delivery struct {
	ID         string `json:"id"` // the sender's delivery id; "" when it has none
	At         Time   `json:"at"`
	BodyDigest Digest `json:"body_digest"`
	Count      int    `json:"count,omitempty"`   // equal deliveries fold
	Variant    bool   `json:"variant,omitempty"` // another subscription's shape of the same event
}

// Event is one thing that happened at a source.
type Event struct {
	ID         EventID     `json:"id"`
	Source     string      `json:"source"`
	Account    string      `json:"account"`
	Topic      string      `json:"topic"`
	Rung       string      `json:"rung"`      // which step of the identity ladder named it
	SignedID   bool        `json:"signed_id"` // the signature covers the identity
	BodyDigest Digest      `json:"body_digest"`
	Canonical  Digest      `json:"canonical,omitempty"` // of the canonical body
	Payload    Digest      `json:"payload"`             // of the stored payload item
	Received   Time        `json:"received"`
	Occurred   Time        `json:"occurred,omitempty"` // by the source's own account
	Deliveries []Delivery  `json:"deliveries"`
	Flows      []string    `json:"flows"` // names of the matched flows, so that a repeat or the sweep makes a run that a crash left out
	Runs       []RunID     `json:"runs"`
	Status     EventStatus `json:"status"`
	Reason     Reason      `json:"reason,omitempty"`
	Missing    []string    `json:"missing,omitempty"` // field names, never values
	Owner      Person      `json:"owner"`
	Evidence   []Evidence  `json:"evidence,omitempty"`
	HeldSince  Time        `json:"held_since,omitempty"`
	// PayloadExpires is when the stored bodies go, set once no run needs them.
	PayloadExpires Time  `json:"payload_expires,omitempty"`
	Step           Step  `json:"step"`
	Rev            int64 `json:"rev"`
}

// RunStatus is where a run stands.
type RunStatus uint8

const (
	// RunStarted: not every stage is settled. An execution carries it, or its next step is due.
	RunStarted RunStatus = iota
	// RunDone: every stage is confirmed, or settled and its failure rule said continue. Final.
	RunDone
	// RunNotApplicable: the flow's trigger said no. Final.
	RunNotApplicable
	// RunHeld: a named person must decide something first.
	RunHeld
	// RunStopped: a person withdrew what was not yet sent, or a stage failed and its rule said stop. Final.
	RunStopped
	runStatusCount
)

// OnFailed is a stage's failure rule.
type OnFailed string

// The failure rules. Stop is the default.
const (
	OnFailedStop     OnFailed = "stop"
	OnFailedHold     OnFailed = "hold"
	OnFailedContinue OnFailed = "continue"
)

// StageRef is one stage of a run and the operation that carries it out.
type StageRef struct {
	Name         string   `json:"name"`
	Operation    ID       `json:"operation"`
	After        string   `json:"after,omitempty"`
	AfterSettled bool     `json:"after_settled,omitempty"` // starts also after a failed or declined one
	OnFailed     OnFailed `json:"on_failed"`
	Conflict     bool     `json:"conflict,omitempty"` // the operation exists with other content: reuse, or a deliberate second?
	Continue     bool     `json:"continue,omitempty"` // a person said to go on after the stage before failed or was closed
	Reused       bool     `json:"reused,omitempty"`   // the operation existed with the same content
}

// Run is one flow started for one event.
type Run struct {
	ID         RunID      `json:"id"`
	Flow       string     `json:"flow"`
	Version    int        `json:"version,omitempty"` // pinned by the plan
	Event      EventID    `json:"event"`
	Source     string     `json:"source"`
	Owner      Person     `json:"owner"`
	Created    Time       `json:"created"`
	Occurred   Time       `json:"occurred,omitempty"`
	Generation int        `json:"generation"`         // of the execution: its name is ID-Generation
	Failures   int        `json:"failures,omitempty"` // states of this generation that failed
	Launched   Time       `json:"launched,omitempty"` // when that execution was started; zero while it may not have been
	Status     RunStatus  `json:"status"`
	Reason     Reason     `json:"reason,omitempty"`
	Missing    []string   `json:"missing,omitempty"` // what the event lacks, while it is held for that: field names, never values
	Stages     []StageRef `json:"stages,omitempty"`  // empty until planned
	Token      string     `json:"-"`                 // kept as an attribute of its own, never shown
	Answered   []Question `json:"answered,omitempty"`
	Question   *Question  `json:"question,omitempty"` // about the run itself (a conflict of content, an aborted execution)
	Stopped    *Decision  `json:"stopped,omitempty"`
	Finished   Time       `json:"finished,omitempty"`
	Evidence   []Evidence `json:"evidence,omitempty"`
	HeldSince  Time       `json:"held_since,omitempty"`
	HeldFor    int64      `json:"held_for_ms,omitempty"`
	Step       Step       `json:"step"`
	Rev        int64      `json:"rev"`
}
