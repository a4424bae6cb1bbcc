package operation

// cell applies one kind of fact to an operation in one status.
type cell func(op *Operation, f Fact, p Policy) *Refusal

// row has a cell for each status, in the order of the constants:
// proposed, in_flight, ready, unknown, held, confirmed, failed, declined, abandoned.
type row [statusCount]cell

// transitions has a row for each kind of fact. Its literal below names no field and each row is written by nine, so
// that a missing row fails the build; a missing cell fails the build too, since nine takes each by position.
type transitions struct {
	claim, reported, leaseOver, looked, fed, asked, decided, lapsed, edited, withdrawn, reopened, restored, related, shared, unfit row
}

func nine(proposed, inFlight, ready, unknown, held, confirmed, failed, declined, abandoned cell) row {
	return row{proposed, inFlight, ready, unknown, held, confirmed, failed, declined, abandoned}
}

func no(why Reason) cell { return func(*Operation, Fact, Policy) *Refusal { return refuse(why) } }

var (
	lost    = no(ReasonLost)
	settled = no(ReasonSettled)
	open    = no(ReasonAttemptOpen)
	nothing = no(ReasonNothingOpen)
)

// table is filled by init because its cells call Apply's helpers, which read it.
var table transitions

func init() {
	table = transitions{
		//   proposed   in_flight  ready      unknown    held       confirmed  failed     declined   abandoned
		nine(claim, claim, claim, claim, lost, settled, settled, settled, settled),
		nine(report, report, report, report, report, report, report, report, report),
		nine(nothing, leaseOver, nothing, leaseOver, leaseOver, leaseOver, nothing, nothing, leaseOver),
		nine(looked, looked, looked, looked, looked, looked, looked, looked, looked),
		nine(fed, fed, fed, fed, fed, fed, fed, fed, fed),
		nine(asked, asked, asked, asked, asked, asked, asked, asked, asked),
		nine(decide, decide, decide, decide, decide, decide, decide, decide, decide),
		nine(lapse, lapse, lapse, lapse, lapse, lapse, lapse, lapse, lapse),
		nine(edit, open, edit, open, edit, settled, settled, settled, settled),
		nine(withdraw, open, withdraw, withdraw, withdraw, settled, settled, settled, settled),
		nine(nothing, open, nothing, open, open, settled, reopen, reopen, no(ReasonPersonClosed)),
		nine(restore, restore, restore, restore, restore, settled, settled, settled, settled),
		nine(relate, relate, relate, relate, relate, relate, relate, relate, relate),
		nine(shared, shared, shared, shared, shared, shared, shared, shared, shared),
		nine(unfit, open, unfit, unfit, unfit, settled, settled, settled, settled),
	}
}

func (Claim) cells(t *transitions) row     { return t.claim }
func (Reported) cells(t *transitions) row  { return t.reported }
func (LeaseOver) cells(t *transitions) row { return t.leaseOver }
func (Looked) cells(t *transitions) row    { return t.looked }
func (Fed) cells(t *transitions) row       { return t.fed }
func (Asked) cells(t *transitions) row     { return t.asked }
func (Decided) cells(t *transitions) row   { return t.decided }
func (Lapsed) cells(t *transitions) row    { return t.lapsed }
func (Edited) cells(t *transitions) row    { return t.edited }
func (Withdrawn) cells(t *transitions) row { return t.withdrawn }
func (Reopened) cells(t *transitions) row  { return t.reopened }
func (Restored) cells(t *transitions) row  { return t.restored }
func (Related) cells(t *transitions) row   { return t.related }
func (Shared) cells(t *transitions) row    { return t.shared }
func (Unfit) cells(t *transitions) row     { return t.unfit }

