package runner_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/internal/app/apptest"
	"holdfast/internal/execution"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// A claim whose write ends without a clear answer may stand or not: nothing is sent on it.
func TestR01_UnclearClaimSendsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.Faults.Set(func(op string, req []byte) apptest.Fault {
		if op == "UpdateItem" && strings.Contains(string(req), `"sk":{"S":"op"}`) {
			return apptest.Fault{Code: "InternalServerError"}
		}
		return apptest.Fault{}
	})
	if _, err := b.Execute(t.Context(), execution.Travel{Run: run.ID, Next: execution.NextExecute}); err == nil {
		t.Error("an unclear claim is no error")
	}
	b.sent(0)
}

// An attempt's id belongs to one claim: a retry of the same operation has another one.
func TestR02_EachAttemptHasItsOwnID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.refused()
	b.Parts.Clock.Move(time.Hour)
	b.execute(run.ID)
	b.sent(2)
	seen := map[operation.AttemptID]bool{}
	for _, a := range b.stage(run.ID, "first").Attempts {
		seen[a.ID] = true
	}
	if len(seen) != 2 {
		t.Errorf("two requests under the ids %v", seen)
	}
}

// A target that documents less than it did when the operation was planned is relied on for less.
func TestR03_AStricterProfileCountsForOpenOperations(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { return lost() }
	b.wantNext(b.execute(run.ID), execution.NextLook)
	op := b.stage(run.ID, "first")
	now := *b.profiles[op.Target]
	now.Lookup = nil
	b.profiles[op.Target] = &now
	b.reconcile(run.ID, execution.NextLook)
	if b.engine.looks != 0 {
		t.Errorf("asked %d times by a lookup that is no longer documented", b.engine.looks)
	}
	b.is(b.op(op.ID), operation.StatusHeld, operation.ReasonNoProtection)
	b.sent(1)
}

// keyedFlow has one stage whose target remembers keys.
const keyedFlow = `flow: two
version: 1
owner: owner@example.com
trigger: { source: s, topic: note, when: 'body.wanted' }
approval: { reviewers: [reviewer@example.com], expires: 20h, valid: 48h }
send_within: 72h
stages:
  - name: first
    key: [body.id]
    target: generic-key
    content: { effect: { text: '${body.text}' } }
`

// A replay is the same request under the same key: otherwise the target takes it for another one.
func TestR03_AReplayHasTheKeyOfTheFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deploy(keyedFlow)
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { return lost() }
	b.execute(run.ID)
	b.Parts.Clock.Move(time.Hour)
	b.execute(run.ID)
	b.sent(2)
	if s := b.engine.sends; len(s) == 2 && !bytes.Equal(s[0].Encode(), s[1].Encode()) {
		t.Errorf("first\n%s\nthen\n%s", s[0].Encode(), s[1].Encode())
	}
	if op := b.stage(run.ID, "first"); len(op.Attempts) != 2 || !op.Attempts[1].Replay {
		t.Errorf("attempts %+v", op.Attempts)
	}
}

// What was filled at the first claim is not what the approved content gives now (a reference or the code has changed
// since): a person is asked, and nothing goes round in circles.
func TestR05_FilledBytesMustBeWhatTheContentGives(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.refused()
	op := b.stage(run.ID, "first")
	other := []byte("what an earlier release filled")
	f := operation.Filled{Version: 1, Digest: ledger.DigestOf(other)}
	apptest.Must(t, b.Ledger.PutFilled(t.Context(), op.ID, f, other))
	next := op
	next.Filled = &f
	_, err := b.Ledger.Update(t.Context(), op, next)
	apptest.Must(t, err)
	b.Parts.Clock.Move(time.Hour)
	b.wantNext(b.execute(run.ID), execution.NextHold)
	b.is(b.op(op.ID), operation.StatusHeld, operation.ReasonDigestMismatch)
	b.sent(1)
}

// twoFlow has two stages that wait for nothing, and what goes before is put in.
const twoFlow = `flow: two
version: 1
owner: owner@example.com
trigger: { source: s, topic: note, when: 'body.wanted' }
approval: APPROVAL
send_within: 72h
stages:
  - name: first
    key: [body.id]
    target: generic-none
    content: { effect: { text: '${body.text}' } }
  - name: second
    key: [body.id]
    target: generic-none
    content: { effect: { text: '${body.text}' } }
`

// One stage's approval does not keep anybody from being asked what happened to another one.
func TestR07_DoubtIsAskedAboutBesideAnOpenApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deploy(strings.Replace(twoFlow, "APPROVAL", "{ reviewers: [reviewer@example.com], expires: 20h, valid: 48h }", 1))
	run := b.planned(goodBody)
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: run.ID, Token: "token"}))
	b.decide(b.stage(run.ID, "first").ID, operation.AnswerApprove)
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { return lost() }
	b.execute(run.ID)
	b.sent(1)
	if q := b.stage(run.ID, "first").Question; q == nil || q.Kind != operation.QuestionResolve {
		t.Errorf("about the first stage is asked %+v, want what happened", q)
	}
	if q := b.stage(run.ID, "second").Question; q == nil || q.Kind != operation.QuestionApprove {
		t.Errorf("about the second stage is asked %+v, want its approval", q)
	}
}

// A standing authorisation is for what the flow does by itself. A deliberate second one is somebody's wish: it is asked.
func TestR05_AStandingYesIsNotForADeliberateSecond(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deploy(strings.Replace(twoFlow, "APPROVAL", "none", 1))
	run := b.planned(goodBody)
	if a := b.stage(run.ID, "first").Approval; a == nil || !a.Standing {
		t.Fatalf("the flow's own operation has approval %+v, want the standing one", a)
	}
	second, err := b.Second(t.Context(), run.ID, "second", "nonce_0001", owner)
	apptest.Must(t, err)
	if a := b.stage(second.ID, "second").Approval; a != nil {
		t.Errorf("the deliberate second one has approval %+v before anybody was asked", a)
	}
}
