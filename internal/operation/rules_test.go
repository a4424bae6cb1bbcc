package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
)

// held brings an unprotected operation to a lost answer and the question about it, past the quiet time.
func held(t *testing.T, p operation.Policy) *story {
	t.Helper()
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(5 * time.Minute)
	if p.Lookup {
		s.looked(operation.LookAbsent, "")
	}
	s.ask()
	s.is(operation.StatusHeld)
	return s
}

func TestR03_UnprotectedIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	s := begin(t, unprotected(), standing())
	s.wants(operation.ActionSend, operation.ReasonNeverSent)
	s.claim("at_1", false)
	s.lost("at_1")
	for range 50 {
		s.wait(time.Hour)
		s.wants(operation.ActionAsk, operation.ReasonNoProtection)
		s.refuses(s.claimFact("at_2", false), operation.ReasonLost)
		s.refuses(s.claimFact("at_2", true), operation.ReasonLost)
	}
}

func TestR03_ReplayOnlyInsideTheWindowOfTheOldestAttempt(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Lookup, p.Order = false, operation.OrderReplay
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(22 * time.Hour)
	s.wants(operation.ActionReplay, operation.ReasonProtected)
	s.claim("at_2", true)
	s.lost("at_2")
	s.wait(time.Hour)
	s.wants(operation.ActionAsk, operation.ReasonWindowClosed)
	if w := operation.WindowUntil(s.op, p); w != t0.Add(23*time.Hour) {
		t.Errorf("the window ends at %s, want 23 hours after the first claim", w)
	}
}

func TestR03_RefilledContentMustBeTheSameBytes(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Order = operation.OrderReplay
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(time.Minute)
	other := s.claimFact("at_2", true)
	other.Filled.Digest = "other bytes"
	s.refuses(other, operation.ReasonDigestMismatch)
}

func TestR03_StoredErrorStopsReplaysUntilANewKeyIsReleased(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Order = operation.OrderReplay
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.must(operation.Reported{Attempt: "at_1", At: s.now, Kind: operation.EvidenceAnswer, NoRepeat: true})
	s.wait(10 * time.Minute)
	s.looked(operation.LookAbsent, "")
	s.wants(operation.ActionAsk, operation.ReasonStoredError)
	s.ask()
	s.answer(operation.AnswerNewKey)
	s.wants(operation.ActionLookUp, operation.ReasonLastLookup)
	s.wait(time.Second)
	s.looked(operation.LookAbsent, "")
	s.wants(operation.ActionSend, operation.ReasonAttested)
	if s.op.Generation != 1 {
		t.Errorf("the key generation is %d, want 1", s.op.Generation)
	}
}

func TestR03_NewKeyIsIllegalWhileTheOldOneProtects(t *testing.T) {
	t.Parallel()
	s := held(t, func() operation.Policy { p := careful(); p.ReplaysMax = 0; return p }())
	s.refuses(s.word(operation.AnswerNewKey), operation.ReasonKeyStillOpen)
	s.wait(24 * time.Hour)
	s.answer(operation.AnswerNewKey)
}

func TestR04_ARefusedReplayLeavesTheDoubt(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Order = operation.OrderReplay
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(time.Minute)
	s.claim("at_2", true)
	s.rejected("at_2")
	s.is(operation.StatusUnknown)
	if s.op.Attempts[0].Outcome != operation.OutcomeUnknown {
		t.Error("the refused replay proved something about the first attempt")
	}
}

func TestR04_NoTimerTurnsUnknownIntoNotExecuted(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	s.wait(10 * 24 * time.Hour)
	s.must(operation.LeaseOver{At: s.now})
	s.is(operation.StatusUnknown)
	for range 3 {
		s.looked(operation.LookFailed, "")
		s.wait(time.Hour)
	}
	s.is(operation.StatusUnknown)
	if !s.op.AnyOpen() {
		t.Error("time proved something")
	}
}

func TestR04_AbsentSettlesNothing(t *testing.T) {
	t.Parallel()
	s := held(t, func() operation.Policy { p := careful(); p.Protection = operation.ProtectionNone; return p }())
	if s.op.Attempts[0].Outcome != operation.OutcomeUnknown || s.op.Question.Reason != operation.ReasonAbsent {
		t.Errorf("after an absent lookup: %+v, reason %s", s.op.Attempts[0], s.op.Question.Reason)
	}
}

