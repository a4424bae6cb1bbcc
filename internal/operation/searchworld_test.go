package operation_test

import (
	"fmt"
	"time"

	"holdfast/internal/operation"
)

// The world of the exhaustive search: the core's record, what truly happened at the target, what each worker has in
// memory, and what the person saw. One tick is one millisecond; every bound below is in ticks.
const (
	triesMax   = 3 // attempts
	tick       = time.Millisecond
	timeoutT   = 1
	leaseT     = 2
	lateT      = 1 // the target carries a request out at the latest this long after it was sent
	visibleT   = 2 // and shows it in a complete lookup at the latest this long after
	windowT    = 7
	marginT    = 1
	lookupsMax = 2
	beginning  = operation.Time(1000)
)

// core is the part under test. A wrong core replaces one of its functions; production code has no hooks.
type core struct {
	next     func(*operation.Operation, operation.Policy, operation.Time) operation.Move
	apply    func(*operation.Operation, operation.Fact, operation.Policy) (*operation.Operation, *operation.Refusal)
	fence    func(*operation.Operation, operation.AttemptID, operation.Policy, operation.Time) operation.Reason
	choices  func(*operation.Operation, operation.Policy, operation.Time) []operation.Choice
	classify func(answer) operation.Outcome
	// own answers which running attempt a restarted worker takes for its own. Ids are random and live in memory, so
	// that it is none.
	own func(*operation.Operation, operation.Time) operation.AttemptID
	// lateWords says that a word from an old page may be taken. Else such a page is closed: every word on it is refused.
	lateWords bool
	// adopts says that a worker may take another's attempt for its own. Else what a crashed worker saw is never recorded.
	adopts bool
}

func rightCore() core {
	return core{next: operation.Next, apply: operation.Apply, fence: operation.Fence, choices: operation.Choices, classify: classify, own: nobody}
}

func nobody(*operation.Operation, operation.Time) operation.AttemptID { return "" }

// answer is what came back for a request.
type answer uint8

const (
	answerNone     answer = iota // nothing within the timeout
	answerExecuted               // the documented yes, with a reference
	answerRejected               // the target's own documented refusal before any effect
	answerUnlisted               // a page that nothing documents, such as a proxy's 403
	answerStored                 // an error that the target keeps under the key
	answerNoByte                 // not sent: the fence refused
)

func classify(a answer) operation.Outcome {
	switch a {
	case answerExecuted:
		return operation.OutcomeExecuted
	case answerRejected, answerNoByte:
		return operation.OutcomeNotExecuted
	}
	return operation.OutcomeUnknown
}

// truth is what really became of one attempt's request.
type truth uint8

const (
	truthUnsent truth = iota
	truthPending
	truthEffect
	truthNothing
)

// try is the true history of one attempt, kept apart from what the core believes.
type try struct {
	truth        truth
	claimed      operation.Time
	sentAt       operation.Time
	gen          int
	version      int
	storedBefore bool // a stored error under the same key was recorded when this was claimed
	proven       bool // a documented refusal, or no byte sent, was recorded
	stored       bool // a stored error was recorded
	attested     operation.Time
	lookedFor    bool // a lookup after the word found nothing
	absent       bool // a lookup that left when it could no longer appear found nothing
}

// phase is where a worker stands in one attempt or lookup. A frozen worker just stays in its phase.
type phase uint8

const (
	phaseIdle   phase = iota
	phaseHeld         // has the claim, nothing sent
	phaseResult       // has an answer that is not recorded
	phaseLook         // has a lookup's answer that is not recorded
)

type worker struct {
	phase   phase
	try     int
	at      operation.Time // of the lookup, by its own clock
	snap    *operation.Operation
	answer  answer
	meaning operation.Outcome // of the answer, by the core under test
	ref     operation.Reference
	look    operation.LookResult
	quiet   [triesMax]bool // when the lookup left, this attempt could no longer appear
	true0   operation.Time // when the lookup left, by the true clock
}

// seen is the page that the person has open: a word given on it may be posted late, and twice.
type seen struct {
	open  bool
	id    operation.QuestionID
	round int
	rev   int64
	// version is of the content on an approval's page; zero when the page asks what happened.
	version int
	clean   bool // when the person looked, the target showed no effect
}

// keyMemory is what the target remembers of one generation's key.
type keyMemory struct {
	at  operation.Time
	by  int
	err bool
}

