package operation

import "time"

// Ids. Each is opaque, holds no personal data, and is made outside of this package.
type (
	// ID names an operation, `op_…`: one intended effect in one target, the same over every retry.
	ID string
	// AttemptID names one technical try, `at_…`: random, minted for one claim, never derived.
	AttemptID string
	// RunID names one flow started for one event, `run_…`.
	RunID string
	// QuestionID names one question to a person.
	QuestionID string
	// Person is a named person as configuration writes them, an e-mail address.
	Person string
	// Reference is the target's own id of an effect.
	Reference string
	// Digest is a SHA-256 in lower-case hexadecimal.
	Digest string
)

// Outcome is what an attempt proved. Its zero value is unknown: whoever forgets to say what was proven has proven nothing.
type Outcome uint8

// The three outcomes.
const (
	OutcomeUnknown     Outcome = iota // nothing is proven
	OutcomeNotExecuted                // proven: the target did not and will not carry it out
	OutcomeExecuted                   // proven by the target's reference
)

// Status is where an operation stands. It is a fold over all its attempts (see Fold), never the last word of one.
type Status uint8

const (
	// StatusProposed: nothing was ever claimed. Entered by planning; left by a claim, a decline or a stop.
	// A crash here loses nothing: the content is frozen and the next step is due.
	StatusProposed Status = iota
	// StatusInFlight: an attempt holds the claim and its lease may still run. Entered by a claim; left by the
	// attempt's outcome or by the end of its lease. A crash here means unknown, never "not sent".
	StatusInFlight
	// StatusReady: every attempt is proven not executed and the policy allows another. Left by a claim.
	StatusReady
	// StatusUnknown: at least one attempt is open and over. Left only by proof or by a person.
	StatusUnknown
	// StatusHeld: automatic work has stopped, a named person decides. Left by a decision or by proof.
	StatusHeld
	// StatusConfirmed: the target's reference is saved. Final and reused (R8).
	StatusConfirmed
	// StatusFailed: every attempt is proven not executed and the policy is spent. Final.
	StatusFailed
	// StatusDeclined: a person, an expiry or a stop said no before anything was sent. Final.
	StatusDeclined
	// StatusAbandoned: a person closed it without proof. Final, counted neither as success nor as failure.
	StatusAbandoned
	statusCount
)

// Settled says that no automatic work is left for the status itself.
func (s Status) Settled() bool {
	return s == StatusConfirmed || s == StatusFailed || s == StatusDeclined || s == StatusAbandoned
}

// Content is the request as it will be sent, named by version and digest; the bytes are kept beside the operation.
// Version counts edits. Digest is over the wire request with its holes unfilled: what a person approves.
type Content struct {
	Version int    `json:"version"`
	Digest  Digest `json:"digest"`
}

// Filled is the content with its holes (the reference of an earlier stage, the key) filled once, at the first
// claim under a key generation; replays send exactly these bytes.
type Filled struct {
	Version    int    `json:"version"`
	Generation int    `json:"generation"`
	Digest     Digest `json:"digest"`
}

// Approval lets content be sent until ValidUntil. Standing means that the flow's owner authorised the flow
// version in advance (`approval: none`) and By names that owner.
type Approval struct {
	By         Person     `json:"by"`
	At         Time       `json:"at"`
	Version    int        `json:"version"`
	Digest     Digest     `json:"digest"`
	ValidUntil Time       `json:"valid_until"`
	Standing   bool       `json:"standing,omitempty"`
	Question   QuestionID `json:"question,omitempty"`
}

// Attestation is a person's word that an attempt had no effect. It permits a resend; it is never proof.
type Attestation struct {
	By  Person `json:"by"`
	At  Time   `json:"at"`
	How string `json:"how"`
	// AfterConfirmed: given when the operation was confirmed by another attempt; it closes the doubt about a second effect.
	AfterConfirmed bool `json:"after_confirmed,omitempty"`
}

// Attempt is one technical try: at most one request on the wire.
type Attempt struct {
	ID         AttemptID    `json:"id"`
	Run        RunID        `json:"run,omitempty"`
	Replay     bool         `json:"replay,omitempty"`      // sent inside the target's protection
	Claimed    Time         `json:"claimed"`               // read before the claim request left
	LeaseUntil Time         `json:"lease_until"`           // the sender sends nothing after this
	Version    int          `json:"version"`               // of the content
	Generation int          `json:"generation"`            // of the key
	Digest     Digest       `json:"digest"`                // of the filled bytes
	Recorded   Time         `json:"recorded,omitempty"`    // when its owner recorded what it saw; zero while it did not
	Outcome    Outcome      `json:"outcome,omitempty"`     // what is proven about it, by itself or by later evidence
	Reference  Reference    `json:"reference,omitempty"`   // set when proven executed
	NoRepeat   bool         `json:"no_repeat,omitempty"`   // the target stored an error under the key: replaying it is useless
	RetryAfter Time         `json:"retry_after,omitempty"` // the target asked for no request before this
	Restored   bool         `json:"restored,omitempty"`    // added when a restored ledger was accepted: unknown what happened after the copy
	Permanent  bool         `json:"permanent,omitempty"`   // the target's proven rejection will not change by trying again
	Ended      Time         `json:"ended,omitempty"`       // when somebody wrote down that its lease had ended
	Attested   *Attestation `json:"attested,omitempty"`
}