func TestR04_NothingHappenedIsIllegalBeforeTheQuietTime(t *testing.T) {
	t.Parallel()
	s := begin(t, unprotected(), standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.ask()
	s.refuses(s.word(operation.AnswerNothingHappened), operation.ReasonNotYet)
	s.wait(time.Minute)
	s.refuses(s.word(operation.AnswerNothingHappened), operation.ReasonNotYet) // the owner's clock may be slow
	s.wait(5 * time.Second)
	s.answer(operation.AnswerNothingHappened)
	s.wants(operation.ActionSend, operation.ReasonAttested)
}

func TestR04_AWordIsNeverProof(t *testing.T) {
	t.Parallel()
	p := unprotected()
	p.AttemptsMax = 1
	s := held(t, p)
	s.answer(operation.AnswerNothingHappened)
	s.claim("at_2", false)
	s.rejected("at_2")
	s.wants(operation.ActionAsk, operation.ReasonAttemptsSpent)
	if s.op.Status == operation.StatusFailed {
		t.Error("an attested attempt counted as proven")
	}
	s.ask()
	s.answer(operation.AnswerNothingHappened) // said anew, it permits another try
	s.wants(operation.ActionSend, operation.ReasonAttested)
}

func TestR05_WhatDecidesWhetherContentMayBeSent(t *testing.T) {
	t.Parallel()
	good := func() *operation.Approval {
		return &operation.Approval{By: reviewer, At: t0, Version: 1, Digest: digestOf(1), ValidUntil: t0.Add(48 * time.Hour)}
	}
	tests := []struct {
		name  string
		alter func(*operation.Approval) *operation.Approval
		after time.Duration
		want  operation.Reason
	}{
		{"approved", func(a *operation.Approval) *operation.Approval { return a }, 0, ""},
		{"nobody was asked", func(*operation.Approval) *operation.Approval { return nil }, 0, operation.ReasonApprovalMissing},
		{"other version", func(a *operation.Approval) *operation.Approval { a.Version = 2; return a }, 0, operation.ReasonApprovalOther},
		{"other digest", func(a *operation.Approval) *operation.Approval { a.Digest = "x"; return a }, 0, operation.ReasonApprovalOther},
		{"an empty digest", func(a *operation.Approval) *operation.Approval { a.Digest = ""; return a }, 0, operation.ReasonApprovalOther},
		{"never valid", func(a *operation.Approval) *operation.Approval { a.ValidUntil = 0; return a }, 0, operation.ReasonApprovalLapsed},
		{"the last instant", func(a *operation.Approval) *operation.Approval { return a }, 48*time.Hour - time.Millisecond, ""},
		{"lapsed", func(a *operation.Approval) *operation.Approval { return a }, 48 * time.Hour, operation.ReasonApprovalLapsed},
		{"past send_by", func(a *operation.Approval) *operation.Approval { a.ValidUntil = t0.Add(99 * time.Hour); return a }, 72 * time.Hour, operation.ReasonSendByPassed},
		{"approved after send_by", func(a *operation.Approval) *operation.Approval {
			a.At, a.ValidUntil = t0.Add(73*time.Hour), t0.Add(99*time.Hour)
			return a
		}, 74 * time.Hour, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, careful(), nil)
			s.op.SendBy = t0.Add(72 * time.Hour)
			s.op.Approval = tt.alter(good())
			s.wait(tt.after)
			if tt.want == "" {
				s.wants(operation.ActionSend, operation.ReasonNeverSent)
				return
			}
			s.wants(operation.ActionAsk, tt.want)
			s.refuses(s.claimFact("at_1", false), operation.ReasonLost)
		})
	}
}

func TestR05_TheFenceChecksTheApprovalAtTheFirstByte(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), &operation.Approval{By: reviewer, At: t0, Version: 1, Digest: digestOf(1), ValidUntil: t0 + 1000})
	s.claim("at_1", false)
	if why := operation.Fence(s.op, "at_1", s.p, t0+999); why != "" {
		t.Errorf("the fence refuses a valid approval: %s", why)
	}
	if why := operation.Fence(s.op, "at_1", s.p, t0+1000); why != operation.ReasonApprovalLapsed {
		t.Errorf("the fence says %q after the approval's validity", why)
	}
}

func TestR06_EveryAcceptedFactLeavesEvidence(t *testing.T) {
	t.Parallel()
	for name, s := range everyStatus(t) {
		for kind, f := range everyFact(s) {
			before := count(s.op.Evidence)
			next, refused := operation.Apply(s.op, f, s.p)
			if refused == nil && count(next.Evidence) <= before {
				t.Errorf("%s on %s was accepted without evidence", kind, name)
			}
		}
	}
}

func count(es []operation.Evidence) int {
	n := 0
	for _, e := range es {
		n += max(e.Count, 1)
	}
	return n
}

func TestR07_EverythingOpenHasOwnerStepAndDue(t *testing.T) {
	t.Parallel()
	for name, s := range everyStatus(t) {
		m, step := s.next(), s.op.Step
		if step.Owner == "" || (m.Action != operation.ActionDone && step.Due <= s.op.Created) {
			t.Errorf("%s: next %s, step %+v", name, m.Action, step)
		}
	}
}

