package operation_test

import (
	"testing"
	"time"

	"holdfast/internal/operation"
)

func TestCaseB001_ADeadWorkersClaimLeadsToALookupSoon(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Lease, p.Timeout = 10*time.Second, 5*time.Second
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.wait(5 * time.Second)
	s.wants(operation.ActionWait, operation.ReasonAttemptRunning)
	s.refuses(s.claimFact("at_2", false), operation.ReasonLost)
	s.wait(11 * time.Second)
	s.wants(operation.ActionLookUp, operation.ReasonOutcomeUnknown)
}

func TestCaseB002_TheEndOfAClaimIsLeaveToLookNotToRepeat(t *testing.T) {
	t.Parallel()
	s := begin(t, unprotected(), standing())
	s.claim("at_1", false)
	s.wait(time.Hour)
	s.wants(operation.ActionAsk, operation.ReasonNoProtection)
	s.refuses(s.claimFact("at_2", false), operation.ReasonLost)
}

func TestCaseB020_AThawedWorkerMeetsTheFenceAndItsLateResultIsEvidence(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Order = operation.OrderReplay
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.wait(66 * time.Second)
	if why := operation.Fence(s.op, "at_1", p, s.now); why != operation.ReasonLost {
		t.Fatalf("the fence lets a thawed worker send: %q", why)
	}
	s.claim("at_2", true)
	s.executed("at_2", "7714")
	s.must(operation.Reported{Attempt: "at_1", At: s.now, Kind: operation.EvidenceNoAnswer})
	s.is(operation.StatusConfirmed)
	s.refuses(operation.Reported{Attempt: "at_1", At: s.now, Outcome: operation.OutcomeNotExecuted}, operation.ReasonRecorded)
}

func TestCaseB022_ADeadLeaseIsTakenOverOnceWithoutMemoryOfEarlierTries(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Order, p.Lease, p.Timeout = operation.OrderReplay, 10*time.Second, 5*time.Second
	s := begin(t, p, standing())
	s.claim("at_1", false)
	for _, early := range []time.Duration{9 * time.Second, 14 * time.Second, 15 * time.Second} { // fast clocks within the bound steal nothing
		if m := operation.Next(s.op, p, t0.Add(early)); m.Reason != operation.ReasonAttemptRunning {
			t.Errorf("after %s: %s (%s)", early, m.Action, m.Reason)
		}
	}
	s.wait(20 * time.Second)
	s.claim("at_2", true)
	s.refuses(s.claimFact("at_3", true), operation.ReasonLost)
}

func TestCaseB034_WhatVoidsAnApproval(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), nil)
	s.ask()
	s.answer(operation.AnswerApprove)
	s.must(operation.Related{At: s.now, Run: "run_2"})
	s.wants(operation.ActionSend, operation.ReasonNeverSent) // not content: the approval stays
	s.must(operation.Edited{At: s.now, By: owner, Content: content(2)})
	s.wants(operation.ActionAsk, operation.ReasonApprovalMissing)
	if a := s.op.Answered[0]; a.Digest != digestOf(1) || a.Decision.Answer != operation.AnswerApprove {
		t.Errorf("the first approval left the history: %+v", a)
	}
}

func TestCaseB037_OnlyThePersonAskedDecides(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), nil)
	s.ask()
	d := s.word(operation.AnswerApprove)
	d.By = "stranger@example.com"
	s.refuses(d, operation.ReasonNotReviewer)
	s.answer(operation.AnswerApprove)
	again := s.word(operation.AnswerApprove)
	again.Question = "q1"
	_, refused := operation.Apply(s.op, again, s.p)
	if refused == nil || refused.Reason != operation.ReasonDecided || refused.Standing == nil || refused.Standing.By != reviewer {
		t.Errorf("a second answer was told %+v", refused)
	}
}

func TestCaseB038_AYesIsTiedToItsQuestionRoundAndContent(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), nil)
	s.ask()
	first := s.word(operation.AnswerApprove)
	nameless := first
	nameless.Question = ""
	s.refuses(nameless, operation.ReasonNoQuestion)
	s.must(operation.Edited{At: s.now, By: owner, Content: content(2)})
	s.ask()
	s.refuses(first, operation.ReasonDecided)
	first.Question = s.op.Question.ID
	s.refuses(first, operation.ReasonOtherRound)
	first.Round = s.op.Question.Round
	s.refuses(first, operation.ReasonOtherContent)
}

