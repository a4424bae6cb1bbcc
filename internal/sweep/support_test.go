package sweep_test

import (
	"context"
	"testing"
	"time"

	"holdfast/internal/app/apptest"
	"holdfast/internal/flow"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/sweep"
)

const (
	owner    operation.Person = "owner@example.com"
	reviewer operation.Person = "reviewer@example.com"
	above    operation.Person = "boss@example.com"
)

// policy is of a target that can be asked and collapses nothing.
var policy = operation.Policy{
	Lookup: true, AbsentCounts: true, Visible: time.Minute, LookupEvery: time.Minute, LookupsMax: 3, AttemptsMax: 3,
	BackoffMin: time.Second, BackoffMax: time.Minute, Factor: 2, Timeout: 10 * time.Second, Lease: 75 * time.Second, Skew: 5 * time.Second,
}

func policyOf(*operation.Operation) operation.Policy { return policy }

// yard is the sweep with everything behind it.
type yard struct {
	*apptest.Parts
	*sweep.Sweep
	t     *testing.T
	mails *apptest.Mails
	asked []operation.RunID
}

func newYard(t *testing.T) *yard {
	t.Helper()
	y := &yard{t: t, mails: &apptest.Mails{}}
	y.Parts = apptest.New(t, apptest.Options{
		Fold: func(op operation.Operation, _ operation.AttemptID, _ []byte) (operation.Operation, error) {
			return op, nil
		},
		Functions: map[string]apptest.Function{"ask": func([]byte) (any, error) { return nil, nil }},
	})
	y.Sweep = &sweep.Sweep{
		Store: y.Ledger, Launcher: y.Parts.Launcher, Asker: y, Policy: policyOf, Notifier: y.mails, Clock: y.Parts.Clock, Log: y.Parts.Log,
		Owner: func(string) operation.Person { return owner },
	}
	return y
}

// AskRun implements sweep.Asker as the desk does: the question is on the run, its owner is written to.
func (y *yard) AskRun(ctx context.Context, run operation.Run, why operation.Reason) (operation.Run, error) {
	y.asked = append(y.asked, run.ID)
	next := run
	operation.AskAboutRun(&next, operation.Question{ID: operation.QuestionID(y.ID("q_")), Reason: why, Reviewers: []operation.Person{run.Owner}}, y.now())
	res, err := y.Ledger.UpdateRun(ctx, run, next)
	return res.Current, err
}

// AskOperations implements sweep.Asker as the desk does: the question is on the operation.
func (y *yard) AskOperations(ctx context.Context, _ operation.Run, plan flow.PinnedPlan, ops []operation.Operation) ([]operation.Operation, error) {
	for i := range ops {
		m := operation.Next(&ops[i], policy, y.now())
		q := operation.Question{ID: operation.QuestionID(y.ID("q_")), Kind: m.Kind, Reviewers: []operation.Person{plan.Owner}}
		ops[i] = y.give(ops[i], operation.Asked{At: y.now(), Question: q})
	}
	return ops, nil
}

func (y *yard) now() operation.Time { return y.Parts.Now() }

// later lets time pass and sweeps.
func (y *yard) later(d time.Duration) sweep.Report {
	y.t.Helper()
	y.Parts.Clock.Move(d)
	r, err := y.Handle(y.t.Context())
	apptest.Must(y.t, err)
	return r
}

func (y *yard) event(change func(*operation.Event)) operation.Event {
	y.t.Helper()
	id := operation.EventID(y.ID("ev_"))
	digest := ledger.DigestOf([]byte("{}"))
	ev := operation.Event{
		ID: id, Source: "s", Account: "a", Topic: "t", BodyDigest: digest, Payload: digest, Received: y.now(), Owner: owner,
		Deliveries: []operation.Delivery{{ID: "d", At: y.now(), BodyDigest: digest}}, Flows: []string{"f"}, Runs: []operation.RunID{operation.RunID(y.ID("run_"))},
	}
	ev.Await(y.now())
	if change != nil {
		change(&ev)
	}
	res, err := y.Ledger.RecordEvent(y.t.Context(), ev, []byte("{}"))
	apptest.Must(y.t, err)
	return res.Current
}