type world struct {
	op       *operation.Operation
	now      operation.Time
	n        int
	tries    [triesMax]try
	keys     [triesMax + 1]keyMemory
	workers  [2]worker
	page     seen
	lies     int
	edits    int
	restored bool // the ledger was put back to the beginning
	asked    int
	problem  string // set by a transition that broke a rule
}

// clock of a worker: the second one's is fast by the bound on skew. The target, the person and the sweep have the true one.
func (c *config) clock(i int) operation.Time { return operation.Time(i) * c.skew }

// config is one corner of what targets document, and what the adversary may do in it.
type config struct {
	name   string
	policy operation.Policy
	// approvals says that approvals are asked, expire, and that content is edited; else one stands for ever.
	approvals bool
	skew      operation.Time // bound on the difference of two clocks
	tries     int
	lies      bool
	sweepLate bool // else it is written at once that a lease is over
	restores  bool // the ledger is lost once, and its first copy accepted
	feeds     bool
	stale     bool // the person's words may arrive late and twice
}

func policyOf(prot operation.Protection, lookup, counts bool, order operation.Order) operation.Policy {
	visible := operation.Time(0)
	if counts {
		visible = visibleT
	}
	return operation.Policy{
		Protection: prot, KeyWindow: windowT * tick, KeyMargin: marginT * tick, Order: order, ReplaysMax: 2,
		Lookup: lookup, AbsentCounts: counts, Visible: time.Duration(visible) * tick, LookupEvery: tick, LookupsMax: lookupsMax,
		Quiet: lateT * tick, AttemptsMax: 2, BackoffMin: tick, BackoffMax: tick, Factor: 1,
		Timeout: timeoutT * tick, Lease: leaseT * tick, Skew: tick,
	}
}

const reviewer = operation.Person("reviewer@example.com")

// contents are constant texts, since a step of the search asks for one often.
var contents = [...]operation.Digest{"", "content-1", "content-2"}

// filledOf names the bytes of the current content under the current key.
func filledOf(op *operation.Operation) operation.Digest {
	return filled[op.Content.Version][op.Generation]
}

var filled = [...][triesMax + 1]operation.Digest{1: {"filled-1-0", "filled-1-1", "filled-1-2", "filled-1-3"}, 2: {"filled-2-0", "filled-2-1", "filled-2-2", "filled-2-3"}}

func digestOf(version int) operation.Digest {
	if version < len(contents) {
		return contents[version]
	}
	return operation.Digest(fmt.Sprintf("content-%d", version))
}

func start(c config) world {
	content := operation.Content{Version: 1, Digest: digestOf(1)}
	op := operation.Operation{ID: "op_1", Flow: "flow", Stage: "stage", Owner: "owner@example.com", Content: content}
	var standing *operation.Approval
	if c.approvals {
		op.SendBy = beginning + 6
	} else {
		standing = &operation.Approval{By: "owner@example.com", At: beginning, Version: 1, Digest: digestOf(1), Standing: true}
	}
	made, err := operation.Propose(op, standing, c.policy, beginning)
	if err != nil {
		panic(err)
	}
	return world{op: light(made), now: beginning}
}

// light drops what decides nothing in these bounds, so that a step stays cheap: the story told so far.
func light(op *operation.Operation) *operation.Operation {
	op.Evidence, op.Answered = nil, nil
	return op
}

// Constant texts, so that a step makes no new ones.
var (
	attemptIDs = [triesMax]operation.AttemptID{"a1", "a2", "a3"}
	refs       = [triesMax]operation.Reference{"r1", "r2", "r3"}
)

func attemptID(i int) operation.AttemptID { return attemptIDs[i] }

func refOf(i int) operation.Reference { return refs[i] }

func tryOf(id operation.AttemptID) int { return int(id[1] - '1') }

func (w *world) effects() int {
	n := 0
	for i := range w.n {
		if w.tries[i].truth == truthEffect {
			n++
		}
	}
	return n
}

// keyLive says whether the target remembers the key of a generation now.
func (w *world) keyLive(gen int) bool {
	k := w.keys[gen]
	return k.at != 0 && w.now < k.at+windowT
}

// closePage closes a page on which every word would be refused for good: its question is over, or what it says about what
// happened was overtaken by a later revision. Neither comes back.
func (w *world) closePage(k *core) {
	p, q := &w.page, w.op.Question
	if p.open && !k.lateWords && (q == nil || q.ID != p.id || p.version == 0 && w.op.Rev != p.rev) {
		*p = seen{}
	}
}
