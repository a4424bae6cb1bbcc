package operation_test

import "holdfast/internal/operation"

// The oracle: the rules judged from the true history, written without asking the core.

// illegalSend judges a request that is about to leave (R1, R2, R3, R5).
func (w *world) illegalSend(c *config, i int) string {
	me := w.workers[i]
	t := &w.tries[me.try]
	if t.sentAt != 0 {
		return "a second request of one attempt (R2)"
	}
	if why := w.unapproved(c, i, t.version); why != "" {
		return why
	}
	if t.storedBefore {
		return "sent again under a key that has a stored error (R3)"
	}
	for j := range me.try {
		if why := w.unsafeAfter(c, j, me.try, w.now+c.clock(i)); why != "" {
			return why
		}
	}
	return ""
}

// unsafeAfter says why attempt i may not be sent because of the earlier attempt j.
func (w *world) unsafeAfter(c *config, j, i int, now operation.Time) string {
	a, b := &w.tries[j], &w.tries[i]
	switch {
	case a.proven:
		return ""
	case a.attested != 0 && c.policy.Lookup && !a.lookedFor:
		return "sent on a person's word without a last lookup (R3)"
	case a.attested != 0:
		return ""
	case c.policy.Protection == operation.ProtectionNone:
		return "sent again although nothing is proven, said or collapsed (R3)"
	case c.policy.Protection == operation.ProtectionKey && (a.gen != b.gen || now >= w.oldest(a.gen, i)+windowT-marginT):
		return "sent again outside the key's window (R3)"
	case c.policy.Order == operation.OrderLookUp && c.policy.Lookup && !a.absent:
		return "replayed before a lookup could have shown the effect (R3)"
	}
	return ""
}

// storedError says that an error stored under the key of a generation is on record.
func (w *world) storedError(gen int) bool {
	for j := range w.n {
		if w.tries[j].stored && w.tries[j].gen == gen && !w.lost(j) {
			return true
		}
	}
	return false
}

// oldest is the claim of the oldest attempt before i under the key that is not proven not executed.
func (w *world) oldest(gen, i int) operation.Time {
	for j := range i {
		if w.tries[j].gen == gen && !w.tries[j].proven {
			return w.tries[j].claimed
		}
	}
	return w.tries[i].claimed
}

func (w *world) unapproved(c *config, i, version int) string {
	a, now := w.op.Approval, w.now+c.clock(i)
	switch {
	case a == nil:
		return "sent without approval (R5)"
	case a.Version != version || a.Digest != digestOf(version):
		return "sent other content than the approved one (R5)"
	case !a.Standing && now >= a.ValidUntil:
		return "sent after the approval's validity (R5)"
	case w.op.SendBy != 0 && now >= w.op.SendBy && a.At < w.op.SendBy:
		return "sent after its send_by (R5)"
	}
	return ""
}

// illegalWord judges a person's word that nothing happened.
func (w *world) illegalWord(c *config, d operation.Decided) string {
	for j := range w.n {
		if (w.tries[j].truth == truthPending || w.canSend(c, j)) && !w.repeats(c, j) {
			return "a person's word was taken while the answer could still appear (R4)"
		}
	}
	if d.Answer != operation.AnswerNewKey {
		return ""
	}
	stored, oldest := false, operation.Time(0)
	for j := range w.n {
		t := &w.tries[j]
		if t.gen != w.op.Generation || t.proven {
			continue
		}
		stored = stored || t.stored
		if oldest == 0 {
			oldest = t.claimed
		}
	}
	if !stored && (oldest == 0 || w.now < oldest+windowT-marginT) {
		return "a new key was opened while the old one still protects (R3)"
	}
	return ""
}

// repeats says that the request of try j, if it leaves or is carried out, is collapsed into an effect that exists.
func (w *world) repeats(c *config, j int) bool {
	ref, repeat := w.collapsed(c, w.tries[j].gen)
	return repeat && ref != ""
}

// rivalOf finds another worker that still may send (R1).
func (w *world) rivalOf(c *config, i int) string {
	for j := range w.n {
		if w.canSend(c, j) {
			return "claimed while another claim still allowed a request (R1)"
		}
	}
	return ""
}

// final judges a step: what is confirmed stays as it is.
func (w *world) final(after *world) string {
	if w.op.Reference != "" && after.restored == w.restored && (after.op.Reference != w.op.Reference || after.op.Status != operation.StatusConfirmed) {
		return "confirmed changed (R8)"
	}
	return ""
}

// wrong judges a state, and what the step that led to it found.
func (c *config) wrong(k *core, w *world) string {
	if w.problem != "" {
		return w.problem
	}
	if w.effects() > 1 && w.lies == 0 {
		return "two effects, and nobody gave a wrong word"
	}
	if s := w.falseProof(c); s != "" {
		return s
	}
	m := k.next(w.op, c.policy, w.now)
	if w.op.Step.Owner == "" || m.Action != operation.ActionDone && w.op.Step.Due == 0 && w.op.Step.Action != operation.ActionDone {
		return "an open operation has no owner or no due time (R7)"
	}
	if w.effects() > 1 && w.op.Status == operation.StatusConfirmed && m.Action == operation.ActionDone && w.op.Contradiction == nil {
		return "two effects, and neither a contradiction nor an open item shows it (R12)"
	}
	return ""
}

// falseProof finds an outcome that is not true.
func (w *world) falseProof(c *config) string {
	for j := range w.n {
		a := w.recordOf(j)
		if a == nil || a.Outcome != operation.OutcomeNotExecuted {
			continue
		}
		if t := w.tries[j].truth; t == truthEffect || t == truthPending {
			return "an attempt counts as not executed and was carried out, or still may be (R4)"
		}
		for i := range w.workers {
			if k := &w.workers[i]; k.phase == phaseHeld && attemptID(k.try) == a.ID && w.now+c.clock(i)+timeoutT <= a.LeaseUntil {
				return "an attempt counts as not executed and its sender may still send (R4)"
			}
		}
	}
	if w.op.Status != operation.StatusConfirmed {
		return ""
	}
	for j := range w.n {
		if w.tries[j].truth == truthEffect && refOf(j) == w.op.Reference {
			return ""
		}
	}
	return "confirmed without an effect of that reference (R4)"
}