func (y *yard) run(change func(*operation.Run)) operation.Run {
	y.t.Helper()
	run := operation.Run{ID: operation.RunID(y.ID("run_")), Flow: "f", Event: "ev_x", Source: "s", Owner: owner, Created: y.now(), Generation: 1}
	run.Launch(y.now())
	if change != nil {
		change(&run)
	}
	res, err := y.Ledger.CreateRun(y.t.Context(), run)
	apptest.Must(y.t, err)
	return res.Current
}

// operation keeps a proposed operation with an approval, after the given facts.
func (y *yard) operation(runs []operation.RunID, facts ...operation.Fact) operation.Operation {
	y.t.Helper()
	id := operation.ID(y.ID("op_"))
	content := []byte("content of " + id)
	op, err := operation.Propose(operation.Operation{
		ID: id, Flow: "f", Stage: "s", Target: "target", Owner: owner, Escalate: []operation.Person{above}, Runs: runs,
		Content: operation.Content{Version: 1, Digest: ledger.DigestOf(content)},
	}, nil, policy, y.now())
	apptest.Must(y.t, err)
	res, err := y.Ledger.CreateOperation(y.t.Context(), *op, content)
	apptest.Must(y.t, err)
	return y.give(res.Current, facts...)
}

func (y *yard) give(op operation.Operation, facts ...operation.Fact) operation.Operation {
	y.t.Helper()
	for _, f := range facts {
		if d, ok := f.(operation.Decided); ok {
			d.Round, d.Rev, d.Digest = op.Question.Round, op.Rev, op.Content.Digest
			f = d
		}
		next, refused := operation.Apply(&op, f, policy)
		if refused != nil {
			y.t.Fatalf("%T: %v", f, refused)
		}
		res, err := y.Ledger.Update(y.t.Context(), op, *next)
		apptest.Must(y.t, err)
		op = res.Current
	}
	return op
}

// asks puts the approval question.
func (y *yard) asks() operation.Fact {
	return operation.Asked{At: y.now(), Question: operation.Question{
		ID: "q_1", Kind: operation.QuestionApprove, Reviewers: []operation.Person{reviewer}, Expires: y.now().Add(40 * time.Hour), ValidFor: (48 * time.Hour).Milliseconds(),
	}}
}

func (y *yard) approves() operation.Fact {
	return operation.Decided{At: y.now(), Question: "q_1", By: reviewer, Answer: operation.AnswerApprove}
}

func (y *yard) claims(run operation.RunID) operation.Fact {
	return operation.Claim{
		Attempt: operation.AttemptID(y.ID("at_")), Run: run, At: y.now(), LeaseUntil: y.now().Add(policy.Lease),
		Filled: operation.Filled{Version: 1, Digest: ledger.DigestOf([]byte("filled"))},
	}
}

// confirmed keeps an operation that an attempt proved executed under the reference.
func (y *yard) confirmed(ref operation.Reference, runs ...operation.RunID) operation.Operation {
	y.t.Helper()
	op := y.operation(runs, y.asks(), y.approves(), y.claims(runs[0]))
	return y.give(op, operation.Reported{Attempt: op.Attempts[0].ID, At: y.now(), Outcome: operation.OutcomeExecuted, Kind: operation.EvidenceAnswer, Reference: ref})
}

func (y *yard) runNow(id operation.RunID) operation.Run {
	y.t.Helper()
	run, err := y.Ledger.Run(y.t.Context(), id)
	apptest.Must(y.t, err)
	return run
}

func (y *yard) operationNow(id operation.ID) operation.Operation {
	y.t.Helper()
	op, err := y.Ledger.Operation(y.t.Context(), id)
	apptest.Must(y.t, err)
	return op
}

// stages makes the run carry the operation.
func (y *yard) stages(run operation.RunID, ops ...operation.ID) {
	y.t.Helper()
	seen := y.runNow(run)
	next := seen
	for _, id := range ops {
		next.Stages = append(next.Stages, operation.StageRef{Name: "s", Operation: id, OnFailed: operation.OnFailedStop})
	}
	_, err := y.Ledger.UpdateRun(y.t.Context(), seen, next)
	apptest.Must(y.t, err)
}

const reminder = "Still waiting for a decision"
