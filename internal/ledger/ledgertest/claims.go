package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func claimCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"R01_TwinClaims":             twinClaims,
		"R01_StaleWriter":            staleWriter,
		"R01_LeaseHolds":             leaseHolds,
		"CaseB013_LostReplyOurs":     lostReplyOurs,
		"CaseB013_LostReplyOthers":   lostReplyOthers,
		"CaseB013_LostReplyOvertook": lostReplyOvertaken,
		"CaseB013_LostCreate":        lostCreate,
		"R01_NoAnswerAtAll":          noAnswerAtAll,
		"CaseB020_LateHolder":        lateHolder,
		"CaseB028_ConfirmedIsFinal":  confirmedIsFinal,
	}
}

const (
	rivals        = 1000
	rivalsAtATime = 64
)

// together runs fn n times, a bounded number at once.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, rivalsAtATime)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			fn(i)
			<-slots
		})
	}
	wg.Wait()
}

// 1,000 rivals read the same revision and claim it: one wins, and everyone else sees the winner's attempt.
func twinClaims(t *testing.T, b *bench) {
	op := b.created("op_twins")
	won, saw := make([]bool, rivals), make([]operation.AttemptID, rivals)
	together(rivals, func(i int) {
		res, err := b.Claim(t.Context(), op, b.claiming(op, operation.AttemptID(fmt.Sprintf("at_%d", i))))
		if err != nil {
			t.Errorf("rival %d: %v", i, err)
			return
		}
		won[i], saw[i] = res.Verdict == ledger.Written, res.Current.Attempts[0].ID
	})
	winners, winner := 0, operation.AttemptID("")
	for i := range won {
		if won[i] {
			winners, winner = winners+1, operation.AttemptID(fmt.Sprintf("at_%d", i))
		}
	}
	if winners != 1 {
		t.Fatalf("%d of %d rivals won the claim; want 1", winners, rivals)
	}
	for i, id := range saw {
		if id != winner {
			t.Errorf("rival %d saw attempt %s; want the winner's, %s", i, id, winner)
		}
	}
}

func staleWriter(t *testing.T, b *bench) {
	old := b.created("op_stale")
	now := b.won(b.Update(t.Context(), old, b.looked(old)))
	res, err := b.Update(t.Context(), old, b.looked(old))
	if err != nil || res.Verdict != ledger.Lost || res.Current.Rev != now.Rev {
		t.Fatalf("got %v at revision %d, %v; want lost at %d", res.Verdict, res.Current.Rev, err, now.Rev)
	}
	if again := b.won(b.Update(t.Context(), res.Current, b.looked(res.Current))); again.Look.Count != 2 {
		t.Errorf("after reading again: %d lookups; want 2", again.Look.Count)
	}
}

// While an attempt's lease runs nobody else may claim, not even from the right revision; afterwards it is takeable.
func leaseHolds(t *testing.T, b *bench) {
	held := b.claimed("op_lease", "at_1")
	if _, err := b.Claim(t.Context(), held, b.claiming(held, "at_2")); !errors.Is(err, ledger.ErrRefused) {
		t.Fatalf("claim under a running lease: %v; want refused", err)
	}
	b.clock.Move(2 * time.Minute)
	over := held
	over.Status = operation.StatusUnknown
	over = b.won(b.Update(t.Context(), held, cite(over, operation.EvidenceLeaseOver, b.at(), "at_1")))
	b.won(b.Claim(t.Context(), over, b.claiming(over, "at_2")))
}

// first loses the answer of the first write, so that the SDK sends it again.
func first(call string, after func()) *wire {
	return &wire{script: func(c string, n int, _ []byte) fault {
		if c == call && n == 1 {
			return fault{lose: true, after: after}
		}
		return fault{}
	}}
}

func lostReplyOurs(t *testing.T, b *bench) {
	op := b.created("op_lost")
	w := first("UpdateItem", nil)
	got := b.won(b.with(w).Claim(t.Context(), op, b.claiming(op, "at_ours")))
	if w.count("UpdateItem") != 2 {
		t.Fatalf("%d requests; the test wants the lost one and its repeat", w.count("UpdateItem"))
	}
	if got.Rev != op.Rev+1 || len(got.Attempts) != 1 || got.Attempts[0].ID != "at_ours" {
		t.Errorf("got revision %d and attempts %v", got.Rev, got.Attempts)
	}
}

// The request never arrived, and by the time of its repeat another worker holds the claim.
func lostReplyOthers(t *testing.T, b *bench) {
	op := b.created("op_lost")
	w := &wire{script: func(c string, n int, _ []byte) fault {
		if c == "UpdateItem" && n == 1 {
			return fault{drop: true, before: func() { b.won(b.Claim(context.Background(), op, b.claiming(op, "at_other"))) }}
		}
		return fault{}
	}}
	res, err := b.with(w).Claim(t.Context(), op, b.claiming(op, "at_ours"))
	if err != nil || res.Verdict != ledger.Lost || res.Current.Attempts[0].ID != "at_other" {
		t.Fatalf("got %v, %v; want lost to at_other", res.Verdict, err)
	}
}

