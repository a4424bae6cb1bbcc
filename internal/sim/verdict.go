package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/operation"
)

// open counts what is not settled.
func (j *judge) open() int {
	n := 0
	for id := range j.ops {
		op := j.ops[id]
		if !op.Status.Settled() || op.Step.Action != operation.ActionDone {
			n++
		}
	}
	for id := range j.runs {
		if run := j.runs[id]; !run.Ended() {
			n++
		}
	}
	for id := range j.evs {
		if ev := j.evs[id]; ev.Status == operation.EventReceived {
			n++
		}
	}
	return n
}

// verdict is what must hold at the end, when faults have stopped and people have answered.
func (w *world) verdict() {
	for id := range w.ops {
		op := w.ops[id]
		n := len(w.effects[id])
		switch {
		case !op.Status.Settled():
			w.unsettled("operation "+string(id)+" is still "+op.Status.String(), op.Question, op.Step)
		case op.Status == operation.StatusConfirmed && hidden(&op):
			w.fail("R12", fmt.Sprintf("%s is confirmed, and nobody found out about another attempt of it", id))
		case op.Status == operation.StatusConfirmed && n == 0:
			w.fail("R6", fmt.Sprintf("%s is confirmed with %s, and the target has no effect of it", id, op.Reference))
		case (op.Status == operation.StatusFailed || op.Status == operation.StatusDeclined) && n > 0 && !w.anew(&op):
			w.fail("R4", fmt.Sprintf("%s is %s, and the target has its effect", id, op.Status))
		}
	}
	w.counts()
	for id := range w.runs {
		if run := w.runs[id]; !run.Ended() {
			w.unsettled("run "+string(id)+" is still "+run.Status.String(), run.Question, run.Step)
		}
	}
	for _, s := range w.senders {
		if !s.heard && !s.gaveUp {
			w.fail("R9", "the sender of "+s.event.id+" was never told that it was accepted")
		}
	}
	w.sameIntention()
}

// hidden: an attempt that may have had an effect of its own stands behind a confirmed one.
func hidden(op *operation.Operation) bool {
	return slices.ContainsFunc(op.Attempts, func(a operation.Attempt) bool { return a.Outcome == operation.OutcomeUnknown && a.Attested == nil })
}

func (w *world) unsettled(what string, q *operation.Question, s operation.Step) {
	asked := "nobody is asked"
	if q != nil {
		asked = fmt.Sprintf("%v are asked (%s)", q.Reviewers, q.Reason)
	}
	w.fail("R7", fmt.Sprintf("%s long after faults stopped: %s; next %s (%s) due %s", what, asked, s.Action, s.Reason, s.Due))
}

// counts: what the ledger counts is what was seen from outside.
func (w *world) counts() {
	if w.everRestored {
		return // what the lost part counted is gone with it
	}
	sent := 0
	for _, n := range w.sent {
		sent += n
	}
	attempts := 0
	for id := range w.ops {
		attempts += len(w.ops[id].Attempts)
	}
	if sent > attempts {
		w.fail("R2", fmt.Sprintf("%d requests were sent and the ledger has %d attempts", sent, attempts))
	}
}

// sameIntention: one business key has one operation for each stage (R10), whatever came twice.
func (w *world) sameIntention() {
	type intention struct{ flow, stage, request, second string }
	seen := map[intention]operation.ID{}
	for _, id := range w.runOrder {
		run := w.runs[id]
		body, err := w.peek.Payload(context.Background(), run.Event, w.evs[run.Event].Payload)
		if err != nil {
			continue
		}
		var b struct {
			Data struct {
				RequestID string `json:"request_id"`
			}
		}
		if json.Unmarshal(body, &b) != nil {
			continue
		}
		for _, s := range run.Stages {
			op := w.ops[s.Operation]
			i := intention{run.Flow, s.Name, b.Data.RequestID, op.Second}
			if strings.TrimSpace(b.Data.RequestID) == "" && s.Operation != "" {
				w.fail("R10", fmt.Sprintf("%s was made from a blank business key", s.Operation))
			}
			if first, ok := seen[i]; ok && first != s.Operation {
				w.fail("R10", fmt.Sprintf("%v has two operations, %s and %s", i, first, s.Operation))
			}
			seen[i] = s.Operation
		}
	}
}
