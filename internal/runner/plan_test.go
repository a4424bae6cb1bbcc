package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/execution"
	"holdfast/internal/flow"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
)

// everything is all records, by key.
func (b *bench) everything() map[string]any {
	b.t.Helper()
	out := map[string]any{}
	apptest.Must(b.t, b.Ledger.Audit(b.t.Context(), 1, func(f ledger.Found) error {
		switch {
		case f.Operation != nil:
			out[f.Key] = *f.Operation
		case f.Run != nil:
			out[f.Key] = *f.Run
		case f.Event != nil:
			out[f.Key] = *f.Event
		}
		return f.Err
	}))
	return out
}

func TestPlanTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ev, run := b.event(goodBody)
	out := b.plan(run.ID)
	b.wantNext(out, execution.NextAsk)
	if want := int((20*time.Hour + 5*time.Minute).Seconds()); out.AskTimeout != want {
		t.Errorf("ask timeout %d s, want %d", out.AskTimeout, want)
	}
	before := b.everything()
	if len(before) != 4 {
		t.Fatalf("%d records, want an event, a run and two operations", len(before))
	}
	b.Parts.Clock.Move(time.Minute)
	b.plan(run.ID)
	if diff := cmp.Diff(before, b.everything()); diff != "" {
		t.Errorf("planning again changed something (-before +after):\n%s", diff)
	}
	if got, _ := b.Ledger.Event(t.Context(), ev.ID); got.Status != operation.EventPlanned {
		t.Errorf("the event is %s", got.Status)
	}
	b.sent(0)
}

// A crash before or after every write of the plan: the next try ends with the same two operations, once.
func TestR09_PlanCrashesAnywhere(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		for _, lose := range []bool{false, true} {
			if !planCrashes(t, n, lose) {
				if n < 6 {
					t.Errorf("only %d writes were met", n-1)
				}
				return
			}
		}
	}
}

// planCrashes is false when planning makes fewer writes than n.
func planCrashes(t *testing.T, n int, lose bool) bool {
	t.Helper()
	b := newBench(t)
	_, run := b.event(goodBody)
	writes, hit := 0, false
	b.Faults.Set(func(op string, _ []byte) apptest.Fault {
		if op != "PutItem" && op != "UpdateItem" {
			return apptest.Fault{}
		}
		if writes++; writes < n {
			return apptest.Fault{}
		}
		hit = true
		if lose && writes == n {
			return apptest.Fault{Lose: true}
		}
		return apptest.Fault{Code: "InternalServerError"}
	})
	_, _ = b.Plan(t.Context(), execution.Travel{Run: run.ID})
	b.Faults.Set(nil)
	if !hit {
		return false
	}
	b.Parts.Clock.Move(time.Second)
	b.plan(run.ID)
	got := b.run(run.ID)
	if len(got.Stages) != 2 || len(b.everything()) != 4 || got.Question != nil {
		t.Errorf("crash at write %d (done: %v): %d stages, %d records, question %v", n, lose, len(got.Stages), len(b.everything()), got.Question)
	}
	for _, s := range got.Stages {
		if s.Conflict || s.Reused {
			t.Errorf("crash at write %d: stage %+v takes its own operation for somebody else's", n, s)
		}
		if _, err := b.Ledger.Content(t.Context(), s.Operation, b.op(s.Operation).Content); err != nil {
			t.Errorf("crash at write %d: %v", n, err)
		}
	}
	return true
}

// A deploy between two tries of a plan: the first plan stands, and the other one is a person's question, not a second
// set of operations.
func TestR05_PinnedPlanIsNotReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, run := b.event(goodBody)
	b.Faults.Set(func(op string, body []byte) apptest.Fault {
		if op == "PutItem" && strings.Contains(string(body), "content#") {
			return apptest.Fault{Code: "InternalServerError"}
		}
		return apptest.Fault{}
	})
	if _, err := b.Plan(t.Context(), execution.Travel{Run: run.ID}); err == nil {
		t.Fatal("no error")
	}
	b.Faults.Set(nil)
	b.deploy(strings.Replace(flowFile, "text: '${body.text}'", "text: 'changed ${body.text}'", 1))
	b.plan(run.ID)
	if got := b.runIs(run.ID, operation.RunHeld, operation.ReasonDigestMismatch); len(got.Stages) != 0 || got.Question == nil {
		t.Errorf("stages %v, question %v; want none, and a person asked", got.Stages, got.Question)
	}
	if n := len(b.everything()); n != 2 {
		t.Errorf("%d records; want no operation", n)
	}
	b.deploy(flowFile) // rolled back: the answer "retry" plans what was pinned
	b.answer(run.ID, operation.AnswerRetry)
	b.plan(run.ID)
	if got := b.run(run.ID); len(got.Stages) != 2 {
		t.Errorf("%d stages", len(got.Stages))
	}
}

func TestPlanOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		change func(*bench)
		status operation.RunStatus
		why    operation.Reason
		event  operation.EventStatus
		asks   bool
	}{
		"not meant":       {`{"id":"7","email":"e","wanted":false,"text":"x"}`, nil, operation.RunNotApplicable, flow.ReasonTrigger, operation.EventPlanned, false},
		"rejected":        {`{"email":"e","wanted":true,"text":"x"}`, nil, operation.RunStopped, operation.ReasonDataRejected, operation.EventRefused, false},
		"missing":         {`{"id":"7","wanted":true,"text":"x"}`, nil, operation.RunHeld, flow.ReasonMissing, operation.EventPlanned, true},
		"no clear id":     {`{"id":["7"],"email":"e","wanted":true,"text":"x"}`, nil, operation.RunHeld, flow.ReasonIdentity, operation.EventPlanned, true},
		"unreadable":      {`name=value`, nil, operation.RunHeld, flow.ReasonBody, operation.EventPlanned, true},
		"the flow went":   {goodBody, func(b *bench) { delete(b.flows, "two") }, operation.RunHeld, operation.ReasonFlowMissing, operation.EventReceived, true},
		"the target went": {goodBody, func(b *bench) { delete(b.profiles, "generic-none") }, operation.RunHeld, flow.ReasonContent, operation.EventPlanned, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ev, run := b.event(c.body)
			if c.change != nil {
				c.change(b)
			}
			for range 2 { // planned again it says the same, and asks nobody twice
				b.plan(run.ID)
				got := b.runIs(run.ID, c.status, c.why)
				if (got.Question != nil) != c.asks || len(got.Stages) != 0 {
					t.Errorf("question %v, stages %v", got.Question, got.Stages)
				}
			}
			if got, err := b.Ledger.Event(t.Context(), ev.ID); err != nil || got.Status != c.event {
				t.Errorf("the event is %s, %v; want %s", got.Status, err, c.event)
			}
			if mails := len(b.mails.To(asksFor(run.ID, ""))); (mails == 1) != c.asks || mails > 1 {
				t.Errorf("%d mails", mails)
			}
			out := b.execute(run.ID)
			if want := map[bool]string{true: execution.NextHold, false: execution.NextDone}[c.asks]; out.Next != want {
				t.Errorf("next %s, want %s", out.Next, want)
			}
			b.sent(0)
		})
	}
}

// The approval that another event waits for does not keep this one from asking about its own content.
func TestConflictIsAskedBesideAnOpenApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.planned(goodBody)
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: first.ID, Token: "token-1"}))
	run := b.planned(strings.Replace(goodBody, "hello", "goodbye", 1))
	if b.op(run.Stages[0].Operation).Question == nil || !run.Stages[0].Conflict {
		t.Fatalf("stage %+v; want a conflict with what waits for its approval", run.Stages[0])
	}
	b.wantNext(b.execute(run.ID), execution.NextAsk) // the second stage has the same content and waits for its approval
	b.decide(run.Stages[1].Operation, operation.AnswerApprove)
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: run.ID, Token: "token-2"}))
	if _, err := b.Ledger.Token(t.Context(), run.ID, 1); err == nil {
		t.Error("it waits for the answer to another event's question")
	}
	b.wantNext(b.execute(run.ID), execution.NextHold)
	b.runIs(run.ID, operation.RunHeld, operation.ReasonSameKey)
}

// Who is asked about missing data is the rule's person beside the flow's; the run names the fields until it is planned again.
func TestMissingDataIsNamedAndAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deploy(strings.Replace(flowFile, "{ field: body.email, missing: hold }", "{ field: body.email, missing: hold, owner: data@example.com }", 1))
	run := b.planned(`{"id":"7","wanted":true,"text":"secret"}`)
	if diff := cmp.Diff([]string{"body.email"}, run.Missing); diff != "" {
		t.Error(diff)
	}
	who := []operation.Person{"data@example.com", owner}
	if diff := cmp.Diff(who, run.Question.Reviewers); diff != "" {
		t.Error(diff)
	}
	if got := b.mails.To(asksFor(run.ID, "")); len(got) != 2 {
		t.Errorf("mails to %v", got)
	}
	people, err := b.People(t.Context(), run.ID)
	apptest.Must(t, err)
	if diff := cmp.Diff([]operation.Person{owner, "data@example.com"}, people); diff != "" {
		t.Error(diff)
	}
	again := run
	if again.Supplied(b.Now()); len(again.Missing) != 0 {
		t.Errorf("still %v after the data came", again.Missing)
	}
}