func TestR07_EveryQuestionHasALegalAnswer(t *testing.T) {
	t.Parallel()
	for name, s := range everyStatus(t) {
		if s.op.Question == nil {
			continue
		}
		some := false
		for _, c := range operation.Choices(s.op, s.p, s.now.Add(48*time.Hour)) {
			some = some || c.Legal
		}
		if !some {
			t.Errorf("%s: no answer is legal", name)
		}
	}
}

func TestR07_AConflictBeforeAnythingWasSentCanBeAnswered(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.looked(operation.LookConflict, "")
	s.wants(operation.ActionAsk, operation.ReasonLookupConflict)
	s.ask()
	s.wait(time.Hour)
	s.answer(operation.AnswerNothingHappened)
	s.wants(operation.ActionSend, operation.ReasonNeverSent)
}

func TestR08_ConfirmedIsFinal(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	s.executed("at_1", "7714")
	s.must(operation.Related{At: s.now, Run: "run_2"})
	for kind, f := range everyFact(s) {
		if next, refused := operation.Apply(s.op, f, s.p); refused == nil && (next.Status != operation.StatusConfirmed || next.Reference != "7714") {
			t.Errorf("%s changed a confirmed operation to %s %s", kind, next.Status, next.Reference)
		}
	}
	if diff := cmp.Diff([]operation.RunID{"run_2"}, s.op.Runs); diff != "" {
		t.Error(diff)
	}
}

func TestR11_SilenceNeverApproves(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), nil)
	s.ask()
	q := s.op.Question.ID
	s.refuses(operation.Lapsed{At: s.now, Question: q}, operation.ReasonStands)
	late := s.word(operation.AnswerApprove)
	s.wait(20 * time.Hour)
	late.At = s.now
	s.refuses(late, operation.ReasonExpired)
	s.must(operation.Lapsed{At: s.now, Question: q})
	s.is(operation.StatusDeclined)
	s.refuses(late, operation.ReasonDecided)
	if s.op.Approval != nil {
		t.Error("an expired question left an approval")
	}
}

func TestR11_AnEmptyAnswerDecidesNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), nil)
	s.ask()
	d := s.word("")
	s.refuses(d, operation.ReasonNotLegal)
	d = s.word(operation.AnswerApprove)
	d.By = ""
	s.refuses(d, operation.ReasonNotReviewer)
}

func TestR12_TwoReferencesContradict(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	s.must(operation.Fed{At: s.now, Reference: "1"})
	s.executed("at_1", "2")
	s.wants(operation.ActionAsk, operation.ReasonTwoReferences)
	s.is(operation.StatusConfirmed)
	if s.op.Reference != "1" {
		t.Errorf("the saved reference became %s", s.op.Reference)
	}
}

func TestR12_AnEffectAlthoughAllWereProvenNotExecuted(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	s.rejected("at_1")
	s.must(operation.Fed{At: s.now, Reference: "1"})
	s.wants(operation.ActionAsk, operation.ReasonEffectUnproven)
	s.refuses(s.claimFact("at_2", false), operation.ReasonLost)
}

func TestR12_AnEffectOnSomethingDeclinedIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), nil)
	s.must(operation.Withdrawn{At: s.now, By: owner})
	s.must(operation.Fed{At: s.now, Reference: "1"})
	s.wants(operation.ActionAsk, operation.ReasonEffectOnClosed)
	s.ask()
	s.answer(operation.AnswerAcknowledge)
	s.refuses(operation.Reopened{At: s.now, By: owner}, operation.ReasonContradiction)
}

func TestR12_ConfirmedWithAnOpenAttemptStaysOnTheWorklist(t *testing.T) {
	t.Parallel()
	s := held(t, unprotected())
	s.answer(operation.AnswerNothingHappened)
	s.claim("at_2", false)
	s.executed("at_2", "2")
	s.is(operation.StatusConfirmed)
	s.wants(operation.ActionAsk, operation.ReasonConfirmedByOther)
	s.ask()
	s.must(s.exists("1"))
	s.wants(operation.ActionAsk, operation.ReasonTwoReferences)
}

func TestR12_OneMatchDoesNotHideASecondEffect(t *testing.T) {
	t.Parallel()
	s := held(t, func() operation.Policy { p := unprotected(); p.Lookup, p.LookupsMax = true, 1; return p }())
	s.answer(operation.AnswerNothingHappened)
	s.wait(time.Second)
	s.looked(operation.LookAbsent, "")
	s.claim("at_2", false)
	s.lost("at_2")
	s.looked(operation.LookFound, "1")
	s.is(operation.StatusConfirmed)
	if !s.op.AnyUnsettled() {
		t.Error("one match settled two attempts that can each have had an effect")
	}
}
