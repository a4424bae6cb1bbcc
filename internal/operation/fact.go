package operation

import "fmt"

// Fact is something that happened and may change what is known about an operation. Apply is its only entrance.
type Fact interface {
	cells(*transitions) row
	when() Time
}

// Claim takes the exclusive right to make one attempt. It is the write-ahead mark: after it, a crash anywhere
// leaves unknown, never "not sent". At is read before the claim request leaves.
type Claim struct {
	Attempt    AttemptID
	Run        RunID
	At         Time
	LeaseUntil Time
	Replay     bool
	Filled     Filled
}

// Reported is what an attempt's owner saw. Zero Outcome means that it proves nothing.
type Reported struct {
	Attempt    AttemptID
	At         Time
	Outcome    Outcome
	Kind       EvidenceKind
	Reference  Reference
	NoRepeat   bool
	Permanent  bool
	RetryAfter Time
	Detail     string
}

// LeaseOver says that the time of every attempt without an outcome is over. It proves nothing.
type LeaseOver struct{ At Time }

// LookResult is what a lookup said.
type LookResult uint8

// The results of a lookup. The zero value is no usable answer.
const (
	LookFailed   LookResult = iota
	LookAbsent              // a complete lookup found nothing
	LookFound               // exactly one effect with our mark
	LookConflict            // several, or one without our mark
)

// Looked is one lookup's result.
type Looked struct {
	At        Time // read before the lookup left
	Result    LookResult
	Reference Reference
	Detail    string
}

// Fed is the target's own event: an effect with our mark exists. Its silence proves nothing.
type Fed struct {
	At        Time
	Reference Reference
	Detail    string
}

// Asked puts a question to named persons. Another open question is superseded.
type Asked struct {
	At       Time
	Question Question
}

// Decided is a person's answer, tied to the question, round, content and revision they saw.
type Decided struct {
	At        Time
	Question  QuestionID
	Round     int
	Digest    Digest
	Rev       int64
	By        Person
	Answer    Answer
	Reference Reference
	How       string
	Minutes   int
}

// Lapsed says that the open question's time ended. It is a decision on the same item under the same condition: the first write wins.
type Lapsed struct {
	At       Time
	Question QuestionID
}

// Edited replaces the content by a new version that needs a new approval.
type Edited struct {
	At      Time
	By      Person
	Content Content
}

// Withdrawn stops what is not yet sent.
type Withdrawn struct {
	At  Time
	By  Person
	How string
}

// Reopened is a person's "run again" on something proven not executed or declined: it needs a new approval.
type Reopened struct {
	At Time
	By Person
}

// Restored says that a restored ledger was accepted: what happened after the copy was made is unknown.
type Restored struct {
	At      Time
	By      Person
	Attempt AttemptID
}

// Related says that another run relies on this operation.
type Related struct {
	At  Time
	Run RunID
}

// Shared says that the audit found the same reference on another operation.
type Shared struct {
	At        Time
	Other     ID
	Reference Reference
}

// Unfit says that what is stored may not be sent as it is: the bytes are not the approved ones, the profile or an
// earlier stage's reference is missing. A person decides.
type Unfit struct {
	At     Time
	Reason Reason
}

// Refusal is the answer to a fact that may not change the operation. Nothing was changed.
type Refusal struct {
	Reason   Reason
	Standing *Decision // the decision that stands, for already_decided
}

// Error lets a refusal travel where an error is expected.
func (r *Refusal) Error() string { return "refused: " + string(r.Reason) }

func refuse(why Reason) *Refusal { return &Refusal{Reason: why} }

// Apply answers the operation after fact f under policy p, or why the fact was refused. The argument is not changed.
// Every accepted fact leaves evidence, the folded status and the next step with its owner and due time.
func Apply(op *Operation, f Fact, p Policy) (*Operation, *Refusal) {
	if op.Status >= statusCount {
		return nil, refuse(ReasonNotLegal)
	}
	next := op.clone()
	if r := f.cells(&table)[op.Status](next, f, p); r != nil {
		return nil, r
	}
	next.refold(p, f.when())
	next.schedule(p, f.when())
	return next, nil
}

func (op *Operation) clone() *Operation {
	c := *op
	c.Attempts = append([]Attempt(nil), op.Attempts...)
	c.Evidence = append([]Evidence(nil), op.Evidence...)
	c.Answered = append([]Question(nil), op.Answered...)
	c.Runs = append([]RunID(nil), op.Runs...)
	c.Escalate = append([]Person(nil), op.Escalate...)
	if op.Question != nil {
		q := *op.Question
		c.Question = &q
	}
	if op.Contradiction != nil {
		x := *op.Contradiction
		c.Contradiction = &x
	}
	return &c
}

// Propose makes a new operation. An empty id, flow, stage or content is a mistake of the caller.
// standing is the flow owner's advance authorisation, nil when a person is to be asked.
func Propose(op Operation, standing *Approval, p Policy, now Time) (*Operation, error) {
	if op.ID == "" || op.Flow == "" || op.Stage == "" || op.Content.Digest == "" || op.Owner == "" || now == 0 {
		return nil, fmt.Errorf("operation %q: id, flow, stage, content and owner are required", op.ID)
	}
	op.Created, op.Policy, op.Status, op.Approval = now, p, StatusProposed, standing
	op.note(Evidence{Kind: EvidencePlanned, At: now, Detail: fmt.Sprintf("content version %d", op.Content.Version)})
	if standing != nil {
		op.note(Evidence{Kind: EvidenceApproved, At: now, By: standing.By, Detail: "standing authorisation of the flow version"})
	}
	op.refold(p, now)
	op.schedule(p, now)
	return &op, nil
}

func (f Claim) when() Time     { return f.At }
func (f Reported) when() Time  { return f.At }
func (f LeaseOver) when() Time { return f.At }
func (f Looked) when() Time    { return f.At }
func (f Fed) when() Time       { return f.At }
func (f Asked) when() Time     { return f.At }
func (f Decided) when() Time   { return f.At }
func (f Lapsed) when() Time    { return f.At }
func (f Edited) when() Time    { return f.At }
func (f Withdrawn) when() Time { return f.At }
func (f Reopened) when() Time  { return f.At }
func (f Restored) when() Time  { return f.At }
func (f Related) when() Time   { return f.At }
func (f Shared) when() Time    { return f.At }
func (f Unfit) when() Time     { return f.At }
