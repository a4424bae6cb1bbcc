package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
)

// everyStatus has one ordinary operation in each status.
func everyStatus(t testing.TB) map[string]*story {
	t.Helper()
	out := map[string]*story{}
	put := func(want operation.Status, s *story) {
		s.is(want)
		out[want.String()] = s
	}
	put(operation.StatusProposed, begin(t, careful(), standing()))
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	put(operation.StatusInFlight, s)
	s = begin(t, careful(), standing())
	s.claim("at_1", false)
	s.rejected("at_1")
	put(operation.StatusReady, s)
	s = begin(t, careful(), standing())
	s.claim("at_1", false)
	s.lost("at_1")
	put(operation.StatusUnknown, s)
	s = begin(t, unprotected(), standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.ask()
	put(operation.StatusHeld, s)
	s = begin(t, careful(), standing())
	s.claim("at_1", false)
	s.executed("at_1", "ref")
	put(operation.StatusConfirmed, s)
	s = begin(t, careful(), standing())
	s.claim("at_1", false)
	s.must(operation.Reported{Attempt: "at_1", At: s.now, Outcome: operation.OutcomeNotExecuted, Kind: operation.EvidenceAnswer, Permanent: true})
	put(operation.StatusFailed, s)
	s = begin(t, careful(), nil)
	s.must(operation.Withdrawn{At: s.now, By: owner})
	put(operation.StatusDeclined, s)
	s = begin(t, unprotected(), standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.ask()
	s.answer(operation.AnswerClose)
	put(operation.StatusAbandoned, s)
	for _, s := range out {
		s.wait(5 * time.Minute)
	}
	return out
}

// factNames orders the rows as table.go does.
var factNames = []string{
	"claim", "reported", "lease_over", "looked", "fed", "asked", "decided", "lapsed", "edited", "withdrawn",
	"reopened", "restored", "related", "shared", "unfit",
}

// everyFact has one ordinary fact of each kind, fit for s as far as it can be.
func everyFact(s *story) map[string]operation.Fact {
	claim := s.claimFact("at_9", s.next().Action == operation.ActionReplay)
	return map[string]operation.Fact{
		"claim":      claim,
		"reported":   operation.Reported{Attempt: "at_1", At: s.now, Outcome: operation.OutcomeExecuted, Kind: operation.EvidenceAnswer, Reference: "ref"},
		"lease_over": operation.LeaseOver{At: s.now},
		"looked":     operation.Looked{At: s.now, Result: operation.LookFound, Reference: "ref"},
		"fed":        operation.Fed{At: s.now, Reference: "ref"},
		"asked":      operation.Asked{At: s.now, Question: operation.Question{ID: "q9", Kind: s.next().Kind, Reviewers: []operation.Person{reviewer}}},
		"decided":    s.exists("ref"),
		"lapsed":     operation.Lapsed{At: s.now, Question: "q1"},
		"edited":     operation.Edited{At: s.now, By: owner, Content: content(2)},
		"withdrawn":  operation.Withdrawn{At: s.now, By: owner},
		"reopened":   operation.Reopened{At: s.now, By: owner},
		"restored":   operation.Restored{At: s.now, By: owner, Attempt: "at_8"},
		"related":    operation.Related{At: s.now, Run: "run_8"},
		"shared":     operation.Shared{At: s.now, Other: "op_2", Reference: "ref"},
		"unfit":      operation.Unfit{At: s.now, Reason: operation.ReasonDigestMismatch},
	}
}

// cellsText is the whole table as it acts on ordinary facts: the status after each, or why it was refused.
func cellsText(t testing.TB) string {
	var b strings.Builder
	all := everyStatus(t)
	for i := range len(all) {
		status := operation.Status(i).String()
		s := all[status]
		facts := everyFact(s)
		for _, name := range factNames {
			fmt.Fprintf(&b, "%-10s %-11s %s\n", status, name, cellText(s, facts[name]))
		}
	}
	return b.String()
}

func cellText(s *story, f operation.Fact) string {
	next, refused := operation.Apply(s.op, f, s.p)
	if refused != nil {
		return "refused: " + string(refused.Reason)
	}
	m := operation.Next(next, s.p, s.now)
	return fmt.Sprintf("%s; next %s (%s)", next.Status, m.Action, m.Reason)
}

func TestEveryFactAndStatusIsInTheTable(t *testing.T) {
	t.Parallel()
	all := everyStatus(t)
	if len(all) != 9 {
		t.Errorf("%d statuses have an example, want 9", len(all))
	}
	for _, s := range all {
		if diff := cmp.Diff(len(factNames), len(everyFact(s))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnUnknownStatusIsRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.op.Status = 9
	s.refuses(operation.LeaseOver{At: s.now}, operation.ReasonNotLegal)
}