func claim(op *Operation, f Fact, p Policy) *Refusal {
	c := f.(Claim)
	op.endLeases(p, c.At)
	m := Next(op, p, c.At)
	want := ActionSend
	if c.Replay {
		want = ActionReplay
	}
	if m.Action != want || c.Attempt == "" || op.Attempt(c.Attempt) != nil || c.LeaseUntil < c.At.Add(p.Timeout) {
		return refuse(ReasonLost)
	}
	if why := op.fill(c.Filled); why != "" {
		return refuse(why)
	}
	op.Attempts = append(op.Attempts, Attempt{
		ID: c.Attempt, Run: c.Run, Replay: c.Replay, Claimed: c.At, LeaseUntil: c.LeaseUntil,
		Version: c.Filled.Version, Generation: c.Filled.Generation, Digest: c.Filled.Digest,
	})
	op.Look, op.Reason = Look{}, ""
	op.note(Evidence{Kind: EvidenceClaimed, At: c.At, Attempt: c.Attempt, Detail: string(m.Reason)})
	return nil
}

// fill keeps the filled content of the current version and key generation; once filled, only the same bytes go.
func (op *Operation) fill(f Filled) Reason {
	if f.Digest == "" || f.Version != op.Content.Version || f.Generation != op.Generation {
		return ReasonDigestMismatch
	}
	if old := op.Filled; old != nil && old.Version == f.Version && old.Generation == f.Generation && old.Digest != f.Digest {
		return ReasonDigestMismatch
	}
	op.Filled = &f
	return ""
}

func report(op *Operation, f Fact, p Policy) *Refusal {
	r := f.(Reported)
	a := op.Attempt(r.Attempt)
	switch {
	case a == nil:
		return refuse(ReasonUnknownAttempt)
	case a.Recorded != 0:
		return refuse(ReasonRecorded)
	case r.Outcome == OutcomeExecuted && r.Reference == "":
		return refuse(ReasonNoReference)
	}
	a.Recorded, a.NoRepeat, a.Permanent, a.RetryAfter = r.At, r.NoRepeat, r.Permanent, r.RetryAfter
	op.note(Evidence{Kind: r.Kind, At: r.At, Attempt: r.Attempt, Reference: r.Reference, Detail: r.Detail})
	switch r.Outcome {
	case OutcomeExecuted:
		self := *a
		if a.Outcome == OutcomeExecuted && a.Reference != r.Reference {
			a.Outcome = OutcomeUnknown // a lookup had settled it with another reference: let the two meet
		}
		op.settleExecuted(r.Reference, r.At, func(b *Attempt) bool {
			return b.ID == self.ID || op.collapse(p, b, &self)
		})
	case OutcomeNotExecuted:
		proveNotExecuted(op, a, r.At)
	}
	return op.reopenAfterProof(p, r.At)
}

// proveNotExecuted settles one attempt. If the effect exists all the same and no attempt is left that can have made
// it, the two facts contradict each other.
func proveNotExecuted(op *Operation, a *Attempt, at Time) {
	if a.Outcome == OutcomeExecuted {
		a.Reference = ""
	}
	a.Outcome, a.Attested = OutcomeNotExecuted, nil
	canHaveMade := op.anyAttempt(func(b *Attempt) bool { return b.Outcome != OutcomeNotExecuted })
	if op.Reference != "" && !canHaveMade {
		op.contradict(Contradiction{At: at, Reason: ReasonEffectUnproven, First: op.Reference})
	}
}

// reopenAfterProof closes a question about what happened once nothing is open any more.
func (op *Operation) reopenAfterProof(p Policy, at Time) *Refusal {
	if q := op.Question; q != nil && (q.Kind == QuestionResolve || q.Kind == QuestionUnsettled) && !op.AnyUnsettled() {
		op.supersede(at)
	}
	return nil
}

func leaseOver(op *Operation, f Fact, p Policy) *Refusal {
	if !op.endLeases(p, f.when()) {
		return refuse(ReasonNotOver)
	}
	return nil
}

// endLeases writes down which attempts are over without an outcome; whoever claims or asks does it on the way.
func (op *Operation) endLeases(p Policy, at Time) bool {
	some := false
	for i := range op.Attempts {
		a := &op.Attempts[i]
		if a.Open() && a.Recorded == 0 && a.Ended == 0 && a.Over(p.Skew, at) {
			a.Ended, some = at, true
			op.note(Evidence{Kind: EvidenceLeaseOver, At: at, Attempt: a.ID})
		}
	}
	return some
}

