package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/execution"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// endsBy gives a context the deadline of an invocation by the product's clock.
type endsBy struct {
	context.Context
	at time.Time
}

func (c endsBy) Deadline() (time.Time, bool) { return c.at, true }

func TestApprovedRunIsExecutedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	for range 2 { // a second execution of the same run finds everything done
		b.wantNext(b.execute(run.ID), execution.NextDone)
	}
	b.sent(2)
	b.runIs(run.ID, operation.RunDone, "")
	b.is(b.stage(run.ID, "first"), operation.StatusConfirmed, "")
	b.is(b.stage(run.ID, "second"), operation.StatusConfirmed, "")
	if body := string(b.engine.sends[1].Body); !strings.Contains(body, "ref-1") {
		t.Errorf("the second request %s does not name the first one's reference", body)
	}
}

// With no time left nothing is written: a claim without time for its request would only make doubt.
func TestR02_NoTimeLeftWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	before := b.everything()
	short := endsBy{t.Context(), b.Parts.Clock.Now().Add(runner.RoomFor(10*time.Second) - time.Second)}
	out, err := b.Execute(short, execution.Travel{Run: run.ID, Next: execution.NextExecute})
	apptest.Must(t, err)
	b.wantNext(out, execution.NextAgain)
	if diff := cmp.Diff(before, b.everything()); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
	b.sent(0)
}

// An execute that comes before the plan has ended asks nobody and writes nothing; the plan then goes on as ever.
func TestR06_ExecuteBeforeThePlanWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, run := b.event(goodBody)
	before := b.everything()
	b.wantNext(b.execute(run.ID), execution.NextHold)
	if diff := cmp.Diff(before, b.everything()); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
	b.plan(run.ID)
	if planned := b.run(run.ID); len(planned.Stages) == 0 || planned.Status != operation.RunStarted {
		t.Errorf("afterwards the run is %s with %d stages", planned.Status, len(planned.Stages))
	}
}

// A rival claims between our reading and our claim: we send nothing and decide anew.
func TestR01_LostClaimSendsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	once := false
	b.Faults.Set(func(op string, req []byte) apptest.Fault {
		if once || op != "UpdateItem" || !strings.Contains(string(req), `"sk":{"S":"op"}`) {
			return apptest.Fault{}
		}
		once = true
		return apptest.Fault{Before: func() {
			op := b.stage(run.ID, "first")
			next, refused := operation.Apply(&op, operation.Claim{
				Attempt: "at_rival", Run: run.ID, At: b.Now(), LeaseUntil: b.Now().Add(75 * time.Second),
				Filled: operation.Filled{Version: 1, Digest: b.filledDigest(op)},
			}, b.PolicyOf(&op))
			if refused != nil {
				t.Fatal(refused)
			}
			res, err := b.Ledger.Claim(t.Context(), op, *next)
			apptest.Must(t, err)
			if res.Verdict != ledger.Written {
				t.Errorf("the rival lost: %s", res.Verdict)
			}
		}}
	})
	out := b.execute(run.ID)
	b.wantNext(out, execution.NextWaitToLook)
	b.sent(0)
	op := b.stage(run.ID, "first")
	if len(op.Attempts) != 1 || op.Attempts[0].ID != "at_rival" {
		t.Errorf("attempts %+v", op.Attempts)
	}
}

// filledDigest is of the bytes that the first stage sends: its content has no hole for a reference.
func (b *bench) filledDigest(op operation.Operation) operation.Digest {
	b.t.Helper()
	raw, err := b.Ledger.Content(b.t.Context(), op.ID, op.Content)
	apptest.Must(b.t, err)
	request, err := target.Decode(raw)
	apptest.Must(b.t, err)
	filled, err := target.Fill(request, target.Key(op.ID, 0), nil)
	apptest.Must(b.t, err)
	return ledger.DigestOf(filled.Encode())
}

// What is stored may not be what was approved, or not be there: nothing is sent, a person is asked, and once it is
// repaired "check again" carries on.
func TestR05_UnfitIsHeldThenGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*bench, operation.Operation) (repair func())
		why   operation.Reason
	}{
		"the content was swapped": {func(b *bench, op operation.Operation) func() { return b.swap(op, []byte("other bytes")) }, operation.ReasonDigestMismatch},
		"the content is gone":     {func(b *bench, op operation.Operation) func() { return b.swap(op, nil) }, operation.ReasonDigestMismatch},
		"the profile is gone": {func(b *bench, op operation.Operation) func() {
			p := b.profiles[op.Target]
			delete(b.profiles, op.Target)
			return func() { b.profiles[op.Target] = p }
		}, operation.ReasonProfileMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			run := b.approved()
			op := b.stage(run.ID, "first")
			repair := c.spoil(b, op)
			for range 2 {
				b.wantNext(b.execute(run.ID), execution.NextHold)
			}
			b.is(b.op(op.ID), operation.StatusHeld, c.why)
			b.runIs(run.ID, operation.RunHeld, c.why)
			b.sent(0)
			repair()
			b.wantNext(b.execute(run.ID), execution.NextHold) // repaired alone is no permission
			b.decide(op.ID, operation.AnswerCheckAgain)
			b.relaunch(run.ID)
			b.wantNext(b.execute(run.ID), execution.NextDone)
			b.sent(2)
		})
	}
}

// swap puts other bytes in the content's place.
func (b *bench) swap(op operation.Operation, with []byte) (repair func()) {
	b.t.Helper()
	good, err := b.Ledger.Content(b.t.Context(), op.ID, op.Content)
	apptest.Must(b.t, err)
	sk := "content#0001#" + string(op.Content.Digest)
	b.SetBytes(b.t, "op#"+string(op.ID), sk, with)
	return func() { b.SetBytes(b.t, "op#"+string(op.ID), sk, good) }
}

