package operation

import (
	"slices"
	"time"
)

// unsettled says that an attempt is open and no person's word stands in for proof. A word that permitted a resend is
// no longer enough once the operation is confirmed: then a second effect may hide behind the first (R12).
func (op *Operation) unsettled(a *Attempt) bool {
	return a.Open() && (a.Attested == nil || op.Confirmed != 0 && !a.Attested.AfterConfirmed)
}

func (op *Operation) anyAttempt(is func(*Attempt) bool) bool {
	for i := range op.Attempts {
		if is(&op.Attempts[i]) {
			return true
		}
	}
	return false
}

// AnyOpen says that nothing is proven about at least one attempt.
func (op *Operation) AnyOpen() bool { return op.anyAttempt((*Attempt).Open) }

// AnyUnsettled says that at least one attempt is open and no person's word about it stands.
func (op *Operation) AnyUnsettled() bool { return op.anyAttempt(op.unsettled) }

// Attempt finds an attempt by its id; nil when there is none.
func (op *Operation) Attempt(id AttemptID) *Attempt {
	for i := range op.Attempts {
		if op.Attempts[i].ID == id {
			return &op.Attempts[i]
		}
	}
	return nil
}

// sends counts the attempts that were not replays since the latest release.
func (op *Operation) sends() int {
	n := -op.Budget
	for i := range op.Attempts {
		if !op.Attempts[i].Replay {
			n++
		}
	}
	return max(n, 0)
}

// replays counts the replays since the latest send.
func (op *Operation) replays() int {
	n := 0
	for i := range op.Attempts {
		if op.Attempts[i].Replay {
			n++
		} else {
			n = 0
		}
	}
	return n
}

// spent says that the policy allows no further send: its attempts are used up, or the target's rejection is for good.
func (op *Operation) spent(p Policy) bool {
	n := len(op.Attempts)
	return op.sends() >= max(p.AttemptsMax, 1) || (n > 0 && op.sends() > 0 && op.Attempts[n-1].Permanent)
}

// overAt is when the attempt was over: its owner's record, or the end of its lease and the skew.
func (a *Attempt) overAt(skew time.Duration) Time {
	if a.Recorded != 0 {
		return a.Recorded
	}
	return a.LeaseUntil.Add(skew)
}

// overForAll is when the attempt was over by anybody's clock: what its owner recorded may come from a slow one.
func (a *Attempt) overForAll(skew time.Duration) Time {
	if a.Recorded != 0 {
		return a.Recorded.Add(skew)
	}
	return a.LeaseUntil.Add(skew)
}

// fold computes the status from all attempts, the open question and the closing decision. It is the only place
// that writes a status which is not a closing one.
func (op *Operation) fold(p Policy) Status {
	switch {
	case op.Reference != "":
		return StatusConfirmed
	case op.Status == StatusFailed, op.Status == StatusDeclined, op.Status == StatusAbandoned:
		return op.Status
	case op.running():
		return StatusInFlight
	case op.asksWhatHappened():
		return StatusHeld
	case len(op.Attempts) == 0:
		return StatusProposed
	case op.AnyOpen():
		return StatusUnknown
	case op.spent(p) && !standsInTheWay(op.Reason):
		return StatusFailed
	}
	return StatusReady
}

// running says that an attempt's owner may still act: nothing recorded and nobody wrote that its lease is over.
func (op *Operation) running() bool {
	return op.anyAttempt(func(a *Attempt) bool { return a.Open() && a.Recorded == 0 && a.Ended == 0 })
}

// asksWhatHappened says that automatic work stopped for the open question. An approval that was never followed by an
// attempt leaves the operation proposed.
func (op *Operation) asksWhatHappened() bool {
	q := op.Question
	return q != nil && (q.Kind != QuestionApprove || len(op.Attempts) > 0)
}

// refold writes the status and keeps the time held.
func (op *Operation) refold(p Policy, at Time) {
	op.Status = op.fold(p)
	if op.Status == StatusFailed && op.Reason == "" {
		op.Reason = ReasonAttemptsSpent
		if op.Attempts[len(op.Attempts)-1].Permanent {
			op.Reason = ReasonPermanent
		}
		op.note(Evidence{Kind: EvidencePolicySpent, At: at, Detail: string(op.Reason)})
	}
	if op.Status == StatusConfirmed && op.Confirmed == 0 {
		op.Confirmed, op.Reason = at, ""
	}
	op.trackHeld(at)
}