func looked(op *Operation, f Fact, p Policy) *Refusal {
	l := f.(Looked)
	op.Look.At, op.Look.Count = latest(op.Look.At, l.At), op.Look.Count+1
	kind := EvidenceLookupFailed
	switch l.Result {
	case LookFound:
		if l.Reference == "" {
			return refuse(ReasonNoReference)
		}
		kind = EvidenceLookupFound
	case LookAbsent:
		kind, op.Look.Absent, op.Look.Failed = EvidenceLookupAbsent, latest(op.Look.Absent, l.At), 0
	case LookConflict:
		kind = EvidenceLookupConflict
	default:
		op.Look.Failed++
	}
	op.note(Evidence{Kind: kind, At: l.At, Reference: l.Reference, Detail: l.Detail})
	switch l.Result {
	case LookFound:
		op.settleFound(l.Reference, l.At, p, p.AbsentCounts)
		return op.reopenAfterProof(p, l.At)
	case LookConflict:
		op.Look.Count, op.Look.Absent = max(op.Look.Count, p.LookupsMax, 1), 0 // looking again cannot help: a person decides
		if !op.Status.Settled() {
			op.Reason = ReasonLookupConflict
		}
	}
	return nil
}

// settleFound: one effect with our mark settles every attempt that is over and that cannot have made another one: the
// target keeps one effect for all of them, or only this attempt is left, or the lookup was complete and late enough to
// have shown a second one. Others stay open, so that a second effect cannot hide behind the first.
func (op *Operation) settleFound(ref Reference, at Time, p Policy, complete bool) {
	one := op.oneEffect(p)
	op.settleExecuted(ref, at, func(a *Attempt) bool {
		return a.Over(p.Skew, at) && (one || complete && at >= a.overForAll(p.Skew).Add(p.Visible))
	})
}

// oneEffect says that the attempts not proven "not executed" can have made at most one effect between them.
func (op *Operation) oneEffect(p Policy) bool {
	var first *Attempt
	for i := range op.Attempts {
		a := &op.Attempts[i]
		switch {
		case a.Outcome == OutcomeNotExecuted:
		case first == nil:
			first = a
		case !op.collapse(p, first, a):
			return false
		}
	}
	return true
}

func fed(op *Operation, f Fact, p Policy) *Refusal {
	e := f.(Fed)
	if e.Reference == "" {
		return refuse(ReasonNoReference)
	}
	op.note(Evidence{Kind: EvidenceFeed, At: e.At, Reference: e.Reference, Detail: e.Detail})
	op.settleFound(e.Reference, e.At, p, false)
	return op.reopenAfterProof(p, e.At)
}

func asked(op *Operation, f Fact, p Policy) *Refusal {
	a := f.(Asked)
	op.endLeases(p, a.At)
	m := Next(op, p, a.At)
	q := a.Question
	switch {
	case m.Action != ActionAsk || m.Kind != q.Kind:
		return refuse(ReasonNotLegal)
	case op.Question != nil && op.Question.Kind == q.Kind:
		return refuse(ReasonDecided)
	case len(q.Reviewers) == 0 || q.ID == "":
		return refuse(ReasonNotReviewer)
	}
	op.supersede(a.At)
	op.Round++
	q.Round, q.Asked, q.Reason, q.Decision = op.Round, a.At, m.Reason, nil
	q.Version, q.Digest = op.Content.Version, op.Content.Digest
	if q.Kind != QuestionApprove {
		q.Expires = 0
	}
	op.Question = &q
	if q.Kind == QuestionResolve && op.Reason == "" {
		op.Reason = m.Reason
	}
	op.note(Evidence{Kind: EvidenceAsked, At: a.At, Detail: string(q.Kind) + ": " + string(m.Reason)})
	return nil
}

func lapse(op *Operation, f Fact, p Policy) *Refusal {
	l := f.(Lapsed)
	q := op.Question
	switch {
	case q == nil || q.ID != l.Question:
		return refuse(ReasonNoQuestion)
	case q.Expires == 0 || l.At < q.Expires:
		return refuse(ReasonStands)
	}
	op.answer(Decision{Answer: AnswerExpired, At: l.At})
	op.note(Evidence{Kind: EvidenceExpired, At: l.At})
	if !op.AnyOpen() && !op.Status.Settled() {
		op.Status, op.Reason = StatusDeclined, ReasonApprovalExpired
	}
	return nil
}