func (b *bench) relaunch(id operation.RunID) {
	b.t.Helper()
	seen := b.run(id)
	next := seen
	next.Relaunch(operation.ReasonAnswered, b.Now())
	_, err := b.Ledger.UpdateRun(b.t.Context(), seen, next)
	apptest.Must(b.t, err)
}

// A reference that the second stage needs, without its first stage: held, not sent with a hole.
func TestR05_ReferenceMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	seen := b.run(run.ID)
	next := seen
	next.Stages = append([]operation.StageRef(nil), seen.Stages[1])
	next.Stages[0].After = ""
	_, err := b.Ledger.UpdateRun(t.Context(), seen, next)
	apptest.Must(t, err)
	b.wantNext(b.execute(run.ID), execution.NextHold)
	b.is(b.op(next.Stages[0].Operation), operation.StatusHeld, operation.ReasonReferenceMissing)
	b.sent(0)
}

// Bytes that were filled once are the only ones that may be sent again under their key.
func TestR05_FilledBytesSwapped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.refused()
	op := b.stage(run.ID, "first")
	b.SetBytes(t, "op#"+string(op.ID), "filled#0001#0000#"+string(op.Filled.Digest), []byte("other bytes"))
	b.Parts.Clock.Move(time.Minute)
	b.wantNext(b.execute(run.ID), execution.NextHold)
	b.is(b.op(op.ID), operation.StatusHeld, operation.ReasonDigestMismatch)
	b.sent(1)
}

// The fence refuses once the lease is too short for a request.
func TestR02_FenceAfterAPause(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	var open, late error
	b.engine.onSend = func(_ int, _ target.Request, f target.Fence) target.Sent {
		open = f()
		b.Parts.Clock.Move(70 * time.Second)
		late = f()
		return notExecuted()
	}
	b.execute(run.ID)
	if open != nil || late == nil {
		t.Errorf("fence %v at once, %v after a pause; want open, then closed", open, late)
	}
}

// What an attempt saw is recorded although the ledger refuses for a moment; nobody else could ever say it.
func TestR12_OutcomeIsRecordedAfterAThrottle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent {
		refuse := 2
		b.Faults.Set(func(op string, _ []byte) apptest.Fault {
			if op == "UpdateItem" && refuse > 0 {
				refuse--
				return apptest.Fault{Code: "ProvisionedThroughputExceededException"}
			}
			return apptest.Fault{}
		})
		return executed("ref-x")
	}
	b.execute(run.ID)
	b.is(b.stage(run.ID, "first"), operation.StatusConfirmed, "")
}

// A record that cannot be written at all is an error, and the operation is in doubt, never "not sent".
func TestR04_OutcomeNeverRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent {
		b.Faults.Set(func(op string, _ []byte) apptest.Fault {
			if op == "UpdateItem" {
				return apptest.Fault{Code: "InternalServerError"}
			}
			return apptest.Fault{}
		})
		return executed("ref-x")
	}
	if _, err := b.Execute(t.Context(), execution.Travel{Run: run.ID, Next: execution.NextExecute}); err == nil {
		t.Error("no error")
	}
	b.Faults.Set(nil)
	b.is(b.stage(run.ID, "first"), operation.StatusInFlight, "")
	b.Parts.Clock.Move(3 * time.Minute)
	b.wantNext(b.execute(run.ID), execution.NextLook)
	b.sent(1)
}

// A wait longer than a day needs no open execution: the run's own due time brings it back.
func TestLongWaitRests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	later := b.Now().Add(30 * time.Hour)
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent {
		s := notExecuted()
		s.RetryAfter = later
		return s
	}
	b.wantNext(b.execute(run.ID), execution.NextHold)
	if got := b.runIs(run.ID, operation.RunStarted, ""); got.Step.Due != later || got.Step.Action != operation.ActionWait {
		t.Errorf("next step %+v, want a wait until %s", got.Step, later)
	}
	b.sent(1)
}

// The token is kept before the question is put; with nothing to ask, Ask answers its own token.
func TestAskKeepsItsTokenFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.planned(goodBody)
	if _, err := b.Ledger.Token(t.Context(), run.ID, 1); err == nil {
		t.Fatal("a token before Ask")
	}
	var kept bool
	b.Faults.Set(func(op string, req []byte) apptest.Fault {
		if op == "UpdateItem" && strings.Contains(string(req), `"sk":{"S":"op"}`) {
			_, err := b.Ledger.Token(t.Context(), run.ID, 1)
			kept = err == nil
		}
		return apptest.Fault{}
	})
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: run.ID, Token: "token-1"}))
	if !kept {
		t.Error("a question was open before the token was kept")
	}
	b.Faults.Set(nil)
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: run.ID, Token: "token-2"})) // asked again: no second question
	if got := b.mails.To(asksFor(run.ID, ", first and second")); len(got) != 1 {
		t.Errorf("mails to %v, want one", got)
	}
	if token, _ := b.Ledger.Token(t.Context(), run.ID, 1); token != "token-2" {
		t.Errorf("token %s, want the latest", token)
	}
	for _, call := range b.Faults.Calls() {
		if call == "SendTaskSuccess" {
			t.Error("the token was answered while the question is open")
		}
	}
	for _, s := range b.run(run.ID).Stages {
		b.decide(s.Operation, operation.AnswerApprove)
	}
	b.Faults.Set(nil)
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: run.ID, Token: "token-3"}))
	calls := b.Faults.Calls()
	if len(calls) == 0 || calls[len(calls)-1] != "SendTaskSuccess" {
		t.Errorf("calls %v; want the token answered, since a decision stands", calls)
	}
}