// Open says that nothing is proven about the attempt.
func (a *Attempt) Open() bool { return a.Outcome == OutcomeUnknown }

// Over says that the attempt's sender can no longer put a byte on the wire: it recorded what it saw, or its
// lease and the bound on clock skew have passed.
func (a *Attempt) Over(skew time.Duration, now Time) bool {
	return a.Recorded != 0 || now > a.LeaseUntil.Add(skew)
}

// EvidenceKind says what kind of recorded fact justifies a change of state (R6).
type EvidenceKind string

// The kinds of evidence.
const (
	EvidencePlanned        EvidenceKind = "planned"         // the plan created the operation
	EvidenceClaimed        EvidenceKind = "claimed"         // an attempt took the claim
	EvidenceAnswer         EvidenceKind = "answer"          // the target's answer proved an outcome
	EvidenceNoByteSent     EvidenceKind = "no_byte_sent"    // no byte of the request was handed to the connection
	EvidenceNoAnswer       EvidenceKind = "no_answer"       // the request may have arrived, the answer proves nothing
	EvidenceLeaseOver      EvidenceKind = "lease_over"      // the attempt's lease ended without an outcome
	EvidenceLookupFound    EvidenceKind = "lookup_found"    // exactly one effect with our mark
	EvidenceLookupAbsent   EvidenceKind = "lookup_absent"   // a complete lookup found none; settles nothing
	EvidenceLookupConflict EvidenceKind = "lookup_conflict" // several, or one without our mark
	EvidenceLookupFailed   EvidenceKind = "lookup_failed"   // the lookup itself gave no usable answer
	EvidenceFeed           EvidenceKind = "feed"            // the target's own event
	EvidenceApproved       EvidenceKind = "approved"
	EvidenceDeclined       EvidenceKind = "declined"
	EvidenceExpired        EvidenceKind = "expired"   // the question's time ended without a yes
	EvidenceWithdrawn      EvidenceKind = "withdrawn" // a person stopped what was not yet sent
	EvidenceAsked          EvidenceKind = "asked"     // a person was asked
	EvidenceAttested       EvidenceKind = "attested"  // a person says nothing happened; never proof
	EvidencePersonFound    EvidenceKind = "person_found"
	EvidenceCheckAgain     EvidenceKind = "check_again"
	EvidenceAbandoned      EvidenceKind = "closed_without_proof"
	EvidenceKeyReleased    EvidenceKind = "key_released" // a person opened a new key generation
	EvidenceEdited         EvidenceKind = "edited"
	EvidenceContradiction  EvidenceKind = "contradiction"
	EvidenceRestored       EvidenceKind = "restored_ledger_accepted"
	EvidenceRelaunched     EvidenceKind = "next_generation" // the run's next execution was started
	EvidenceReused         EvidenceKind = "reused"          // another run or event relies on this operation
	EvidencePolicySpent    EvidenceKind = "policy_spent"
	EvidenceUnfit          EvidenceKind = "unfit" // what is stored may not be sent as it is
)

// Evidence is one recorded fact. Equal facts in a row fold: Count counts them, At is the first, Last the latest.
// Detail is a short text for people made from rules and numbers, never from content or answers.
type Evidence struct {
	Kind      EvidenceKind `json:"kind"`
	At        Time         `json:"at"`
	Last      Time         `json:"last,omitempty"`
	Count     int          `json:"count,omitempty"`
	Attempt   AttemptID    `json:"attempt,omitempty"`
	Reference Reference    `json:"reference,omitempty"`
	By        Person       `json:"by,omitempty"`
	Detail    string       `json:"detail,omitempty"`
}

// QuestionKind says what a person is asked.
type QuestionKind string

// The kinds of questions.
const (
	QuestionApprove       QuestionKind = "approve"       // may this content be sent?
	QuestionResolve       QuestionKind = "resolve"       // what happened?
	QuestionContradiction QuestionKind = "contradiction" // two facts cannot both be true; what is true?
	QuestionUnsettled     QuestionKind = "unsettled"     // confirmed, but an attempt is still open: did it have an effect too?
)

// Answer is what a person decided.
type Answer string

// The answers. Which of them are legal now, and why the others are not, says Choices.
const (
	AnswerApprove         Answer = "approve"
	AnswerDecline         Answer = "decline"
	AnswerExists          Answer = "exists"           // it exists: the target's reference is given
	AnswerNothingHappened Answer = "nothing_happened" // says how they know; permits a resend
	AnswerCheckAgain      Answer = "check_again"      // look in the target once more
	AnswerClose           Answer = "close"            // close without proof
	AnswerNewKey          Answer = "new_key"          // nothing happened, and send under a new key generation
	AnswerAcknowledge     Answer = "acknowledge"      // a contradiction was seen and dealt with outside
	AnswerExpired         Answer = "expired"          // nobody answered in time; never given by a person
	AnswerSuperseded      Answer = "superseded"       // proof, an edit or another question closed it; never given by a person
)

