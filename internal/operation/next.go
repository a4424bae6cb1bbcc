package operation

import "time"

// Move is what may be done next. Its zero value asks a person.
type Move struct {
	Action Action
	Reason Reason
	// Due is, for a wait, when to look at the operation again; for others the zero Time: now.
	Due Time
	// Then says what the wait is for: a send, a replay or a lookup.
	Then Action
	// Kind is, for an ask, what is asked.
	Kind QuestionKind
}

// Next decides what may be done next about op under policy p (the stricter of pinned and current) at now.
// It is a ladder of guards, most certain first; everything that acts, sweeps or shows asks it, and none decides by itself:
//
//  1. a contradiction nobody has seen       → ask
//  2. settled                               → done; confirmed with an unsettled attempt → settle that first
//  3. an attempt that may still be running  → wait
//  4. an open question, a full story or a lookup that found a conflict → ask
//  5. an unsettled attempt                  → replay and look up in the profile's order, else ask
//  6. nothing unsettled                     → send, when R3, R5 and the policy allow it, else ask
func Next(op *Operation, p Policy, now Time) Move {
	switch {
	case op.Contradiction != nil && op.Contradiction.SeenBy == "":
		return ask(QuestionContradiction, op.Contradiction.Reason)
	case op.Status == StatusConfirmed:
		return confirmedMove(op, p, now)
	case op.Status.Settled():
		return Move{Action: ActionDone, Reason: ReasonClosed}
	}
	if due := runningUntil(op, p, now); due != 0 {
		return Move{Action: ActionWait, Reason: ReasonAttemptRunning, Due: due, Then: ActionLookUp}
	}
	if q := op.Question; q != nil {
		return Move{Action: ActionAsk, Reason: q.Reason, Kind: q.Kind}
	}
	if op.storyFull() {
		return ask(QuestionResolve, ReasonStoryFull)
	}
	if standsInTheWay(op.Reason) {
		return ask(QuestionResolve, op.Reason)
	}
	if op.AnyUnsettled() {
		return recoverMove(op, p, now)
	}
	return sendMove(op, p, now)
}

func (op *Operation) storyFull() bool {
	return len(op.Attempts) >= AttemptsBound || len(op.Evidence) >= EvidenceBound || len(op.Answered) >= AnsweredBound
}

func ask(kind QuestionKind, why Reason) Move { return Move{Action: ActionAsk, Kind: kind, Reason: why} }

// runningUntil is when the last attempt that may still run is over; zero when none may.
func runningUntil(op *Operation, p Policy, now Time) Time {
	var until Time
	for i := range op.Attempts {
		a := &op.Attempts[i]
		if op.unsettled(a) && !a.Over(p.Skew, now) {
			until = latest(until, a.LeaseUntil.Add(p.Skew)+1)
		}
	}
	return until
}

// confirmedMove settles what else was tried: a second effect must not hide behind a confirmed operation (R12).
func confirmedMove(op *Operation, p Policy, now Time) Move {
	if !op.AnyUnsettled() {
		return Move{Action: ActionDone, Reason: ReasonConfirmed}
	}
	if due := runningUntil(op, p, now); due != 0 {
		return Move{Action: ActionWait, Reason: ReasonAttemptRunning, Due: due, Then: ActionLookUp}
	}
	if op.Question == nil {
		if m, _ := lookupMove(op, p, now); m.Action != ActionAsk {
			return m
		}
	}
	return ask(QuestionUnsettled, ReasonConfirmedByOther)
}

// recoverMove is about an unknown outcome: every unsettled attempt is over.
func recoverMove(op *Operation, p Policy, now Time) Move {
	if p.Order == OrderReplay {
		if m, why := replayMove(op, p, now); why == "" {
			return m
		}
	}
	m, absent := lookupMove(op, p, now)
	if m.Action != ActionAsk {
		return m
	}
	if p.Order == OrderReplay || (p.Lookup && !absent) {
		_, why := replayMove(op, p, now)
		return askAbout(op, p, m.Reason, why)
	}
	// Absent settles nothing; it only permits a replay, where the target collapses repeats.
	replay, why := replayMove(op, p, now)
	if why == "" {
		return replay
	}
	return askAbout(op, p, m.Reason, why)
}

// askAbout asks a person: for a new yes when only that stands in the way of a replay, else what happened.
func askAbout(op *Operation, p Policy, lookup, replay Reason) Move {
	if gateReason(replay) {
		return ask(QuestionApprove, replay)
	}
	if p.Lookup && (p.Order == OrderLookUp || p.Protection == ProtectionNone) {
		return ask(QuestionResolve, lookup)
	}
	return ask(QuestionResolve, replay)
}

