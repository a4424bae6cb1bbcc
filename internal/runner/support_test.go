package runner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/internal/app/apptest"
	"holdfast/internal/app/work"
	"holdfast/internal/approval"
	"holdfast/internal/execution"
	"holdfast/internal/flow/compile"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
	"holdfast/targets"
)

const (
	owner    operation.Person = "owner@example.com"
	reviewer operation.Person = "reviewer@example.com"
)

// flowFile has two stages: one whose target can be asked, then one that uses its reference and has no protection.
const flowFile = `flow: two
version: 1
owner: owner@example.com
trigger: { source: s, topic: note, when: 'body.wanted' }
require:
  - { field: body.id, missing: reject }
  - { field: body.email, missing: hold }
approval: { reviewers: [reviewer@example.com], expires: 20h, valid: 48h }
send_within: 72h
stages:
  - name: first
    key: [body.id]
    target: generic-lookup
    content: { effect: { text: '${body.text}' } }
    on_failed: hold
  - name: second
    after: first
    key: [body.id]
    target: generic-none
    content: { effect: { about: '${first.reference}' } }
`

// bench is the runner with everything behind it but targets, whose answers a script gives.
type bench struct {
	*apptest.Parts
	*runner.Runner
	t        *testing.T
	mails    *apptest.Mails
	engine   *engine
	flows    map[string]*compile.Flow
	profiles map[string]*target.Profile
	accepted operation.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, mails: &apptest.Mails{}, engine: &engine{}, flows: map[string]*compile.Flow{}, profiles: map[string]*target.Profile{}}
	all, err := target.Load(targets.FS)
	apptest.Must(t, err)
	for _, p := range all {
		b.profiles[p.Name] = p
	}
	b.deploy(flowFile)
	b.Parts = apptest.New(t, apptest.Options{
		Fold: func(op operation.Operation, id operation.AttemptID, f []byte) (operation.Operation, error) {
			return runner.Fold(b.PolicyOf)(op, id, f)
		},
		Functions: map[string]apptest.Function{"ask": func([]byte) (any, error) { return nil, nil }},
	})
	b.Runner = &runner.Runner{
		Store: b.Ledger, Engine: b.engine, Executions: b.Parts.Executions, Launcher: b.Parts.Launcher, Clock: b.Parts.Clock, Key: b.Parts.Key, Log: b.Parts.Log,
		Flows:    func(name string) (*compile.Flow, bool) { f, ok := b.flows[name]; return f, ok },
		Profiles: func(name string) (*target.Profile, bool) { p, ok := b.profiles[name]; return p, ok },
		Destination: func(p *target.Profile) (target.Destination, error) {
			return p.To(target.Destination{Base: "http://127.0.0.1:9", Account: "a"})
		},
		Policy: target.Options{Lease: 75 * time.Second}, Accepted: func() operation.Time { return b.accepted },
		NewAttempt: func() operation.AttemptID { return operation.AttemptID(b.ID("at_")) },
	}
	b.Asker = &approval.Desk{
		Store: b.Ledger, Notifier: b.mails, Clock: b.Parts.Clock, Policy: b.PolicyOf, NewID: b.ID, NewCode: func() string { return "CODE" },
		CodeKey: []byte("key"), Review: "http://review.invalid", Log: b.Parts.Log,
	}
	return b
}

// deploy puts a flow file in the place of the one before.
func (b *bench) deploy(text string) {
	b.t.Helper()
	all := make([]*target.Profile, 0, len(b.profiles))
	for _, p := range b.profiles {
		all = append(all, p)
	}
	compiled, err := compile.All(fstest.MapFS{"two.yaml": {Data: []byte(text)}}, work.FieldRules(all))
	apptest.Must(b.t, err)
	b.flows["two"] = compiled[0]
}

// engine gives the script's answers and counts what was sent. Without a script every request is executed.
type engine struct {
	mu     sync.Mutex
	sends  []target.Request
	looks  int
	onSend func(n int, r target.Request, f target.Fence) target.Sent
	onLook func(n int) target.Looked
}

