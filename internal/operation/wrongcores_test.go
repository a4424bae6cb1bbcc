package operation_test

import (
	"time"

	"holdfast/internal/operation"
)

var (
	bare    = where(operation.ProtectionNone, false, false, operation.OrderLookUp)
	bareSee = where(operation.ProtectionNone, true, true, operation.OrderLookUp)
	keyed   = where(operation.ProtectionKey, false, false, operation.OrderReplay)
	keySee  = where(operation.ProtectionKey, true, true, operation.OrderLookUp)
	apart   = skewed(honest(where(operation.ProtectionNatural, false, false, operation.OrderReplay)), 2)
	human   = config{policy: policyOf(operation.ProtectionKey, true, true, operation.OrderReplay), approvals: true, skew: 1, tries: 2, stale: true}
)

func wrongAboutAttempts() []wrongCore {
	return []wrongCore{
		{"1", "a refused replay erases the doubt", honest(keyed), "(R4)", afterwards(func(_, op *operation.Operation, f operation.Fact, _ operation.Policy) {
			if r, ok := f.(operation.Reported); ok && r.Outcome == operation.OutcomeNotExecuted {
				forget(op, isOpen)
			}
		})},
		{"2", "a lookup that finds nothing counts as not executed", honest(bareSee), "(R4)", afterwards(func(_, op *operation.Operation, f operation.Fact, _ operation.Policy) {
			if l, ok := f.(operation.Looked); ok && l.Result == operation.LookAbsent {
				forget(op, isOpen)
			}
		})},
		{"2", "absent inside the documented delay permits a replay", honest(keySee), "(R3)", distorted(nil, func(p *operation.Policy) { p.Visible = 0 })},
		{"2", "absent permits a resend where nothing collapses repeats", honest(bareSee), "(R3)", distorted(func(op *operation.Operation) {
			if op.Look.Absent != 0 {
				forget(op, isOpen)
			}
		}, nil)},
		{"5", "a restarted worker takes a running attempt for its own", honest(bare), "(R2)", ownByName()},
		{"6", "the skew of two clocks is left out", apart, "(R1)", distorted(nil, func(p *operation.Policy) { p.Skew = 0 })},
		{"10", "a restored ledger is believed", losesLedger(honest(keySee)), "(R3)", believesCopy()},
		{"6", "no fence before the first byte", honest(bare), "", noFence()},
		{"6", "the end of a lease counts as not sent", honest(bare), "(R4)", afterwards(func(_, op *operation.Operation, f operation.Fact, _ operation.Policy) {
			if _, ok := f.(operation.LeaseOver); ok {
				forget(op, func(a *operation.Attempt) bool { return a.Open() && a.Ended != 0 })
			}
		})},
		{"9", "a proxy's 403 counts as not executed", honest(bare), "(R4)", trustsProxies()},
		{"R3", "the last outcome decides instead of all", honest(keyed), "(R3)", distorted(func(op *operation.Operation) {
			if n := len(op.Attempts); n > 1 {
				op.Attempts = op.Attempts[n-1:]
				if op.Attempts[0].Outcome == operation.OutcomeNotExecuted {
					forget(op, isOpen)
				}
			}
		}, nil)},
		{"R4", "an old doubt is taken for nothing", honest(bare), "", afterwards(func(_, op *operation.Operation, f operation.Fact, _ operation.Policy) {
			if _, ok := f.(operation.Asked); ok {
				forget(op, isOpen)
			}
		})},
		{"16", "confirmed hides an open attempt", bare, "(R12)", confirmedIsDone()},
		{"24", "a feed pushes an attempt's outcome out", honest(bare), "(R12)", feedPushesOut()},
		{"R12", "a contradiction is not raised", bare, "(R12)", afterwards(func(_, op *operation.Operation, _ operation.Fact, _ operation.Policy) {
			op.Contradiction = nil
		})},
	}
}

func ownByName() core {
	k := rightCore()
	k.adopts = true
	k.own = func(op *operation.Operation, now operation.Time) operation.AttemptID {
		if n := len(op.Attempts); n > 0 && op.Attempts[n-1].Recorded == 0 && op.Attempts[n-1].LeaseUntil > now {
			return op.Attempts[n-1].ID
		}
		return ""
	}
	return k
}

func noFence() core {
	k := rightCore()
	k.fence = func(*operation.Operation, operation.AttemptID, operation.Policy, operation.Time) operation.Reason {
		return ""
	}
	return k
}

func trustsProxies() core {
	k := rightCore()
	k.classify = func(a answer) operation.Outcome {
		if a == answerUnlisted {
			return operation.OutcomeNotExecuted
		}
		return classify(a)
	}
	return k
}

func confirmedIsDone() core {
	k := rightCore()
	k.next = func(op *operation.Operation, p operation.Policy, now operation.Time) operation.Move {
		if op.Status == operation.StatusConfirmed {
			return operation.Move{Action: operation.ActionDone, Reason: operation.ReasonConfirmed}
		}
		return operation.Next(op, p, now)
	}
	return k
}

func feedPushesOut() core {
	k := rightCore()
	k.apply = func(op *operation.Operation, f operation.Fact, p operation.Policy) (*operation.Operation, *operation.Refusal) {
		if _, ok := f.(operation.Reported); ok && op.Status == operation.StatusConfirmed {
			return nil, &operation.Refusal{Reason: operation.ReasonSettled}
		}
		return operation.Apply(op, f, p)
	}
	return k
}