func gateReason(r Reason) bool {
	return r == ReasonApprovalMissing || r == ReasonApprovalOther || r == ReasonApprovalLapsed || r == ReasonSendByPassed
}

// replayMove says whether the same bytes may be sent again although the outcome is unknown (R3), or why not.
func replayMove(op *Operation, p Policy, now Time) (Move, Reason) {
	if why := collapses(op, p, now); why != "" {
		return Move{}, why
	}
	if op.replays() >= p.ReplaysMax {
		return Move{}, ReasonReplaysSpent
	}
	if why := gate(op, now); why != "" {
		return Move{}, why
	}
	due := backoffDue(op, p, op.replays()+1)
	if now >= due {
		return Move{Action: ActionReplay, Reason: ReasonProtected}, ""
	}
	if w := WindowUntil(op, p); w != 0 && due.Add(p.Timeout) >= w {
		return Move{}, ReasonWindowClosed
	}
	return Move{Action: ActionWait, Reason: ReasonBackoff, Due: due, Then: ActionReplay}, ""
}

// collapses says why the target is not known to collapse a repeat of the filled content; "" when it is.
func collapses(op *Operation, p Policy, now Time) Reason {
	if p.Protection == ProtectionNone {
		return ReasonNoProtection
	}
	for i := range op.Attempts {
		a := &op.Attempts[i]
		if a.NoRepeat && a.Generation == op.Generation {
			return ReasonStoredError
		}
		if op.unsettled(a) && a.Restored {
			return ReasonRestored
		}
		if op.unsettled(a) && (op.Filled == nil || a.Digest != op.Filled.Digest || a.Generation != op.Generation) {
			return ReasonBytesDiffer
		}
	}
	if w := WindowUntil(op, p); w != 0 && now.Add(p.Timeout) >= w {
		return ReasonWindowClosed
	}
	return ""
}

// WindowUntil is when the key of the current generation stops protecting, counted from the claim of the oldest
// attempt under it that is not proven not executed, minus the margin. Zero when no window applies.
func WindowUntil(op *Operation, p Policy) Time {
	if p.Protection != ProtectionKey {
		return 0
	}
	oldest := op.oldestUnder(op.Generation)
	if oldest == 0 {
		return 0
	}
	return max(oldest.Add(p.KeyWindow-p.KeyMargin), 1)
}

// lookupMove says when to ask the target next. When it answers ask, absent says that a complete lookup after the
// documented delay found nothing.
func lookupMove(op *Operation, p Policy, now Time) (m Move, absent bool) {
	if !p.Lookup {
		return ask(QuestionResolve, ReasonNoProtection), false
	}
	visible := overUntil(op, p).Add(p.Visible)
	if p.AbsentCounts && op.Look.Absent != 0 && op.Look.Absent >= visible {
		return ask(QuestionResolve, ReasonAbsent), true
	}
	if op.Look.Count >= max(p.LookupsMax, 1) {
		if p.AbsentCounts {
			return ask(QuestionResolve, ReasonLookupsSpent), false
		}
		return ask(QuestionResolve, ReasonAbsentNeverCounts), false
	}
	if op.Look.Count == 0 {
		return Move{Action: ActionLookUp, Reason: ReasonOutcomeUnknown}, false
	}
	due, why := op.Look.At.Add(p.LookupEvery), ReasonOutcomeUnknown
	if p.AbsentCounts && op.Look.Absent != 0 {
		due, why = latest(due, visible), ReasonNotVisible
	}
	if now >= due {
		return Move{Action: ActionLookUp, Reason: ReasonOutcomeUnknown}, false
	}
	return Move{Action: ActionWait, Reason: why, Due: due, Then: ActionLookUp}, false
}

// overUntil is when the last unsettled attempt was over.
func overUntil(op *Operation, p Policy) Time {
	var t Time
	for i := range op.Attempts {
		if a := &op.Attempts[i]; op.unsettled(a) {
			t = latest(t, a.overForAll(p.Skew))
		}
	}
	return t
}

// sendMove is about an operation with nothing unsettled: never sent, all proven not executed, or attested.
func sendMove(op *Operation, p Policy, now Time) Move {
	attested := lastAttested(op)
	switch {
	case op.anyAttempt(func(a *Attempt) bool { return a.NoRepeat && a.Generation == op.Generation }):
		return ask(QuestionResolve, ReasonStoredError)
	case op.sends() > 0 && op.spent(p):
		return ask(QuestionResolve, ReasonAttemptsSpent)
	}
	if m, due := lastLookup(op, p, now, attested); due {
		return m
	}
	if why := gate(op, now); why != "" {
		return ask(QuestionApprove, why)
	}
	due := backoffDue(op, p, op.sends())
	if now < due {
		return Move{Action: ActionWait, Reason: ReasonBackoff, Due: due, Then: ActionSend}
	}
	return Move{Action: ActionSend, Reason: sendReason(op, attested)}
}

