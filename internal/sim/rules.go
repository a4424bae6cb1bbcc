package sim

import (
	"fmt"
	"slices"

	"holdfast/internal/operation"
)

// wroteOperation checks one write of an operation against the rules.
func (j *judge) wroteOperation(old *operation.Operation, op operation.Operation) {
	a := j.w.current()
	switch {
	case old == nil:
		if op.Status != operation.StatusProposed && !(op.Status == operation.StatusUnknown && j.everRestored) {
			j.fail("R6", "an operation began as "+op.Status.String())
		}
	default:
		j.changed(old, &op, a)
	}
	j.owned("operation "+string(op.ID), op.Step, op.Status.Settled())
	j.ops[op.ID] = op
}

func (j *judge) changed(old, op *operation.Operation, a *actor) {
	if old.Status == operation.StatusConfirmed && (op.Status != operation.StatusConfirmed || op.Reference != old.Reference) {
		j.fail("R8", fmt.Sprintf("%s was confirmed with %s and is now %s with %s", op.ID, old.Reference, op.Status, op.Reference))
	}
	if op.Rev <= old.Rev {
		j.fail("R1", fmt.Sprintf("%s: revision %d was written over %d", op.ID, op.Rev, old.Rev))
	}
	if old.Status != op.Status {
		if told(op) == told(old) {
			j.fail("R6", fmt.Sprintf("%s went from %s to %s without evidence", op.ID, old.Status, op.Status))
		}
		if old.Status == operation.StatusUnknown || old.Status == operation.StatusHeld || old.Status == operation.StatusInFlight {
			j.reach("R6")
		}
		if op.Status == operation.StatusUnknown {
			j.reach("R4")
		}
	}
	j.w.tellOperation(old, op)
	j.kept(old, op)
	j.claimed(old, op, a)
	j.decided(old, op, a)
	if op.Contradiction != nil && old.Contradiction == nil || op.Question != nil && op.Question.Kind == operation.QuestionUnsettled && old.Question == nil {
		j.reach("R12")
	}
}

// told counts the facts that the evidence holds.
func told(op *operation.Operation) int {
	n := 0
	for i := range op.Evidence {
		n += max(op.Evidence[i].Count, 1)
	}
	return n
}

// kept: attempts and what is proven about them stay.
func (j *judge) kept(old, op *operation.Operation) {
	if len(op.Attempts) < len(old.Attempts) {
		j.fail("R6", fmt.Sprintf("%s lost an attempt", op.ID))
		return
	}
	for i := range old.Attempts {
		was, is := &old.Attempts[i], &op.Attempts[i]
		if was.ID != is.ID || was.Outcome != operation.OutcomeUnknown && was.Outcome != is.Outcome && !ownWord(was, is, op) {
			j.fail("R12", fmt.Sprintf("%s: what was proven about an attempt changed from %d to %d", op.ID, was.Outcome, is.Outcome))
		}
		if was.Recorded == 0 && is.Recorded != 0 && was.Ended != 0 {
			j.reach("R12") // a late result
		}
	}
}

// ownWord: what settled all attempts of a target that collapses repeats gives way to what the attempt itself saw.
func ownWord(was, is *operation.Attempt, op *operation.Operation) bool {
	return was.Recorded == 0 && is.Recorded != 0 && op.Status == operation.StatusConfirmed &&
		slices.ContainsFunc(op.Attempts, func(a operation.Attempt) bool { return a.Outcome == operation.OutcomeExecuted })
}