// Send implements runner.Engine.
func (e *engine) Send(_ context.Context, _ *target.Profile, r target.Request, f target.Fence) target.Sent {
	e.mu.Lock()
	e.sends = append(e.sends, r)
	n, do := len(e.sends), e.onSend
	e.mu.Unlock()
	if do != nil {
		return do(n, r, f)
	}
	return executed(operation.Reference(fmt.Sprintf("ref-%d", n)))
}

// LookUp implements runner.Engine.
func (e *engine) LookUp(context.Context, *target.Profile, target.Request) target.Looked {
	e.mu.Lock()
	e.looks++
	n, do := e.looks, e.onLook
	e.mu.Unlock()
	if do != nil {
		return do(n)
	}
	return target.Looked{}
}

func executed(ref operation.Reference) target.Sent {
	return target.Sent{Verdict: target.Verdict{Outcome: operation.OutcomeExecuted, Reference: ref}, Evidence: operation.EvidenceAnswer, Status: 201, BytesWritten: 9}
}

func notExecuted() target.Sent {
	return target.Sent{Verdict: target.Verdict{Outcome: operation.OutcomeNotExecuted, Retry: true}, Evidence: operation.EvidenceNoByteSent}
}

func lost() target.Sent { return target.Sent{Evidence: operation.EvidenceNoAnswer, BytesWritten: 9} }

const goodBody = `{"id":"7","email":"ada@example.com","wanted":true,"text":"hello"}`

// event keeps an event with its one run.
func (b *bench) event(body string) (operation.Event, operation.Run) {
	b.t.Helper()
	now, id := b.Now(), operation.EventID(b.ID("ev_"))
	run := operation.Run{ID: operation.RunID(b.ID("run_")), Flow: "two", Event: id, Source: "s", Owner: owner, Created: now, Generation: 1}
	run.Launch(now)
	digest := ledger.DigestOf([]byte(body))
	ev := operation.Event{
		ID: id, Source: "s", Account: "acc", Topic: "note", BodyDigest: digest, Payload: digest, Received: now, Owner: owner,
		Deliveries: []operation.Delivery{{ID: "d", At: now, BodyDigest: digest}}, Flows: []string{"two"}, Runs: []operation.RunID{run.ID},
	}
	ev.Await(now)
	_, err := b.Ledger.RecordEvent(b.t.Context(), ev, []byte(body))
	apptest.Must(b.t, err)
	res, err := b.Ledger.CreateRun(b.t.Context(), run)
	apptest.Must(b.t, err)
	return ev, res.Current
}

func (b *bench) plan(id operation.RunID) execution.Travel {
	b.t.Helper()
	out, err := b.Plan(b.t.Context(), execution.Travel{Run: id})
	apptest.Must(b.t, err)
	return out
}

// planned keeps a run whose operations wait for approval, and approved one whose operations are approved.
func (b *bench) planned(body string) operation.Run {
	b.t.Helper()
	_, run := b.event(body)
	b.plan(run.ID)
	return b.run(run.ID)
}

func (b *bench) approved() operation.Run {
	b.t.Helper()
	run := b.planned(goodBody)
	b.approve(run.ID)
	return run
}

// approve puts the run's questions and answers them.
func (b *bench) approve(id operation.RunID) {
	b.t.Helper()
	apptest.Must(b.t, b.Ask(b.t.Context(), runner.AskInput{Run: id, Token: b.ID("token")}))
	for _, s := range b.run(id).Stages {
		if op := b.op(s.Operation); op.Question != nil {
			b.decide(op.ID, operation.AnswerApprove)
		}
	}
}

func (b *bench) decide(id operation.ID, a operation.Answer) {
	b.t.Helper()
	op := b.op(id)
	if op.Question == nil {
		b.t.Fatalf("nobody is asked about %s, which is %s for %s", id, op.Status, op.Reason)
	}
	b.give(op, operation.Decided{
		At: b.Now(), Question: op.Question.ID, Round: op.Question.Round, Digest: op.Content.Digest, Rev: op.Rev, By: op.Question.Reviewers[0], Answer: a, How: "looked",
	})
}