// The sweep postpones a run while it is planned: its end is written all the same.
func TestR09_PlanBesideTheSweep(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"not meant": `{"id":"7","email":"e","wanted":false,"text":"x"}`, "stages": goodBody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			_, run := b.event(body)
			once := false
			b.Faults.Set(func(op string, req []byte) apptest.Fault {
				if once || op != "UpdateItem" || !strings.Contains(string(req), `"sk":{"S":"run"}`) {
					return apptest.Fault{}
				}
				once = true
				return apptest.Fault{Before: func() {
					seen := b.run(run.ID)
					next := seen
					next.Step.Due = next.Step.Due.Add(time.Minute)
					_, err := b.Ledger.UpdateRun(t.Context(), seen, next)
					apptest.Must(t, err)
				}}
			})
			b.plan(run.ID)
			got := b.run(run.ID)
			if !got.Ended() && len(got.Stages) != 2 {
				t.Errorf("%s with %d stages: the plan's last write was lost", got.Status, len(got.Stages))
			}
		})
	}
}

// Two events that mean the same business operation meet on it.
func TestR08_SameOperationIsReused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.approved()
	b.wantNext(b.execute(first.ID), execution.NextDone)
	b.sent(2)
	second := b.planned(strings.Replace(goodBody, "ada@", "eva@", 1)) // not part of the content
	for i, s := range second.Stages {
		if !s.Reused || s.Conflict || s.Operation != b.run(first.ID).Stages[i].Operation {
			t.Errorf("stage %+v; want the first run's operation, reused", s)
		}
		if diff := cmp.Diff([]operation.RunID{first.ID, second.ID}, b.op(s.Operation).Runs); diff != "" {
			t.Errorf("runs that are woken (-want +got):\n%s", diff)
		}
	}
	b.wantNext(b.execute(second.ID), execution.NextDone)
	b.runIs(second.ID, operation.RunDone, "")
	b.sent(2)
}

// Other content for the same business key is a person's choice, and each choice is carried out, also when whoever wrote
// the decision ended right after.
func TestConflictOfContent(t *testing.T) {
	t.Parallel()
	other := strings.Replace(goodBody, "hello", "goodbye", 1)
	for name, c := range map[string]struct {
		answer operation.Answer
		check  func(*bench, operation.Run, operation.Run)
	}{
		"reuse": {operation.AnswerReuse, func(b *bench, first, run operation.Run) {
			b.wantNext(b.execute(run.ID), execution.NextDone)
			b.sent(2)
			b.runIs(run.ID, operation.RunDone, "")
		}},
		"second": {operation.AnswerSecond, func(b *bench, first, run operation.Run) {
			for range 2 {
				b.wantNext(b.execute(run.ID), execution.NextAsk)
			}
			op := b.stage(run.ID, "first")
			if op.ID == first.Stages[0].Operation || op.Second == "" || op.Approval != nil {
				b.t.Errorf("second %s of %s, approval %v; want its own id and no approval yet", op.ID, first.Stages[0].Operation, op.Approval)
			}
			b.sent(2)
			b.approve(run.ID)
			b.wantNext(b.execute(run.ID), execution.NextDone)
			b.sent(3)
		}},
		"stop": {operation.AnswerStop, func(b *bench, first, run operation.Run) {
			b.wantNext(b.execute(run.ID), execution.NextDone)
			b.runIs(run.ID, operation.RunStopped, operation.ReasonWithdrawn)
			b.sent(2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first := b.approved()
			b.execute(first.ID)
			run := b.planned(other)
			if !run.Stages[0].Conflict || run.Stages[0].Reused {
				t.Fatalf("stage %+v; want a conflict", run.Stages[0])
			}
			for range 2 { // asked once
				b.wantNext(b.execute(run.ID), execution.NextHold)
			}
			b.runIs(run.ID, operation.RunHeld, operation.ReasonSameKey)
			if got := b.mails.To(asksFor(run.ID, ", first")); len(got) != 1 {
				t.Errorf("mails to %v, want one that names the stage in conflict", got)
			}
			raw, err := runner.AskedContent(t.Context(), b.Ledger, run.ID, run.Stages[0])
			if err != nil || !strings.Contains(string(raw), "goodbye") || strings.Contains(string(raw), "hello") {
				t.Errorf("the event's own content is %q, %v", raw, err)
			}
			b.sent(2)
			b.answer(run.ID, c.answer)
			seen := b.run(run.ID)
			next := seen
			next.Relaunch(operation.ReasonAnswered, b.Now())
			_, err = b.Ledger.UpdateRun(t.Context(), seen, next)
			apptest.Must(t, err)
			c.check(b, first, run)
		})
	}
}

// After a restored ledger was accepted, an operation for an event from before it may have been sent by what was lost.
func TestR03_OperationFromBeforeTheRestore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.accepted = b.Now()
	run := b.planned(goodBody)
	b.is(b.stage(run.ID, "first"), operation.StatusUnknown, "")
	b.wantNext(b.execute(run.ID), execution.NextLook)
	b.sent(0)
}
