package operation

import "slices"

// Choice is one answer a person could give, and whether it is legal now. Why says why it is not.
type Choice struct {
	Answer Answer
	Legal  bool
	Why    Reason
}

// Choices lists the answers to the open question in the order a page shows them. Without an open question it is empty.
func Choices(op *Operation, p Policy, now Time) []Choice {
	if op.Question == nil {
		return nil
	}
	var out []Choice
	for _, a := range answersOf[op.Question.Kind] {
		why := illegal(op, a, p, now)
		out = append(out, Choice{Answer: a, Legal: why == "", Why: why})
	}
	return out
}

var answersOf = map[QuestionKind][]Answer{
	QuestionApprove:       {AnswerApprove, AnswerDecline, AnswerExists, AnswerNothingHappened, AnswerCheckAgain, AnswerClose},
	QuestionResolve:       {AnswerExists, AnswerNothingHappened, AnswerNewKey, AnswerCheckAgain, AnswerDecline, AnswerClose},
	QuestionUnsettled:     {AnswerExists, AnswerNothingHappened, AnswerCheckAgain},
	QuestionContradiction: {AnswerAcknowledge, AnswerExists, AnswerClose},
}

// illegal says why an answer is not legal now; "" when it is.
func illegal(op *Operation, a Answer, p Policy, now Time) Reason {
	if !slices.Contains(answersOf[op.Question.Kind], a) {
		return ReasonNotLegal
	}
	if op.Question.Expires != 0 && now >= op.Question.Expires {
		return ReasonExpired
	}
	switch a {
	case AnswerApprove:
		return ""
	case AnswerDecline:
		if op.AnyOpen() {
			return ReasonAttemptOpen
		}
		return ""
	case AnswerAcknowledge:
		if !op.Status.Settled() {
			return ReasonEffectUnproven // acknowledging would let it be sent again
		}
		return ""
	case AnswerCheckAgain:
		if standsInTheWay(op.Reason) && op.Reason != ReasonLookupConflict {
			return "" // look again whether it may be sent now
		}
		if !p.Lookup {
			return ReasonNoLookup
		}
		return mayLook(op)
	case AnswerExists, AnswerClose:
		return mayBeClosed(op, p, now)
	case AnswerNewKey:
		return mayOpenKey(op, p, now)
	}
	return mayAttest(op, p, now)
}

// mayLook: looking again helps while something is open, unless the story has no room for what it would say.
func mayLook(op *Operation) Reason {
	switch {
	case op.storyFull() && op.Confirmed == 0:
		return ReasonStoryFull
	case !op.AnyOpen() && op.Reason != ReasonLookupConflict:
		return ReasonNothingOpen
	}
	return ""
}

// mayBeClosed: what happened is asked, so it can be closed; an approval only when something is open.
func mayBeClosed(op *Operation, p Policy, now Time) Reason {
	switch {
	case op.Question.Kind == QuestionContradiction && op.Status.Settled():
		return ReasonSettled
	case op.Question.Kind == QuestionApprove && !op.AnyOpen():
		return ReasonNothingOpen
	case runningUntil(op, p, now) != 0:
		return ReasonNotOver
	}
	return ""
}

// mayAttest: "nothing happened" is illegal while an answer could still appear.
func mayAttest(op *Operation, p Policy, now Time) Reason {
	if why := mayLook(op); why != "" {
		return why
	}
	if runningUntil(op, p, now) != 0 || now < QuietUntil(op, p) {
		return ReasonNotYet
	}
	return ""
}

// QuietUntil is when no effect of an open attempt that is over can newly appear any more.
func QuietUntil(op *Operation, p Policy) Time {
	var t Time
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open() {
			t = latest(t, a.overForAll(p.Skew))
		}
	}
	return t.Add(max(p.Quiet, p.Visible))
}

// mayOpenKey: a new key only for expiring keys, only after a stored error or when the window is closed.
func mayOpenKey(op *Operation, p Policy, now Time) Reason {
	if p.Protection != ProtectionKey {
		return ReasonNoProtection
	}
	stored := op.anyAttempt(func(a *Attempt) bool { return a.NoRepeat && a.Generation == op.Generation })
	if w := WindowUntil(op, p); !stored && (w == 0 || now < max(w, op.lostUntil(p))) {
		return ReasonKeyStillOpen
	}
	if !op.AnyOpen() {
		return "" // proven not executed, and the error is stored under the key
	}
	return mayAttest(op, p, now)
}

// lostUntil is when the key of a request that a restored ledger lost stops protecting: it may have left just before.
func (op *Operation) lostUntil(p Policy) Time {
	var t Time
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Restored && a.Generation == op.Generation && a.Outcome != OutcomeNotExecuted {
			t = latest(t, a.Recorded.Add(p.KeyWindow))
		}
	}
	return t
}