func sendReason(op *Operation, attested Time) Reason {
	switch {
	case attested != 0:
		return ReasonAttested
	case len(op.Attempts) == 0:
		return ReasonNeverSent
	}
	return ReasonNotExecuted
}

func lastAttested(op *Operation) Time {
	var t Time
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open() && a.Attested != nil {
			t = latest(t, a.Attested.At)
		}
	}
	return t
}

// lastLookup asks the target once more before a resend that rests on a person's word.
func lastLookup(op *Operation, p Policy, now, attested Time) (Move, bool) {
	if attested == 0 || !p.Lookup || op.Look.Absent > attested || op.sends() > 0 {
		return Move{}, false
	}
	if op.Look.Count >= max(p.LookupsMax, 1) {
		return ask(QuestionResolve, ReasonLookupsSpent), true
	}
	due := op.Look.At.Add(p.LookupEvery)
	if op.Look.At > attested && now < due {
		return Move{Action: ActionWait, Reason: ReasonLastLookup, Due: due, Then: ActionLookUp}, true
	}
	return Move{Action: ActionLookUp, Reason: ReasonLastLookup}, true
}

// gate is R5's part that time and people decide: the approval stands, for this content, and is not too old.
// Whether the bytes are the approved ones is checked again by whoever sends them.
func gate(op *Operation, now Time) Reason {
	a := op.Approval
	switch {
	case a == nil:
		return ReasonApprovalMissing
	case a.Version != op.Content.Version || a.Digest != op.Content.Digest || a.Digest == "":
		return ReasonApprovalOther
	case a.ValidUntil == 0 && !a.Standing, a.ValidUntil != 0 && now >= a.ValidUntil:
		return ReasonApprovalLapsed
	case op.SendBy != 0 && now >= op.SendBy && a.At < op.SendBy:
		return ReasonSendByPassed
	}
	return ""
}

// backoffDue is when the next request may leave, after n tries: the policy's growing wait, counted from the end of
// the latest attempt, and never before the target's own Retry-After.
func backoffDue(op *Operation, p Policy, n int) Time {
	if len(op.Attempts) == 0 || n == 0 {
		return 0
	}
	var over, asked Time
	for i := range op.Attempts {
		over = latest(over, op.Attempts[i].overAt(p.Skew))
		asked = latest(asked, op.Attempts[i].RetryAfter)
	}
	return latest(over.Add(p.backoff(n)), asked)
}

// Fence is the sender's last check, made right before the first byte: the lease still covers the whole request,
// the approval still stands, and for a replay the key's window is open too. It returns "" or why nothing may be sent.
func Fence(op *Operation, id AttemptID, p Policy, now Time) Reason {
	a := op.Attempt(id)
	switch {
	case a == nil:
		return ReasonUnknownAttempt
	case a.Recorded != 0 || !a.Open() || now.Add(p.Timeout) > a.LeaseUntil:
		return ReasonLost
	}
	if why := gate(op, now); why != "" {
		return why
	}
	if w := WindowUntil(op, p); a.Replay && w != 0 && now.Add(p.Timeout) >= w {
		return ReasonWindowClosed
	}
	return ""
}

// RemindEvery is how long a question, or anything else a person owns, rests before the sweep reminds its owner.
const RemindEvery = 4 * time.Hour

// stepGrace is how long a step that is due now may take before the sweep looks for who should have taken it.
const stepGrace = 2 * time.Minute

// stepLong is the due time of what another open thing (the run, an earlier stage) will start.
const stepLong = 24 * time.Hour

// schedule writes the next step, its owner and its due time (R7). Settled operations have none.
func (op *Operation) schedule(p Policy, now Time) {
	m := Next(op, p, now)
	s := Step{Action: m.Action, Reason: m.Reason, Owner: op.Owner}
	switch m.Action {
	case ActionDone:
		s.Due = 0
	case ActionWait:
		s.Due = m.Due.Add(stepGrace)
	case ActionAsk:
		s.Due = now.Add(RemindEvery)
		if q := op.Question; q != nil && q.Expires != 0 {
			s.Due = min(s.Due, q.Expires)
		}
	default:
		s.Due = now.Add(stepGrace)
	}
	if op.Status == StatusProposed && m.Action == ActionSend {
		s.Due = now.Add(stepLong)
	}
	op.Step = s
}

// Postpone answers the operation with its next step scheduled anew, for a reminder that was given or a time that has
// come without anything to write down.
func Postpone(op *Operation, p Policy, now Time) *Operation {
	next := op.clone()
	next.schedule(p, now)
	return next
}