// claimed checks a new attempt.
func (j *judge) claimed(old, op *operation.Operation, a *actor) {
	if len(op.Attempts) == len(old.Attempts) {
		return
	}
	n := &op.Attempts[len(op.Attempts)-1]
	if n.Restored {
		return
	}
	j.claims[a] = claim{op.ID, n.ID}
	if len(op.Attempts) > len(old.Attempts)+1 {
		j.fail("R1", fmt.Sprintf("%s gained two attempts in one write", op.ID))
	}
	if old.Status.Settled() {
		j.fail("R8", fmt.Sprintf("%s was claimed when it was %s", op.ID, old.Status))
	}
	for i := range old.Attempts {
		if e := &old.Attempts[i]; e.Open() && e.Recorded == 0 && e.Ended == 0 && !e.Restored && operation.TimeOf(j.w.now) <= e.LeaseUntil {
			j.fail("R1", fmt.Sprintf("%s was claimed while attempt %s held the claim", op.ID, e.ID))
		}
	}
	if op.Approval == nil || op.Approval.Digest != op.Content.Digest {
		j.fail("R5", fmt.Sprintf("%s was claimed without an approval of its content", op.ID))
	} else if !op.Approval.Standing {
		j.reach("R5")
	}
	open, replay := false, n.Replay
	for i := range old.Attempts {
		if e := &old.Attempts[i]; e.Open() && e.Attested == nil {
			open = true
		}
	}
	if open {
		j.reach("R3")
		if !replay || j.policyOf(op).Protection == operation.ProtectionNone {
			j.fail("R3", fmt.Sprintf("%s was claimed for another send while an attempt is open", op.ID))
		}
	}
}

// decided: a person's decision is written only by their own press of the button.
func (j *judge) decided(old, op *operation.Operation, a *actor) {
	if a.call != nil && a.call.get {
		j.fail("R11", fmt.Sprintf("looking at a page changed %s", op.ID))
	}
	if len(op.Answered) <= len(old.Answered) || j.w.restored {
		return
	}
	d := op.Answered[len(op.Answered)-1].Decision
	if d.By == "" {
		if d.Answer == operation.AnswerApprove {
			j.fail("R11", "nobody approved "+string(op.ID))
		}
		return
	}
	j.decisions++
	switch {
	case a.call == nil || a.call.person != string(d.By):
		j.fail("R11", fmt.Sprintf("%s was decided in the name of %s by somebody else", op.ID, d.By))
	case old.Question != nil && a.call.question != "" && a.call.question != old.Question.ID:
		j.fail("R11", fmt.Sprintf("%s was decided with the link of another question", op.ID))
	case a.call.other:
		j.fail("R5", fmt.Sprintf("%s was decided by somebody who saw other content", op.ID))
	}
}

// owned: everything open has somebody who acts on it, and a time (R7).
func (j *judge) owned(what string, s operation.Step, settled bool) {
	if settled && s.Action == operation.ActionDone {
		return
	}
	if s.Owner == "" || s.Due == 0 {
		j.fail("R7", fmt.Sprintf("%s is open and has the owner %q and the due time %q", what, s.Owner, s.Due))
	}
}

func (j *judge) wroteRun(old *operation.Run, run operation.Run) {
	if old == nil {
		if _, known := j.runs[run.ID]; !known {
			j.runOrder = append(j.runOrder, run.ID)
		}
	} else if old.Ended() && !run.Ended() && run.Generation == old.Generation {
		j.fail("R8", fmt.Sprintf("%s had ended and goes on", run.ID))
	}
	if a := j.w.current(); a.call != nil && a.call.get {
		j.fail("R11", fmt.Sprintf("looking at a page changed %s", run.ID))
	}
	if a := j.w.current(); a.call != nil && a.call.form != nil && a.call.person == "" {
		j.fail("R11", fmt.Sprintf("somebody without the code changed %s", run.ID))
	}
	for _, s := range run.Stages {
		if (s.Reused || s.Conflict) && old != nil && len(old.Stages) == 0 {
			j.reach("R8")
			j.reach("R10")
		}
	}
	j.owned("run "+string(run.ID), run.Step, run.Ended())
	j.runs[run.ID] = run
}

// used: a claim that nothing went wrong with is used. Whoever made it sends, or records why it did not.
func (w *world) used(c *invocation, a *actor) {
	cl, ok := w.claims[a]
	if !ok || c.hindered || w.sent[cl.attempt] > 0 || w.everRestored {
		return
	}
	op := w.ops[cl.op]
	if at := op.Attempt(cl.attempt); at != nil && at.Open() && at.Recorded == 0 {
		w.fail("R1", fmt.Sprintf("%s claimed attempt %s, no fault struck it, and it neither sent nor said why not", c.function, cl.attempt))
	}
}