func wrongAboutPeople() []wrongCore {
	return []wrongCore{
		{"11", "an approval is used after its validity", human, "validity (R5)", distorted(func(op *operation.Operation) {
			if op.Approval != nil {
				op.Approval.ValidUntil = operation.TimeMax
			}
		}, nil)},
		{"11", "content is sent after its send_by", human, "send_by (R5)", distorted(func(op *operation.Operation) { op.SendBy = 0 }, nil)},
		{"12", "other content is sent under the same approval", human, "other content than the approved one (R5)", anyApproval()},
		{"15", "a person's word holds for evidence they did not see", honest(bare), "", lateWords(func(op *operation.Operation, f operation.Fact, _ *operation.Policy) operation.Fact {
			if d, ok := f.(operation.Decided); ok && op.Question != nil {
				d.Question, d.Round, d.Rev = op.Question.ID, op.Question.Round, op.Rev
				return d
			}
			return f
		})},
		{"15", "a person's word counts as proof", bare, "(R4)", afterwards(func(_, op *operation.Operation, f operation.Fact, _ operation.Policy) {
			if d, ok := f.(operation.Decided); ok && d.Answer == operation.AnswerNothingHappened {
				forget(op, isOpen)
			}
		})},
		{"15", "no last lookup before a resend on a person's word", honest(bareSee), "last lookup (R3)", distorted(func(op *operation.Operation) {
			if op.Confirmed == 0 {
				op.Look.Absent = operation.TimeMax
			}
		}, nil)},
		{"15", "a person's word is taken while the effect could still appear", honest(bare), "could still appear (R4)", distorted(nil, func(p *operation.Policy) { p.Quiet, p.Visible, p.Skew = 0, 0, 0 })},
		{"19", "a yes after the question's time is taken", human, "(R11)", beforehand(func(op *operation.Operation, f operation.Fact, _ *operation.Policy) operation.Fact {
			if _, ok := f.(operation.Decided); ok && op.Question != nil {
				op.Question.Expires = 0
			}
			return f
		})},
		{"19", "a yes after the expiry was written is taken", human, "(R11)", yesAfterExpiry()},
	}
}

func anyApproval() core {
	k := distorted(func(op *operation.Operation) {
		if op.Approval != nil {
			op.Approval.Version, op.Approval.Digest = op.Content.Version, op.Content.Digest
		}
	}, nil)
	apply := k.apply
	k.apply = func(op *operation.Operation, f operation.Fact, p operation.Policy) (*operation.Operation, *operation.Refusal) {
		next, refused := apply(op, f, p)
		if _, ok := f.(operation.Edited); ok && refused == nil {
			next.Approval = op.Approval
		}
		return next, refused
	}
	return k
}

func yesAfterExpiry() core {
	k := rightCore()
	k.lateWords = true
	k.apply = func(op *operation.Operation, f operation.Fact, p operation.Policy) (*operation.Operation, *operation.Refusal) {
		d, ok := f.(operation.Decided)
		if !ok || d.Answer != operation.AnswerApprove || op.Status != operation.StatusDeclined {
			return operation.Apply(op, f, p)
		}
		c := copyOf(op)
		c.Status, c.Reason = operation.StatusProposed, ""
		c.Approval = &operation.Approval{By: d.By, At: d.At, Version: c.Content.Version, Digest: c.Content.Digest, ValidUntil: d.At + 3}
		c.Evidence = []operation.Evidence{{Kind: operation.EvidenceApproved, At: d.At}}
		return c, nil
	}
	return k
}

func wrongAboutKeys() []wrongCore {
	return []wrongCore{
		{"21", "an error stored under the key is replayed", honest(keyed), "stored error (R3)", distorted(func(op *operation.Operation) {
			for i := range op.Attempts {
				op.Attempts[i].NoRepeat = false
			}
		}, nil)},
		{"21", "a new key is opened while the window is open", honest(keyed), "still protects (R3)", beforehand(func(_ *operation.Operation, f operation.Fact, p *operation.Policy) operation.Fact {
			if _, ok := f.(operation.Decided); ok {
				p.KeyWindow = 0
			}
			return f
		})},
		{"R3", "the window is counted from the newest attempt", honest(keyed), "outside the key's window (R3)", distorted(func(op *operation.Operation) {
			n := len(op.Attempts)
			for i := range op.Attempts {
				op.Attempts[i].Claimed = op.Attempts[n-1].Claimed
			}
		}, nil)},
		{"R3", "a replay leaves after the window", honest(keyed), "outside the key's window (R3)", distorted(nil, func(p *operation.Policy) { p.KeyWindow = 100 * tick })},
		{"R3", "a target without protection is trusted to collapse repeats", honest(bare), "(R3)", distorted(nil, func(p *operation.Policy) { p.Protection = operation.ProtectionNatural })},
	}
}

func lateWords(change func(op *operation.Operation, f operation.Fact, p *operation.Policy) operation.Fact) core {
	k := beforehand(change)
	k.lateWords = true
	return k
}

// skewed: a difference of clocks above the timeout, so that the one cannot stand in for the other.
func skewed(c config, skew operation.Time) config {
	c.skew, c.policy.Skew = skew, time.Duration(skew)*tick
	return c
}

func losesLedger(c config) config {
	c.restores, c.stale = true, false
	return c
}

func believesCopy() core {
	k := rightCore()
	k.apply = func(op *operation.Operation, f operation.Fact, p operation.Policy) (*operation.Operation, *operation.Refusal) {
		next, refused := operation.Apply(op, f, p)
		if _, ok := f.(operation.Restored); ok && refused == nil {
			next.Attempts, next.Status = nil, operation.StatusProposed
		}
		return next, refused
	}
	return k
}