func (op *Operation) trackHeld(at Time) {
	waits := op.Question != nil && op.asksWhatHappened()
	switch {
	case waits && op.HeldSince == 0:
		op.HeldSince = at
	case !waits && op.HeldSince != 0:
		op.HeldFor += max(int64(at-op.HeldSince), 0)
		op.HeldSince = 0
	}
}

// note appends evidence; an equal fact in a row is counted instead. Proof is never refused for want of room: past the
// bound and its reserve, a fact is counted at the latest one of its kind.
func (op *Operation) note(e Evidence) {
	n := len(op.Evidence)
	if n > 0 && op.Evidence[n-1].equal(e) {
		op.Evidence[n-1].again(e.At)
		return
	}
	for i := n - 1; i >= 0 && n >= EvidenceMost; i-- {
		if op.Evidence[i].Kind == e.Kind {
			op.Evidence[i].again(e.At)
			return
		}
	}
	op.Evidence = append(op.Evidence, e)
}

func (e *Evidence) again(at Time) { e.Count, e.Last = max(e.Count, 1)+1, at }

func (e *Evidence) equal(o Evidence) bool {
	return e.Kind == o.Kind && e.Attempt == o.Attempt && e.Reference == o.Reference && e.By == o.By && e.Detail == o.Detail
}

// settleExecuted records a reference as proof. Which attempts it settles depends on what the target collapses;
// a second, different reference or an effect that no attempt can have made is a contradiction (R12).
func (op *Operation) settleExecuted(ref Reference, at Time, covers func(*Attempt) bool) {
	hadOpen := op.AnyOpen()
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open() && covers(a) {
			a.Outcome, a.Reference = OutcomeExecuted, ref
		}
	}
	switch {
	case op.Reference == ref:
	case op.Reference != "":
		op.contradict(Contradiction{At: at, Reason: ReasonTwoReferences, First: op.Reference, Second: ref})
	case op.Status == StatusFailed || op.Status == StatusDeclined:
		op.contradict(Contradiction{At: at, Reason: ReasonEffectOnClosed, First: ref})
	case !hadOpen && !op.anyAttempt(func(a *Attempt) bool { return a.Outcome == OutcomeExecuted }):
		op.contradict(Contradiction{At: at, Reason: ReasonEffectUnproven, First: ref})
	default:
		op.Reference = ref
		op.supersede(at)
	}
}

// contradict marks the first contradiction; later ones are only evidence.
func (op *Operation) contradict(c Contradiction) {
	op.note(Evidence{Kind: EvidenceContradiction, At: c.At, Reference: c.Second, Detail: string(c.Reason)})
	if op.Contradiction == nil || op.Contradiction.SeenBy != "" {
		op.Contradiction = &c
	}
}

// supersede closes the open question because it no longer needs an answer. What keeps everything from being sent stays.
func (op *Operation) supersede(at Time) {
	if op.Question != nil {
		if op.Reason == op.Question.Reason && !standsInTheWay(op.Reason) && !op.Status.Settled() {
			op.Reason = ""
		}
		op.answer(Decision{Answer: AnswerSuperseded, At: at})
	}
}

func (op *Operation) answer(d Decision) {
	q := *op.Question
	q.Decision = &d
	op.Question = nil
	op.WorkMinutes += d.Minutes
	if len(op.Answered) >= AnsweredBound {
		i := slices.IndexFunc(op.Answered, droppable)
		if i < 0 && len(op.Answered) >= AnsweredMost {
			i = 0 // its evidence stays
		}
		if i >= 0 {
			op.Answered = slices.Delete(op.Answered, i, i+1)
		}
	}
	op.Answered = append(op.Answered, q)
}

// droppable says that a closed question holds no person's word about content or about what happened.
func droppable(q Question) bool {
	a := q.Decision.Answer
	return a == AnswerSuperseded || a == AnswerExpired || a == AnswerCheckAgain
}