// decide checks who answers what, then does what the answer says. A second same answer is told which decision
// stands; the opposite one is refused with it.
func decide(op *Operation, f Fact, p Policy) *Refusal {
	d := f.(Decided)
	q := op.Question
	if q == nil || q.ID != d.Question {
		return standing(op, d)
	}
	switch {
	case d.Round != q.Round:
		return refuse(ReasonOtherRound)
	case d.Digest != op.Content.Digest || d.Digest != q.Digest:
		return refuse(ReasonOtherContent)
	case d.By == "" || !slices.Contains(q.Reviewers, d.By):
		return refuse(ReasonNotReviewer)
	case d.Answer == AnswerExists && d.Reference == "":
		return refuse(ReasonNoReference)
	case d.Answer == AnswerExists && op.saysNoOther(d, p) && d.At < QuietUntil(op, p):
		return refuse(ReasonNotYet)
	case needsWord(d.Answer) && d.How == "":
		return refuse(ReasonWordMissing)
	case needsRevision(d.Answer) && d.Rev != op.Rev:
		return refuse(ReasonOtherRevision)
	}
	if why := illegal(op, d.Answer, p, d.At); why != "" {
		return refuse(why)
	}
	valid := q.ValidFor
	op.answer(Decision{Answer: d.Answer, By: d.By, At: d.At, Reference: d.Reference, How: d.How, Minutes: d.Minutes})
	op.carryOut(d, q.ID, valid, p)
	return nil
}

func needsWord(a Answer) bool {
	return a == AnswerNothingHappened || a == AnswerNewKey || a == AnswerClose || a == AnswerAcknowledge
}

// needsRevision: what was said about what happened holds only for the evidence that was seen.
func needsRevision(a Answer) bool { return a != AnswerApprove && a != AnswerDecline }

func standing(op *Operation, d Decided) *Refusal {
	for i := range op.Answered {
		if op.Answered[i].ID == d.Question {
			return &Refusal{Reason: ReasonDecided, Standing: op.Answered[i].Decision}
		}
	}
	return refuse(ReasonNoQuestion)
}

func (op *Operation) carryOut(d Decided, q QuestionID, validFor int64, p Policy) {
	if !op.Status.Settled() {
		op.Reason = ""
	}
	switch d.Answer {
	case AnswerApprove:
		op.Approval = &Approval{By: d.By, At: d.At, Version: op.Content.Version, Digest: d.Digest, ValidUntil: d.At + Time(validFor), Question: q}
		op.note(Evidence{Kind: EvidenceApproved, At: d.At, By: d.By})
	case AnswerDecline:
		op.Status, op.Reason = StatusDeclined, ReasonDeclined
		op.note(Evidence{Kind: EvidenceDeclined, At: d.At, By: d.By, Detail: d.How})
	case AnswerExists:
		op.note(Evidence{Kind: EvidencePersonFound, At: d.At, By: d.By, Reference: d.Reference})
		op.personFound(d, p)
	case AnswerNothingHappened:
		op.attest(d)
	case AnswerNewKey:
		op.attest(d)
		op.Generation++
		op.Filled = nil
		op.note(Evidence{Kind: EvidenceKeyReleased, At: d.At, By: d.By})
	case AnswerCheckAgain:
		op.Look = Look{}
		op.note(Evidence{Kind: EvidenceCheckAgain, At: d.At, By: d.By})
	case AnswerClose:
		op.Status, op.Reason = StatusAbandoned, ReasonPersonClosed
		op.seen(d.By)
		op.note(Evidence{Kind: EvidenceAbandoned, At: d.At, By: d.By, Detail: d.How})
	case AnswerAcknowledge:
		op.seen(d.By)
		op.note(Evidence{Kind: EvidenceContradiction, At: d.At, By: d.By, Detail: "acknowledged: " + d.How})
	}
}

func (op *Operation) seen(by Person) {
	if op.Contradiction != nil {
		op.Contradiction.SeenBy = by
	}
}

// personFound takes a person's reference as what happened. It settles what is over, unless several attempts can have
// had an effect each: then it confirms, and the others stay on the worklist.
func (op *Operation) personFound(d Decided, p Policy) {
	if op.Contradiction != nil && op.Reference == "" {
		op.seen(d.By)
		op.Reference = d.Reference
		return
	}
	all := op.oneEffect(p) || op.saysNoOther(d, p) || op.Confirmed != 0 && op.oneUnsettled()
	op.settleExecuted(d.Reference, d.At, func(a *Attempt) bool { return all && a.Over(p.Skew, d.At) })
}

// oneUnsettled says that a second effect can only be of one attempt.
func (op *Operation) oneUnsettled() bool {
	n := 0
	for i := range op.Attempts {
		if op.unsettled(&op.Attempts[i]) {
			n++
		}
	}
	return n == 1
}

// saysNoOther: the confirmed reference said again means that the other attempts had no effect of their own.
func (op *Operation) saysNoOther(d Decided, p Policy) bool {
	return d.Reference == op.Reference && !op.oneEffect(p)
}

func (op *Operation) attest(d Decided) {
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open() {
			a.Attested = &Attestation{By: d.By, At: d.At, How: d.How, AfterConfirmed: op.Confirmed != 0}
		}
	}
	op.release()
	op.Look = Look{At: op.Look.At}
	op.note(Evidence{Kind: EvidenceAttested, At: d.At, By: d.By, Detail: d.How})
}
