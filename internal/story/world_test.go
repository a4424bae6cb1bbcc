package story_test

import (
	"context"
	"fmt"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// world is a ledger in memory that counts what is read from it.
type world struct {
	events     []operation.Event
	runs       []operation.Run
	operations []operation.Operation
	links      []ledger.Link
	broken     error // of every read
	audits     int
}

func pick[T any](all []T, broken error, is func(T) bool) (T, error) {
	var none T
	if broken != nil {
		return none, broken
	}
	for _, v := range all {
		if is(v) {
			return v, nil
		}
	}
	return none, fmt.Errorf("item: %w", ledger.ErrNotFound)
}

func (w *world) Operation(_ context.Context, id operation.ID) (operation.Operation, error) {
	return pick(w.operations, w.broken, func(o operation.Operation) bool { return o.ID == id })
}

func (w *world) Run(_ context.Context, id operation.RunID) (operation.Run, error) {
	return pick(w.runs, w.broken, func(r operation.Run) bool { return r.ID == id })
}

func (w *world) Event(_ context.Context, id operation.EventID) (operation.Event, error) {
	return pick(w.events, w.broken, func(e operation.Event) bool { return e.ID == id })
}

func (w *world) Link(_ context.Context, id ledger.LinkID) (ledger.Link, error) {
	return pick(w.links, w.broken, func(l ledger.Link) bool { return l.ID == id })
}

func (w *world) Audit(_ context.Context, _ int32, fn func(ledger.Found) error) error {
	w.audits++
	var found []ledger.Found
	for i := range w.operations {
		found = append(found, ledger.Found{Operation: &w.operations[i]})
	}
	for i := range w.runs {
		found = append(found, ledger.Found{Run: &w.runs[i]})
	}
	for i := range w.events {
		found = append(found, ledger.Found{Event: &w.events[i]})
	}
	for _, f := range append(found, ledger.Found{Err: ledger.ErrNotFound}) {
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}

const (
	noon   = operation.Time(1795780800000) // 2026-11-27T12:00:00.000Z
	second = operation.Time(1000)
	ops    = operation.Person("ops-lead@example.com")
	anna   = operation.Person("reviewer@example.com")
)

func at(s operation.Time) operation.Time { return noon + s*second }

// made is one event with a run of two operations, one of them held, and another event whose delivery and reference
// are the same as the first one's.
func made() *world {
	w := &world{
		events: []operation.Event{event("ev_one", "run_one"), event("ev_two", "run_two")},
		runs:   []operation.Run{run("run_one", "ev_one", "op_task", "op_mail"), run("run_two", "ev_two", "op_twin", "op_unwritten")},
		links: []ledger.Link{
			{ID: "linkofrun", Run: "run_one", CodeHash: "never shown"},
			{ID: "linkofop", Operations: []operation.ID{"op_mail"}},
		},
	}
	twin := confirmed("op_twin", "run_two", "at_twin")
	twin.Contradiction = &operation.Contradiction{At: at(60), Reason: operation.ReasonOtherContent, First: "7714", Second: "7715"}
	w.operations = []operation.Operation{confirmed("op_task", "run_one", "at_task"), held(), twin}
	w.more()
	return w
}

// more adds an event that no flow waits for, a run that lacks data, and one whose second stage waits for its first.
func (w *world) more() {
	alone := event("ev_alone")
	alone.Flows, alone.Deliveries = nil, nil
	lacking := run("run_lacking", "ev_none")
	lacking.Version, lacking.Status, lacking.Reason, lacking.Missing = 0, operation.RunHeld, operation.ReasonDataRejected, []string{"body.email"}
	ordered := run("run_ordered", "ev_none", "op_mail", "op_next")
	lacking.Answered, ordered.Answered = nil, nil
	ordered.Stages[1].After, ordered.Stages[1].Reused = "stage_1", false
	next := confirmed("op_next", "run_ordered", "at_next")
	next.Status, next.Reference, next.Attempts, next.Answered, next.Evidence = operation.StatusProposed, "", nil, nil, nil
	next.Approval = &operation.Approval{By: anna, At: at(2)}
	next.Step = operation.Step{Action: operation.ActionSend, Reason: operation.ReasonNotExecuted, Owner: ops, Due: at(5)}
	w.events, w.runs, w.operations = append(w.events, alone), append(w.runs, lacking, ordered), append(w.operations, next)
}

func event(id operation.EventID, runs ...operation.RunID) operation.Event {
	return operation.Event{
		ID: id, Source: "shopify-flow", Account: "7", Topic: "follow-up", Rung: "event_id", SignedID: true, Received: noon, Owner: ops, Runs: runs, Flows: []string{"campaign-follow-up"},
		Deliveries: []operation.Delivery{{ID: "delivery-1", At: noon, Count: 2}, {ID: "", At: at(1), Variant: true}},
		Status:     operation.EventPlanned, Step: operation.Step{Action: operation.ActionDone, Reason: operation.ReasonClosed, Owner: ops},
	}
}

func run(id operation.RunID, ev operation.EventID, stages ...operation.ID) operation.Run {
	r := operation.Run{
		ID: id, Flow: "campaign-follow-up", Version: 3, Event: ev, Owner: ops, Generation: 2, Status: operation.RunStarted, Token: "never-shown",
		Answered: []operation.Question{{ID: "qrun"}},
		Step:     operation.Step{Action: operation.ActionWait, Reason: operation.ReasonAnswered, Owner: ops, Due: at(600)},
	}
	for i, op := range stages {
		r.Stages = append(r.Stages, operation.StageRef{Name: fmt.Sprintf("stage_%d", i+1), Operation: op, Reused: i == 1})
	}
	return r
}

func confirmed(id operation.ID, run operation.RunID, attempt operation.AttemptID) operation.Operation {
	return operation.Operation{
		ID: id, Flow: "campaign-follow-up", Stage: "crm_task", Target: "hubspot-task", Owner: ops, Runs: []operation.RunID{run}, Status: operation.StatusConfirmed, Reference: "7714",
		Content:  operation.Content{Version: 1, Digest: "39829b8b33a370945ff27d62"},
		Approval: &operation.Approval{By: anna, At: at(2), ValidUntil: at(3600)},
		Attempts: []operation.Attempt{{ID: attempt, Claimed: at(3), Recorded: at(4), Outcome: operation.OutcomeExecuted, Reference: "7714"}},
		Answered: []operation.Question{{ID: "q" + operation.QuestionID(id)}},
		Evidence: []operation.Evidence{{Kind: operation.EvidencePlanned, At: noon}, {Kind: operation.EvidenceApproved, At: at(2), By: anna}, {Kind: operation.EvidenceAnswer, At: at(4), Reference: "7714"}},
		Step:     operation.Step{Action: operation.ActionDone, Reason: operation.ReasonConfirmed, Owner: ops},
	}
}

func held() operation.Operation {
	return operation.Operation{
		ID: "op_mail", Flow: "campaign-follow-up", Stage: "email", Target: "resend-email", Owner: ops, Runs: []operation.RunID{"run_one", "run_gone"}, Status: operation.StatusHeld, Reason: operation.ReasonAttemptOpen,
		Content: operation.Content{Version: 2, Digest: "aa8cdbaa290967fea7262060"},
		Attempts: []operation.Attempt{
			{ID: "at_first", Claimed: at(10), Ended: at(200)},
			{ID: "at_word", Claimed: at(210), Recorded: at(211), Attested: &operation.Attestation{By: anna, At: at(900), How: "looked"}},
			{ID: "at_second", Claimed: at(300), Replay: true},
		},
		Question: &operation.Question{ID: "qmail", Kind: operation.QuestionResolve, Round: 2, Reason: operation.ReasonAttemptOpen, Asked: at(500), Reviewers: []operation.Person{anna, ops}},
		Evidence: []operation.Evidence{{Kind: operation.EvidenceLookupAbsent, At: at(400), Last: at(460), Count: 3}},
		Step:     operation.Step{Action: operation.ActionAsk, Reason: operation.ReasonAttemptOpen, Owner: ops, Due: at(4100)},
	}
}
