package operation_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/internal/operation"
)

// The model throws every kind of fact, sensible or not, in any order and at any instant at one operation under a
// random policy. rapid prints the seed of a failing course and shortens it.
func TestModelOfTheCore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{p: drawPolicy(t), now: t0, rng: t}
		var yes *operation.Approval
		if rapid.Bool().Draw(t, "standing") {
			yes = standing()
		}
		op, err := operation.Propose(operation.Operation{ID: "op_1", Flow: "f", Stage: "s", Owner: owner, Content: content(1)}, yes, m.p, m.now)
		if err != nil {
			t.Fatal(err)
		}
		m.op = op
		t.Repeat(map[string]func(*rapid.T){
			"time":      m.time,
			"ladder":    m.ladder,
			"report":    m.report,
			"look":      m.look,
			"feed":      m.feed,
			"people":    m.people,
			"decide":    m.decide,
			"surprises": m.surprises,
			"":          m.check,
		})
	})
}

type model struct {
	op   *operation.Operation
	p    operation.Policy
	now  operation.Time
	n, q int
	rng  *rapid.T
}

func drawPolicy(t *rapid.T) operation.Policy {
	p := careful()
	p.Protection = operation.Protection(rapid.IntRange(0, 2).Draw(t, "protection"))
	p.Order = operation.Order(rapid.IntRange(0, 1).Draw(t, "order"))
	p.Lookup = rapid.Bool().Draw(t, "lookup")
	p.AbsentCounts = p.Lookup && rapid.Bool().Draw(t, "absent counts")
	p.AttemptsMax = rapid.IntRange(0, 3).Draw(t, "attempts")
	p.ReplaysMax = rapid.IntRange(0, 3).Draw(t, "replays")
	p.LookupsMax = rapid.IntRange(0, 3).Draw(t, "lookups")
	p.KeyWindow = rapid.SampledFrom([]time.Duration{time.Minute, 30 * time.Minute, 24 * time.Hour}).Draw(t, "window")
	p.KeyMargin = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "margin")
	return p
}

// apply keeps what is accepted and checks what every change owes (R6, R8).
func (m *model) apply(t *rapid.T, f operation.Fact) {
	before, told := *m.op, count(m.op.Evidence)
	next, refused := operation.Apply(m.op, f, m.p)
	if before.Status != m.op.Status || told != count(m.op.Evidence) {
		t.Fatalf("%T changed its argument", f)
	}
	if refused != nil {
		if refused.Reason == "" {
			t.Fatalf("%T was refused without a reason", f)
		}
		return
	}
	if count(next.Evidence) <= told {
		t.Fatalf("%T was accepted without evidence (R6)", f)
	}
	if before.Reference != "" && (next.Reference != before.Reference || next.Status != operation.StatusConfirmed) {
		t.Fatalf("%T changed a confirmed operation to %s %s (R8)", f, next.Status, next.Reference)
	}
	m.neverUnproven(t, f, &before, next)
	next.Rev++
	m.op = next
}

// neverUnproven: only a report of the attempt itself proves "not executed" (R4).
func (m *model) neverUnproven(t *rapid.T, f operation.Fact, before, after *operation.Operation) {
	r, isReport := f.(operation.Reported)
	for i := range before.Attempts {
		was, is := before.Attempts[i].Outcome, after.Attempts[i].Outcome
		if is == operation.OutcomeNotExecuted && was != is && (!isReport || r.Attempt != after.Attempts[i].ID) {
			t.Fatalf("%T turned %s into not executed (R4)", f, after.Attempts[i].ID)
		}
		if was == operation.OutcomeExecuted && is == operation.OutcomeUnknown && after.Contradiction == nil {
			t.Fatalf("%T forgot a proof (R4)", f)
		}
	}
}

func (m *model) time(t *rapid.T) {
	steps := []time.Duration{time.Millisecond, time.Second, 10 * time.Second, 66 * time.Second, 10 * time.Minute, 25 * time.Hour}
	if due := m.next().Due; due > m.now && rapid.Bool().Draw(t, "to the due time") {
		m.now = due
		return
	}
	m.now = m.now.Add(rapid.SampledFrom(steps).Draw(t, "wait"))
}

func (m *model) next() operation.Move { return operation.Next(m.op, m.p, m.now) }

// ladder does what Next names; a claim is judged again by the fence and by R3 from the record alone.
func (m *model) ladder(t *rapid.T) {
	switch mv := m.next(); mv.Action {
	case operation.ActionSend, operation.ActionReplay:
		m.claim(t, mv.Action == operation.ActionReplay)
	case operation.ActionAsk:
		m.q++
		q := operation.Question{ID: operation.QuestionID(fmt.Sprintf("q%d", m.q)), Kind: mv.Kind, Reviewers: []operation.Person{reviewer}, ValidFor: int64(time.Hour / time.Millisecond)}
		if mv.Kind == operation.QuestionApprove {
			q.Expires = m.now.Add(time.Hour)
		}
		m.apply(t, operation.Asked{At: m.now, Question: q})
	case operation.ActionLookUp:
		m.look(t)
	}
}