// Between our commit and the repeat somebody wrote on top of our write: it is still ours.
func lostReplyOvertaken(t *testing.T, b *bench) {
	op := b.created("op_lost")
	w := first("UpdateItem", func() {
		for range 2 {
			now, err := b.Operation(context.Background(), op.ID)
			if err != nil {
				t.Error(err)
			}
			b.won(b.Update(context.Background(), now, b.looked(now)))
		}
	})
	got := b.won(b.with(w).Claim(t.Context(), op, b.claiming(op, "at_ours")))
	if got.Rev != op.Rev+3 || got.Look.Count != 2 {
		t.Errorf("got revision %d with %d lookups; want what stands now", got.Rev, got.Look.Count)
	}
}

func lostCreate(t *testing.T, b *bench) {
	w := &wire{script: func(c string, n int, _ []byte) fault { return fault{lose: c == "PutItem" && n%2 == 1} }}
	l := b.with(w)
	res, err := l.CreateOperation(t.Context(), b.proposed("op_new"), []byte(content))
	if err != nil || res.Verdict != ledger.Created {
		t.Fatalf("got %v, %v; want created", res.Verdict, err)
	}
	again, err := l.CreateOperation(t.Context(), b.proposed("op_new"), []byte(content))
	if err != nil || again.Verdict != ledger.Exists || again.Current.Rev != 1 {
		t.Fatalf("planned twice: %v, %v; want exists, unchanged", again.Verdict, err)
	}
}

// Every answer is lost, also of the repeats: the write is read back. When even that is not possible, it is unclear.
func noAnswerAtAll(t *testing.T, b *bench) {
	op := b.created("op_dark")
	deaf := func(c string, _ int, _ []byte) fault { return fault{lose: c == "UpdateItem"} }
	got := b.won(b.with(&wire{script: deaf}).Claim(t.Context(), op, b.claiming(op, "at_1")))

	cut := func(string, int, []byte) fault { return fault{drop: true} }
	if _, err := b.with(&wire{script: cut}).Update(t.Context(), got, b.looked(got)); !errors.Is(err, ledger.ErrUnclear) {
		t.Errorf("got %v; want unclear", err)
	}
}

// The holder freezes past its lease, another attempt takes over, and the late result is recorded as evidence about
// its own attempt alone (R12).
func lateHolder(t *testing.T, b *bench) {
	frozen := b.claimed("op_late", "at_1")
	b.clock.Move(2 * time.Minute)
	over := frozen
	over.Status = operation.StatusUnknown
	over = b.won(b.Update(t.Context(), frozen, cite(over, operation.EvidenceLeaseOver, b.at(), "at_1")))
	second := b.won(b.Claim(t.Context(), over, b.claiming(over, "at_2")))
	b.won(b.RecordOutcome(t.Context(), second, "at_2", Seen{At: b.at(), Outcome: operation.OutcomeExecuted, Reference: "7714"}.bytes()))

	late := b.won(b.RecordOutcome(t.Context(), frozen, "at_1", Seen{At: b.at()}.bytes()))
	if late.Status != operation.StatusConfirmed || late.Reference != "7714" || late.Attempts[0].Recorded == 0 {
		t.Errorf("got %s, reference %s, first attempt recorded at %v", late.Status, late.Reference, late.Attempts[0].Recorded)
	}
}

// Nothing moves a confirmed operation to another status, and nothing settled is claimed.
func confirmedIsFinal(t *testing.T, b *bench) {
	op := b.claimed("op_final", "at_1")
	done := b.won(b.RecordOutcome(t.Context(), op, "at_1", Seen{At: b.at(), Outcome: operation.OutcomeExecuted, Reference: "7714"}.bytes()))
	failed := done
	failed.Status = operation.StatusFailed
	if _, err := b.Update(t.Context(), done, cite(failed, operation.EvidenceNoAnswer, b.at(), "at_1")); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("confirmed to failed: %v; want refused", err)
	}
	// A defect that forgot what it had read: the table itself refuses.
	forgot := done
	forgot.Status = operation.StatusUnknown
	for name, write := range map[string]func() (ledger.Result[operation.Operation], error){
		"update": func() (ledger.Result[operation.Operation], error) {
			return b.Update(t.Context(), forgot, b.looked(forgot))
		},
		"claim": func() (ledger.Result[operation.Operation], error) {
			return b.Claim(t.Context(), forgot, b.claiming(forgot, "at_2"))
		},
	} {
		if res, err := write(); err != nil || res.Verdict != ledger.Lost || res.Current.Status != operation.StatusConfirmed {
			t.Errorf("%s: %v, %v; want lost to the confirmed operation", name, res.Verdict, err)
		}
	}
}