func (b *bench) give(op operation.Operation, f operation.Fact) operation.Operation {
	b.t.Helper()
	next, refused := operation.Apply(&op, f, b.PolicyOf(&op))
	if refused != nil {
		b.t.Fatalf("%T: %v", f, refused)
	}
	res, err := b.Ledger.Update(b.t.Context(), op, *next)
	apptest.Must(b.t, err)
	return res.Current
}

// answer decides about the run itself.
func (b *bench) answer(id operation.RunID, a operation.Answer) {
	b.t.Helper()
	seen := b.run(id)
	if seen.Question == nil {
		b.t.Fatalf("nobody is asked about %s, which is %s for %s", id, seen.Status, seen.Reason)
	}
	next := seen
	next.Stages = append([]operation.StageRef(nil), seen.Stages...)
	refused := operation.DecideRun(&next, operation.Decided{At: b.Now(), Question: seen.Question.ID, Round: seen.Question.Round, Rev: seen.Rev, By: owner, Answer: a, How: "because"})
	if refused != nil {
		b.t.Fatal(refused)
	}
	_, err := b.Ledger.UpdateRun(b.t.Context(), seen, next)
	apptest.Must(b.t, err)
}

func (b *bench) execute(id operation.RunID) execution.Travel {
	b.t.Helper()
	out, err := b.Execute(b.t.Context(), execution.Travel{Run: id, Next: execution.NextExecute})
	apptest.Must(b.t, err)
	return out
}

func (b *bench) reconcile(id operation.RunID, next string) execution.Travel {
	b.t.Helper()
	out, err := b.Reconcile(b.t.Context(), execution.Travel{Run: id, Next: next})
	apptest.Must(b.t, err)
	return out
}

func (b *bench) run(id operation.RunID) operation.Run {
	b.t.Helper()
	run, err := b.Ledger.Run(b.t.Context(), id)
	apptest.Must(b.t, err)
	return run
}

func (b *bench) op(id operation.ID) operation.Operation {
	b.t.Helper()
	op, err := b.Ledger.Operation(b.t.Context(), id)
	apptest.Must(b.t, err)
	return op
}

// stage is the operation of a run's stage.
func (b *bench) stage(id operation.RunID, name string) operation.Operation {
	b.t.Helper()
	for _, s := range b.run(id).Stages {
		if s.Name == name {
			return b.op(s.Operation)
		}
	}
	b.t.Fatalf("%s has no stage %s", id, name)
	return operation.Operation{}
}

// sent compares how many requests left.
func (b *bench) sent(want int) {
	b.t.Helper()
	if got := len(b.engine.sends); got != want {
		b.t.Errorf("%d requests were sent, want %d", got, want)
	}
}

// is compares an operation's status and reason; an empty reason is any.
func (b *bench) is(op operation.Operation, status operation.Status, why operation.Reason) {
	b.t.Helper()
	if op.Status != status || (why != "" && op.Reason != why && (op.Question == nil || op.Question.Reason != why)) {
		b.t.Errorf("%s is %s for %q, want %s for %q", op.Stage, op.Status, op.Reason, status, why)
	}
}

// runIs compares a run's status, reason and that nothing open waits on nobody.
func (b *bench) runIs(id operation.RunID, status operation.RunStatus, why operation.Reason) operation.Run {
	b.t.Helper()
	run := b.run(id)
	if run.Status != status || (why != "" && run.Reason != why) {
		b.t.Errorf("the run is %s for %q, want %s for %q", run.Status, run.Reason, status, why)
	}
	if run.Step.Action != operation.ActionDone && (run.Step.Due == 0 || run.Step.Owner == "") {
		b.t.Errorf("the run waits on nobody: %+v", run.Step)
	}
	return run
}

// asksFor is the subject of the mails that ask about a run.
func asksFor(id operation.RunID, stages string) string {
	return "Your decision is needed: two" + stages + " (run …" + string(id[max(0, len(id)-6):]) + ")"
}

func (b *bench) wantNext(t execution.Travel, want string) {
	b.t.Helper()
	if t.Next != want {
		b.t.Errorf("next %q (until %s), want %q", t.Next, t.Until, want)
	}
}