func edit(op *Operation, f Fact, _ Policy) *Refusal {
	e := f.(Edited)
	if op.AnyOpen() {
		return refuse(ReasonAttemptOpen)
	}
	if e.Content.Version <= op.Content.Version || e.Content.Digest == "" {
		return refuse(ReasonOtherContent)
	}
	op.supersede(e.At)
	op.Content, op.Approval, op.Filled = e.Content, nil, nil
	if op.Reason != ReasonLookupConflict {
		op.Reason = ""
	}
	op.note(Evidence{Kind: EvidenceEdited, At: e.At, By: e.By})
	return nil
}

// withdraw stops what is not yet sent. What was sent and only attested as "nothing happened" is closed without proof:
// nobody sends it again, and it counts neither as declined nor as done.
func withdraw(op *Operation, f Fact, _ Policy) *Refusal {
	w := f.(Withdrawn)
	if op.AnyUnsettled() {
		return refuse(ReasonAttemptOpen)
	}
	op.supersede(w.At)
	op.Status, op.Reason = StatusDeclined, ReasonWithdrawn
	if op.AnyOpen() {
		op.Status = StatusAbandoned
	}
	op.note(Evidence{Kind: EvidenceWithdrawn, At: w.At, By: w.By, Detail: w.How})
	return nil
}

// reopen gives something proven not executed, or never sent, another chance under a new approval.
func reopen(op *Operation, f Fact, _ Policy) *Refusal {
	r := f.(Reopened)
	if op.AnyOpen() {
		return refuse(ReasonAttemptOpen)
	}
	if op.Contradiction != nil { // an effect is known: acknowledging it does not undo it
		return refuse(ReasonContradiction)
	}
	op.Status, op.Reason, op.Approval = StatusProposed, "", nil
	op.release()
	op.note(Evidence{Kind: EvidenceCheckAgain, At: r.At, By: r.By, Detail: "run again"})
	return nil
}

// release opens a new budget of attempts.
func (op *Operation) release() { op.Budget += op.sends() }

func restore(op *Operation, f Fact, _ Policy) *Refusal {
	r := f.(Restored)
	if r.Attempt == "" || op.Attempt(r.Attempt) != nil {
		return refuse(ReasonUnknownAttempt)
	}
	op.Attempts = append(op.Attempts, Attempt{
		ID: r.Attempt, Claimed: op.Created, LeaseUntil: op.Created, Recorded: r.At, Restored: true,
		Version: op.Content.Version, Generation: op.Generation,
	})
	op.Look = Look{}
	op.note(Evidence{Kind: EvidenceRestored, At: r.At, Attempt: r.Attempt, By: r.By})
	return nil
}

func relate(op *Operation, f Fact, _ Policy) *Refusal {
	r := f.(Related)
	for _, id := range op.Runs {
		if id == r.Run {
			return refuse(ReasonRecorded)
		}
	}
	if len(op.Runs) >= RunsBound {
		return refuse(ReasonStoryFull)
	}
	op.Runs = append(op.Runs, r.Run)
	op.note(Evidence{Kind: EvidenceReused, At: r.At, Detail: string(r.Run)})
	return nil
}

func shared(op *Operation, f Fact, _ Policy) *Refusal {
	s := f.(Shared)
	if op.Contradiction != nil && op.Contradiction.Other == s.Other {
		return refuse(ReasonRecorded)
	}
	op.contradict(Contradiction{At: s.At, Reason: ReasonSharedReference, First: s.Reference, Other: s.Other})
	return nil
}

// standsInTheWay says that a reason keeps everything from being sent until a person's decision clears it.
func standsInTheWay(r Reason) bool {
	return r == ReasonLookupConflict || r == ReasonDigestMismatch || r == ReasonProfileMissing || r == ReasonReferenceMissing || r == ReasonRunMissing
}

func unfit(op *Operation, f Fact, _ Policy) *Refusal {
	u := f.(Unfit)
	if !standsInTheWay(u.Reason) {
		return refuse(ReasonNotLegal)
	}
	op.Reason = u.Reason
	op.note(Evidence{Kind: EvidenceUnfit, At: u.At, Detail: string(u.Reason)})
	return nil
}
