package operation_test

import (
	"strings"
	"testing"

	"holdfast/internal/operation"
)

// distorted makes a core that decides on a distorted view of the record. What it claims is written to the true one.
func distorted(view func(*operation.Operation), policy func(*operation.Policy)) core {
	k := rightCore()
	look := func(op *operation.Operation, p operation.Policy) (*operation.Operation, operation.Policy) {
		c := copyOf(op)
		if view != nil {
			view(c)
		}
		if policy != nil {
			policy(&p)
		}
		return c, p
	}
	k.next = func(op *operation.Operation, p operation.Policy, now operation.Time) operation.Move {
		c, q := look(op, p)
		return operation.Next(c, q, now)
	}
	k.choices = func(op *operation.Operation, p operation.Policy, now operation.Time) []operation.Choice {
		_, q := look(op, p)
		return operation.Choices(op, q, now)
	}
	k.fence = func(op *operation.Operation, id operation.AttemptID, p operation.Policy, now operation.Time) operation.Reason {
		c, q := look(op, p)
		return operation.Fence(c, id, q, now)
	}
	k.apply = func(op *operation.Operation, f operation.Fact, p operation.Policy) (*operation.Operation, *operation.Refusal) {
		c, q := look(op, p)
		switch f.(type) {
		case operation.Claim:
			next, refused := operation.Apply(c, f, q)
			if refused != nil {
				return nil, refused
			}
			return withAttempt(op, next), nil
		case operation.Asked:
			next, refused := operation.Apply(c, f, q)
			if refused != nil {
				return nil, refused
			}
			out := copyOf(op)
			out.Question, out.Round, out.Status, out.Evidence = next.Question, next.Round, next.Status, next.Evidence
			return out, nil
		case operation.Decided:
			return operation.Apply(op, f, q)
		}
		return operation.Apply(op, f, p)
	}
	return k
}

func copyOf(op *operation.Operation) *operation.Operation {
	c := *op
	c.Attempts = append([]operation.Attempt(nil), op.Attempts...)
	if op.Approval != nil {
		a := *op.Approval
		c.Approval = &a
	}
	return &c
}

// withAttempt is op with the latest attempt of next, and everything else as the claim leaves it.
func withAttempt(op, next *operation.Operation) *operation.Operation {
	out := copyOf(op)
	out.Attempts = append(out.Attempts, next.Attempts[len(next.Attempts)-1])
	out.Status, out.Look, out.Filled, out.Question = operation.StatusInFlight, operation.Look{}, next.Filled, next.Question
	out.Evidence, out.Step, out.Reason = next.Evidence, next.Step, ""
	return out
}

// afterwards makes a core that changes what it applied.
func afterwards(change func(before, after *operation.Operation, f operation.Fact, p operation.Policy)) core {
	k := rightCore()
	k.apply = func(op *operation.Operation, f operation.Fact, p operation.Policy) (*operation.Operation, *operation.Refusal) {
		next, refused := operation.Apply(op, f, p)
		if refused != nil {
			return nil, refused
		}
		change(op, next, f, p)
		return next, nil
	}
	return k
}

// beforehand makes a core that changes the record or the fact before it applies it.
func beforehand(change func(op *operation.Operation, f operation.Fact, p *operation.Policy) operation.Fact) core {
	k := rightCore()
	k.apply = func(op *operation.Operation, f operation.Fact, p operation.Policy) (*operation.Operation, *operation.Refusal) {
		c := copyOf(op)
		if op.Question != nil {
			q := *op.Question
			c.Question = &q
		}
		return operation.Apply(c, change(c, f, &p), p)
	}
	return k
}

func forget(op *operation.Operation, which func(*operation.Attempt) bool) {
	for i := range op.Attempts {
		if a := &op.Attempts[i]; which(a) {
			a.Outcome, a.Reference, a.Attested = operation.OutcomeNotExecuted, "", nil
		}
	}
	if op.Status == operation.StatusUnknown || op.Status == operation.StatusInFlight || op.Status == operation.StatusHeld {
		op.Status, op.Question, op.Reason = operation.StatusReady, nil, ""
	}
}

func isOpen(a *operation.Attempt) bool { return a.Open() }

type wrongCore struct {
	hole   string // the point of the design review, or the rule
	name   string
	where  config
	broken string // part of the rule's sentence that the search must report
	core   core
}

func where(prot operation.Protection, lookup, counts bool, order operation.Order) config {
	return config{policy: policyOf(prot, lookup, counts, order), skew: 1, tries: triesMax, lies: true, feeds: true, stale: true}
}

func honest(c config) config { c.lies = false; return c }

func TestSearchCatchesWrongCores(t *testing.T) {
	for _, wrong := range append(append(wrongAboutAttempts(), wrongAboutPeople()...), wrongAboutKeys()...) {
		t.Run(wrong.hole+" "+wrong.name, func(t *testing.T) {
			s := search{c: wrong.where, k: wrong.core, most: statesBound}
			story := s.run()
			if story == nil {
				t.Fatalf("the search found nothing in %d states", len(s.seen))
			}
			text := strings.Join(story, "\n")
			if !strings.Contains(story[len(story)-1], wrong.broken) {
				t.Errorf("want a story that ends in %q", wrong.broken)
			}
			t.Logf("found after %d states:\n%s", len(s.seen), text)
		})
	}
}

func TestSearchStoryIsTheSameWithoutTheFault(t *testing.T) {
	// The wrapper itself must not be what the search catches.
	s := search{c: honest(where(operation.ProtectionNone, false, false, operation.OrderLookUp)), k: distorted(nil, nil), most: statesNear}
	s.c.tries = 2
	if story := s.run(); story != nil {
		t.Fatal("\n" + strings.Join(story, "\n"))
	}
}
