package operation_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/operation"
)

// t0 is when every story of these tests begins: 2026-11-29T18:00:00Z.
const t0 = operation.Time(1795975200000)

// story is one operation and its clock: the small words that tests and scripts are told in.
type story struct {
	t   testing.TB
	op  *operation.Operation
	p   operation.Policy
	now operation.Time
	q   int
}

const (
	owner  = operation.Person("owner@example.com")
	second = operation.Person("second@example.com")
)

func content(version int) operation.Content {
	return operation.Content{Version: version, Digest: digestOf(version)}
}

func standing() *operation.Approval {
	return &operation.Approval{By: owner, At: t0, Version: 1, Digest: digestOf(1), Standing: true}
}

// careful is a policy with every protection there is; tests take away what they are about.
func careful() operation.Policy {
	return operation.Policy{
		Protection: operation.ProtectionKey, KeyWindow: 24 * time.Hour, KeyMargin: time.Hour, ReplaysMax: 2, Lookup: true, AbsentCounts: true,
		Visible: 30 * time.Second, LookupEvery: 10 * time.Second, LookupsMax: 3, Quiet: time.Minute, AttemptsMax: 3,
		BackoffMin: time.Second, BackoffMax: time.Minute, Factor: 2, Timeout: 10 * time.Second, Lease: time.Minute, Skew: 5 * time.Second,
	}
}

// unprotected is a target that documents nothing: no key, no lookup.
func unprotected() operation.Policy {
	p := careful()
	p.Protection, p.Lookup, p.AbsentCounts = operation.ProtectionNone, false, false
	return p
}

func begin(t testing.TB, p operation.Policy, approval *operation.Approval) *story {
	s := &story{t: t, p: p, now: t0}
	s.propose(approval)
	return s
}

func (s *story) propose(approval *operation.Approval) {
	op, err := operation.Propose(operation.Operation{ID: "op_1", Flow: "follow-up", Stage: "crm_task", Target: "hubspot-task", Owner: owner, Content: content(1)}, approval, s.p, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	s.op = op
}

// try applies f and answers why it was refused, "" when it was not.
func (s *story) try(f operation.Fact) operation.Reason {
	next, refused := operation.Apply(s.op, f, s.p)
	if refused != nil {
		return refused.Reason
	}
	next.Rev++
	s.op = next
	return ""
}

func (s *story) must(f operation.Fact) {
	s.t.Helper()
	if why := s.try(f); why != "" {
		s.t.Fatalf("%T was refused: %s (status %s, next %+v)", f, why, s.op.Status, s.next())
	}
}

func (s *story) wait(d time.Duration) { s.now = s.now.Add(d) }

func (s *story) next() operation.Move { return operation.Next(s.op, s.p, s.now) }

func (s *story) claimFact(id operation.AttemptID, replay bool) operation.Claim {
	return operation.Claim{
		Attempt: id, Run: "run_1", At: s.now, LeaseUntil: s.now.Add(s.p.Lease), Replay: replay,
		Filled: operation.Filled{Version: s.op.Content.Version, Generation: s.op.Generation, Digest: operation.Digest(fmt.Sprintf("%s-g%d", s.op.Content.Digest, s.op.Generation))},
	}
}

func (s *story) claim(id operation.AttemptID, replay bool) {
	s.t.Helper()
	s.must(s.claimFact(id, replay))
}

func (s *story) report(id operation.AttemptID, o operation.Outcome, ref operation.Reference) {
	s.t.Helper()
	s.must(operation.Reported{Attempt: id, At: s.now, Outcome: o, Kind: operation.EvidenceAnswer, Reference: ref})
}

func (s *story) lost(id operation.AttemptID) {
	s.t.Helper()
	s.must(operation.Reported{Attempt: id, At: s.now, Kind: operation.EvidenceNoAnswer, Detail: "no answer in time"})
}

func (s *story) executed(id operation.AttemptID, ref operation.Reference) {
	s.t.Helper()
	s.report(id, operation.OutcomeExecuted, ref)
}

func (s *story) rejected(id operation.AttemptID) {
	s.t.Helper()
	s.report(id, operation.OutcomeNotExecuted, "")
}

func (s *story) looked(r operation.LookResult, ref operation.Reference) {
	s.t.Helper()
	s.must(operation.Looked{At: s.now, Result: r, Reference: ref})
}

// question is what the ladder wants to ask now.
func (s *story) question() operation.Question {
	s.q++
	q := operation.Question{ID: operation.QuestionID(fmt.Sprintf("q%d", s.q)), Kind: s.next().Kind, Reviewers: []operation.Person{reviewer, second}}
	if q.Kind == operation.QuestionApprove {
		q.Expires, q.ValidFor = s.now.Add(20*time.Hour), (48 * time.Hour).Milliseconds()
	}
	return q
}

func (s *story) ask() {
	s.t.Helper()
	s.must(operation.Asked{At: s.now, Question: s.question()})
}

// word is an answer by the reviewer to the open question, as it is now.
func (s *story) word(a operation.Answer) operation.Decided {
	d := operation.Decided{At: s.now, By: reviewer, Answer: a, Digest: s.op.Content.Digest, Rev: s.op.Rev, How: "looked in the target"}
	if q := s.op.Question; q != nil {
		d.Question, d.Round = q.ID, q.Round
	}
	return d
}

func (s *story) answer(a operation.Answer) { s.t.Helper(); s.must(s.word(a)) }

func (s *story) exists(ref operation.Reference) operation.Decided {
	d := s.word(operation.AnswerExists)
	d.Reference = ref
	return d
}

func (s *story) wants(a operation.Action, why operation.Reason) {
	s.t.Helper()
	if m := s.next(); m.Action != a || m.Reason != why {
		s.t.Fatalf("next is %s (%s), want %s (%s); status %s", m.Action, m.Reason, a, why, s.op.Status)
	}
}

func (s *story) is(want operation.Status) {
	s.t.Helper()
	if s.op.Status != want {
		s.t.Fatalf("status is %s, want %s (reason %s)", s.op.Status, want, s.op.Reason)
	}
}

func (s *story) refuses(f operation.Fact, why operation.Reason) {
	s.t.Helper()
	if got := s.try(f); got != why {
		s.t.Fatalf("%T: refused %q, want %q", f, got, why)
	}
}