func TestCaseB053_AfterTheKeysLifeNothingIsReplayed(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"a day": 24 * time.Hour, "half an hour": 30 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := careful()
			p.Lookup, p.Order, p.KeyWindow, p.KeyMargin = false, operation.OrderReplay, window, time.Minute
			s := begin(t, p, standing())
			s.claim("at_1", false)
			s.lost("at_1")
			s.wait(window + time.Minute)
			s.wants(operation.ActionAsk, operation.ReasonWindowClosed)
			s.wait(13 * 24 * time.Hour)
			s.wants(operation.ActionAsk, operation.ReasonWindowClosed)
		})
	}
}

func TestCaseB053_AResendAtTheEndOfTheWindowProvesNothingAboutTheFirst(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Lookup, p.ReplaysMax = false, 0
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(23*time.Hour - 30*time.Second)
	s.ask()
	s.answer(operation.AnswerNothingHappened)
	s.claim("at_2", false) // claimed inside the window, it may have left outside
	s.wait(40 * time.Second)
	s.executed("at_2", "7714")
	s.wants(operation.ActionAsk, operation.ReasonConfirmedByOther)
}

func TestCaseB055_NotFoundInsideTheDelayIsUnknown(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Visible = 30 * time.Second
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	for _, at := range []time.Duration{time.Second, 20 * time.Second} {
		s.now = t0.Add(at)
		s.looked(operation.LookAbsent, "")
		s.is(operation.StatusUnknown)
		s.wants(operation.ActionWait, operation.ReasonNotVisible)
	}
	s.now = t0.Add(36 * time.Second)
	s.looked(operation.LookFound, "7714")
	s.is(operation.StatusConfirmed)
}

func TestCaseB056_NoKeyAndATimeoutWaitsAndLooks(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Protection = operation.ProtectionNone
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.looked(operation.LookAbsent, "")
	s.wait(40 * time.Second)
	s.looked(operation.LookAbsent, "")
	s.wants(operation.ActionAsk, operation.ReasonAbsent)
	s.must(operation.Fed{At: s.now, Reference: "late"})
	s.is(operation.StatusConfirmed)
}

func TestCaseB065_TheCountOfAttemptsSurvivesEverything(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	for _, id := range []operation.AttemptID{"at_1", "at_2", "at_3"} {
		s.wait(5 * time.Minute)
		s.claim(id, false)
		s.rejected(id)
	}
	s.is(operation.StatusFailed)
	s.refuses(s.claimFact("at_4", false), operation.ReasonSettled)
}

func TestCaseB068_RunAgainAsksAnewAndHoldsAtTheFirstDoubt(t *testing.T) {
	t.Parallel()
	s := begin(t, unprotected(), standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.refuses(operation.Reopened{At: s.now, By: owner}, operation.ReasonAttemptOpen)
	s.refuses(operation.Edited{At: s.now, By: owner, Content: content(2)}, operation.ReasonAttemptOpen)
	s.wants(operation.ActionAsk, operation.ReasonNoProtection)
	failed := begin(t, careful(), nil)
	failed.must(operation.Withdrawn{At: failed.now, By: owner})
	failed.must(operation.Reopened{At: failed.now, By: owner})
	failed.wants(operation.ActionAsk, operation.ReasonApprovalMissing)
}

func TestCaseB071_ALostWorkersLateResultIsAttached(t *testing.T) {
	t.Parallel()
	s := begin(t, unprotected(), standing())
	s.claim("at_1", false)
	s.wait(2 * time.Minute)
	s.ask()
	s.is(operation.StatusHeld)
	s.executed("at_1", "late")
	s.is(operation.StatusConfirmed)
	if s.op.Question != nil {
		t.Error("the question stayed open after the proof")
	}
}

func TestCaseB077_AnInstantInAnotherUnitIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []operation.Time{1795975200, 1795975200000000, 1795975200000000000, operation.TimeMin - 1, operation.TimeMax + 1, -1} {
		if text, err := bad.MarshalText(); err == nil {
			t.Errorf("%d was written as %s", int64(bad), text)
		}
	}
	for _, bad := range []string{"1795975200", "2019-12-31T23:59:59.999Z", "2100-01-01T00:00:00.001Z", "2026-11-29T18:00:00Z", "2026-11-29T18:00:00.0000Z", "2026-11-29T18:00:00.000+00:00", " "} {
		if v, err := operation.ParseTime(bad); err == nil {
			t.Errorf("%q was read as %d", bad, int64(v))
		}
	}
	for _, good := range []operation.Time{0, operation.TimeMin, t0, operation.TimeMax} {
		text, err := good.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := operation.ParseTime(string(text)); err != nil || back != good {
			t.Errorf("%d came back as %d: %v", int64(good), int64(back), err)
		}
	}
}
