package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
)

func TestStricterTakesOfEachRuleTheOneThatSendsLess(t *testing.T) {
	t.Parallel()
	a := operation.Policy{
		Protection: operation.ProtectionKey, KeyWindow: 24 * time.Hour, KeyMargin: time.Minute, Order: operation.OrderReplay, ReplaysMax: 5,
		Lookup: true, AbsentCounts: true, Visible: time.Second, LookupEvery: time.Second, LookupsMax: 9, Quiet: time.Second,
		AttemptsMax: 9, BackoffMin: time.Second, BackoffMax: time.Minute, Factor: 2, Timeout: time.Second, Lease: time.Minute, Skew: time.Second,
	}
	b := operation.Policy{
		Protection: operation.ProtectionNatural, KeyWindow: time.Hour, KeyMargin: time.Hour, Order: operation.OrderLookUp, ReplaysMax: 1,
		Visible: time.Minute, LookupEvery: time.Minute, LookupsMax: 1, Quiet: time.Minute,
		AttemptsMax: 1, BackoffMin: time.Minute, BackoffMax: time.Hour, Factor: 3, Timeout: time.Minute, Lease: time.Hour, Skew: time.Minute,
	}
	want := b
	want.Protection = operation.ProtectionNone
	for _, got := range []operation.Policy{operation.Stricter(a, b), operation.Stricter(b, a)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(a, operation.Stricter(a, a)); diff != "" {
		t.Errorf("a policy joined with itself changed:\n%s", diff)
	}
}

func TestStricterNeverPermitsWhatOneOfTheTwoForbids(t *testing.T) {
	t.Parallel()
	weak, strong := unprotected(), careful()
	strong.Order = operation.OrderReplay
	s := begin(t, strong, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(5 * time.Minute)
	s.wants(operation.ActionReplay, operation.ReasonProtected)
	s.p = operation.Stricter(strong, weak)
	s.wants(operation.ActionAsk, operation.ReasonNoProtection)
}

func TestBackoffGrowsToItsMaximumAndObeysTheTarget(t *testing.T) {
	t.Parallel()
	p := careful()
	p.AttemptsMax, p.BackoffMin, p.BackoffMax, p.Factor = 9, time.Second, 5*time.Second, 2
	s := begin(t, p, standing())
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		id := operation.AttemptID("at_" + string(rune('1'+i)))
		s.claim(id, false)
		s.rejected(id)
		m := s.next()
		if got := m.Due.Sub(s.now); m.Action != operation.ActionWait || got != want {
			t.Fatalf("after %d tries: %s for %s, want a wait of %s", i+1, m.Action, got, want)
		}
		s.now = m.Due
		s.wants(operation.ActionSend, operation.ReasonNotExecuted)
	}
	s.claim("at_9", false)
	s.must(operation.Reported{Attempt: "at_9", At: s.now, Outcome: operation.OutcomeNotExecuted, Kind: operation.EvidenceAnswer, RetryAfter: s.now.Add(time.Hour)})
	if m := s.next(); m.Due != s.now.Add(time.Hour) {
		t.Errorf("Retry-After was not obeyed: due %s", m.Due)
	}
}

func TestWindowIsOfTheOldestUnprovenAttemptOfTheGeneration(t *testing.T) {
	t.Parallel()
	hour := func(h int) operation.Time { return t0.Add(time.Duration(h) * time.Hour) }
	at := func(claimed operation.Time, gen int, o operation.Outcome) operation.Attempt {
		return operation.Attempt{Claimed: claimed, Generation: gen, Outcome: o}
	}
	tests := []struct {
		name     string
		prot     operation.Protection
		attempts []operation.Attempt
		want     operation.Time
	}{
		{"nothing sent", operation.ProtectionKey, nil, 0},
		{"no key", operation.ProtectionNatural, []operation.Attempt{at(t0, 1, 0)}, 0},
		{"the oldest counts", operation.ProtectionKey, []operation.Attempt{at(hour(1), 1, 0), at(hour(2), 1, 0)}, hour(24)},
		{"order does not matter", operation.ProtectionKey, []operation.Attempt{at(hour(2), 1, 0), at(hour(1), 1, 0)}, hour(24)},
		{"proven not executed does not", operation.ProtectionKey, []operation.Attempt{at(hour(1), 1, operation.OutcomeNotExecuted), at(hour(2), 1, 0)}, hour(25)},
		{"executed does", operation.ProtectionKey, []operation.Attempt{at(hour(1), 1, operation.OutcomeExecuted), at(hour(2), 1, 0)}, hour(24)},
		{"another generation does not", operation.ProtectionKey, []operation.Attempt{at(hour(1), 0, 0), at(hour(2), 1, 0)}, hour(25)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			op := &operation.Operation{Generation: 1, Attempts: tt.attempts}
			p := operation.Policy{Protection: tt.prot, KeyWindow: 24 * time.Hour, KeyMargin: time.Hour}
			if got := operation.WindowUntil(op, p); got != tt.want {
				t.Errorf("the window ends at %s, want %s", got, tt.want)
			}
		})
	}
}