func (m *model) claim(t *rapid.T, replay bool) {
	for i := range m.op.Attempts {
		a := &m.op.Attempts[i]
		switch {
		case a.Outcome == operation.OutcomeNotExecuted, a.Attested != nil:
		case a.Outcome == operation.OutcomeExecuted:
			t.Fatal("sent again although an attempt is proven executed (R3)")
		case !replay:
			t.Fatal("sent again although an attempt is open (R3)")
		case m.p.Protection == operation.ProtectionNone:
			t.Fatal("replayed at a target that collapses nothing (R3)")
		case m.p.Protection == operation.ProtectionKey && m.now.Sub(a.Claimed) >= m.p.KeyWindow-m.p.KeyMargin:
			t.Fatal("replayed outside the window (R3)")
		}
	}
	m.n++
	s := story{op: m.op, p: m.p, now: m.now}
	f := s.claimFact(operation.AttemptID(fmt.Sprintf("at_%d", m.n)), replay)
	before := len(m.op.Attempts)
	m.apply(t, f)
	if len(m.op.Attempts) != before+1 {
		t.Fatal("Next says send and the claim is refused (liveness)")
	}
	if why := operation.Fence(m.op, f.Attempt, m.p, m.now); why != "" {
		t.Fatalf("the fence refuses a fresh claim: %s", why)
	}
}

func (m *model) anAttempt(t *rapid.T) operation.AttemptID {
	return operation.AttemptID(fmt.Sprintf("at_%d", rapid.IntRange(1, m.n+1).Draw(t, "attempt")))
}

func aReference(t *rapid.T) operation.Reference {
	return rapid.SampledFrom([]operation.Reference{"r1", "r2", ""}).Draw(t, "reference")
}

func (m *model) report(t *rapid.T) {
	m.apply(t, operation.Reported{
		Attempt: m.anAttempt(t), At: m.now, Outcome: operation.Outcome(rapid.IntRange(0, 2).Draw(t, "outcome")), Kind: operation.EvidenceAnswer,
		Reference: aReference(t), NoRepeat: rapid.Bool().Draw(t, "stored"), Permanent: rapid.Bool().Draw(t, "permanent"),
	})
}

func (m *model) look(t *rapid.T) {
	back := time.Duration(rapid.IntRange(0, 60).Draw(t, "left earlier by s")) * time.Second
	m.apply(t, operation.Looked{At: m.now.Add(-back), Result: operation.LookResult(rapid.IntRange(0, 3).Draw(t, "result")), Reference: aReference(t)})
}

func (m *model) feed(t *rapid.T) { m.apply(t, operation.Fed{At: m.now, Reference: aReference(t)}) }

func (m *model) people(t *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		m.apply(t, operation.Edited{At: m.now, By: owner, Content: content(m.op.Content.Version + 1)})
	case 1:
		m.apply(t, operation.Withdrawn{At: m.now, By: owner})
	case 2:
		m.apply(t, operation.Reopened{At: m.now, By: owner})
	default:
		m.apply(t, operation.Lapsed{At: m.now, Question: operation.QuestionID(fmt.Sprintf("q%d", m.q))})
	}
}

func (m *model) decide(t *rapid.T) {
	answers := []operation.Answer{
		operation.AnswerApprove, operation.AnswerDecline, operation.AnswerExists, operation.AnswerNothingHappened,
		operation.AnswerCheckAgain, operation.AnswerClose, operation.AnswerNewKey, operation.AnswerAcknowledge, operation.AnswerExpired,
	}
	s := story{op: m.op, p: m.p, now: m.now}
	d := s.word(rapid.SampledFrom(answers).Draw(t, "answer"))
	d.Reference = aReference(t)
	d.Rev -= int64(rapid.IntRange(0, 1).Draw(t, "older"))
	m.apply(t, d)
}

func (m *model) surprises(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0:
		m.n++
		m.apply(t, operation.Restored{At: m.now, By: owner, Attempt: operation.AttemptID(fmt.Sprintf("at_%d", m.n))})
	case 1:
		m.apply(t, operation.Shared{At: m.now, Other: "op_2", Reference: "r1"})
	case 2:
		m.apply(t, operation.Related{At: m.now, Run: operation.RunID(fmt.Sprintf("run_%d", m.n))})
	case 3:
		m.apply(t, operation.Unfit{At: m.now, Reason: operation.ReasonProfileMissing})
	default:
		m.apply(t, operation.LeaseOver{At: m.now})
	}
}

// check holds in every state (R3, R7, R12).
func (m *model) check(t *rapid.T) {
	mv, op := m.next(), m.op
	if op.Step.Owner == "" || mv.Action != operation.ActionDone && op.Step.Action != operation.ActionDone && op.Step.Due == 0 {
		t.Fatalf("next %s, but the step is %+v (R7)", mv.Action, op.Step)
	}
	if mv.Action == operation.ActionWait && mv.Due <= m.now {
		t.Fatalf("a wait until %s at %s", mv.Due, m.now)
	}
	if c := op.Contradiction; c != nil && c.SeenBy == "" && mv.Kind != operation.QuestionContradiction {
		t.Fatalf("a contradiction nobody saw, and next is %s (R12)", mv.Action)
	}
	if op.Status == operation.StatusConfirmed && op.AnyUnsettled() && mv.Action == operation.ActionDone {
		t.Fatal("confirmed hides an open attempt (R12)")
	}
	if (op.Status == operation.StatusReady || op.Status == operation.StatusFailed) && op.AnyOpen() {
		t.Fatalf("%s with an open attempt (R4)", op.Status)
	}
	if len(op.Evidence) > operation.EvidenceBound+80 {
		t.Fatalf("the story has %d entries", len(op.Evidence))
	}
}