// Decision is a person's answer, or the expiry of the question (By is then empty).
type Decision struct {
	Answer    Answer    `json:"answer"`
	By        Person    `json:"by,omitempty"`
	At        Time      `json:"at"`
	Reference Reference `json:"reference,omitempty"`
	How       string    `json:"how,omitempty"`
	Minutes   int       `json:"minutes,omitempty"` // of work, entered by the person
}

// Question is what named persons are asked about one operation. At most one is open on an operation.
// An answer is tied to Round, Digest and the revision it was given on: a yes to round 1 is no answer to round 2.
type Question struct {
	ID        QuestionID   `json:"id"`
	Kind      QuestionKind `json:"kind"`
	Round     int          `json:"round"`
	Reason    Reason       `json:"reason"`
	Asked     Time         `json:"asked"`
	Expires   Time         `json:"expires,omitempty"`      // approvals only: an unanswered question about what happened never ends by time
	ValidFor  int64        `json:"valid_for_ms,omitempty"` // how long a yes may be used
	Reviewers []Person     `json:"reviewers"`
	Version   int          `json:"version"`
	Digest    Digest       `json:"digest"`
	Decision  *Decision    `json:"decision,omitempty"`
}

// Contradiction marks two facts that cannot both be true (R12). Sending stops until a person acknowledged it.
type Contradiction struct {
	At     Time      `json:"at"`
	Reason Reason    `json:"reason"`
	First  Reference `json:"first,omitempty"`
	Second Reference `json:"second,omitempty"`
	Other  ID        `json:"other,omitempty"` // the operation that holds the same reference
	SeenBy Person    `json:"seen_by,omitempty"`
}

// Look is what the latest lookups said; each is also evidence.
type Look struct {
	At     Time `json:"at"`               // of the latest lookup
	Absent Time `json:"absent,omitempty"` // of the latest complete lookup that found nothing
	Failed int  `json:"failed,omitempty"` // lookups in a row without a usable answer
	Count  int  `json:"count,omitempty"`  // lookups since the latest claim or check_again
}

// Step is the next step as it was last written down, with who waits for it and until when (R7).
type Step struct {
	Action Action `json:"action"`
	Reason Reason `json:"reason"`
	Due    Time   `json:"due,omitempty"`
	Owner  Person `json:"owner"`
}

// Operation is one intended effect in one target with its whole story.
type Operation struct {
	ID       ID       `json:"id"`
	Flow     string   `json:"flow"`
	Stage    string   `json:"stage"`
	Target   string   `json:"target"`  // profile name
	Profile  int      `json:"profile"` // pinned profile version
	Policy   Policy   `json:"policy"`  // pinned recovery rules
	Owner    Person   `json:"owner"`
	Escalate []Person `json:"escalate,omitempty"`
	Created  Time     `json:"created"`
	SendBy   Time     `json:"send_by,omitempty"`
	Runs     []RunID  `json:"runs"`
	Second   string   `json:"second,omitempty"` // the nonce of a deliberate second operation

	Status        Status         `json:"status"`
	Reason        Reason         `json:"reason,omitempty"`
	Content       Content        `json:"content"`
	Filled        *Filled        `json:"filled,omitempty"`
	Generation    int            `json:"generation,omitempty"`
	Approval      *Approval      `json:"approval,omitempty"`
	Attempts      []Attempt      `json:"attempts,omitempty"`
	Budget        int            `json:"budget,omitempty"` // attempts before the latest release, not counted against the policy again
	Reference     Reference      `json:"reference,omitempty"`
	Confirmed     Time           `json:"confirmed,omitempty"`
	Look          Look           `json:"look,omitzero"`
	Question      *Question      `json:"question,omitempty"`
	Answered      []Question     `json:"answered,omitempty"`
	Round         int            `json:"round,omitempty"`
	Contradiction *Contradiction `json:"contradiction,omitempty"`
	Evidence      []Evidence     `json:"evidence"`
	HeldSince     Time           `json:"held_since,omitempty"`
	HeldFor       int64          `json:"held_for_ms,omitempty"`
	WorkMinutes   int            `json:"work_minutes,omitempty"`
	Step          Step           `json:"step"`
	Rev           int64          `json:"rev"`
}

// Bounds of one operation's story; a fact that would pass one is refused and the operation is held.
const (
	AttemptsBound = 24
	EvidenceBound = 200
	RunsBound     = 50
	AnsweredBound = 40
	// evidenceReserve is room past the bound for what may still arrive after the operation was held for its full story.
	evidenceReserve = 40
	answeredReserve = 10 // a full story can still be answered
	attemptsReserve = 4  // a restored ledger can still be accepted
)

// What a story can hold at most, its reserve included: nothing longer is ever stored.
const (
	AttemptsMost = AttemptsBound + attemptsReserve
	EvidenceMost = EvidenceBound + evidenceReserve
	AnsweredMost = AnsweredBound + answeredReserve
)
