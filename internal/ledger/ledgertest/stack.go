package ledgertest

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func stackCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"R10_WrongKeyRefuses":      wrongKey,
		"R04_RestoreSendsNothing":  restoreSendsNothing,
		"R04_AcceptGoesOn":         acceptGoesOn,
		"R01_OldEpochRefused":      oldEpoch,
		"R01_ReplicatedIsRefused":  replicated,
		"R10_FirstStartAtOnce":     firstStart,
		"R10_FirstStartOvertaken":  firstStartOvertaken,
		"R10_StackItemWasDeleted":  stackItemDeleted,
		"R10_UncheckedOnlyReads":   uncheckedOnlyReads,
		"R10_OtherStackIsRestored": otherStack,
		"R04_ReplacedWhileRunning": replacedWhileRunning,
	}
}

// fresh is a process that has not checked anything.
func (b *bench) fresh() *ledger.Ledger { return ledger.New(b.options(b.client)) }

func wrongKey(t *testing.T, b *bench) {
	l := b.fresh()
	if _, err := l.Check(t.Context(), ledger.Identity{Stack: identity.Stack, Fingerprint: "fp-2"}); !errors.Is(err, ledger.ErrWrongKey) {
		t.Fatalf("got %v; want the wrong key refused", err)
	}
	if _, err := l.RecordEvent(t.Context(), b.came("ev_1", "d1", "{}"), []byte("{}")); !errors.Is(err, ledger.ErrUnchecked) {
		t.Errorf("intake under a wrong key: %v; want refused", err)
	}
	if s, err := l.Check(t.Context(), identity); err != nil || s.Epoch != 1 {
		t.Errorf("the right key: epoch %d, %v", s.Epoch, err)
	}
}

// copied is another table with the same items: a restore.
func (b *bench) copied() *ledger.Ledger {
	b.t.Helper()
	name := b.table + "-restored"
	MakeTable(b.t, b.client, name)
	out, err := b.client.Scan(context.Background(), &dynamodb.ScanInput{TableName: &b.table})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, it := range out.Items {
		if _, err := b.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			b.t.Fatal(err)
		}
	}
	o := b.options(b.client)
	o.Table = name
	return ledger.New(o)
}

// doubt is the suite's stand-in for the core's own.
func doubt(op operation.Operation, by operation.Person, at operation.Time) (operation.Operation, bool) {
	if op.Status.Settled() {
		return op, false
	}
	op.Attempts = append(op.Attempts[:len(op.Attempts):len(op.Attempts)], operation.Attempt{
		ID: operation.AttemptID("at_restored_" + string(op.ID)), Claimed: op.Created, LeaseUntil: op.Created, Recorded: at, Restored: true})
	op.Status = operation.StatusUnknown
	op = cite(op, operation.EvidenceRestored, at, "")
	op.Evidence[len(op.Evidence)-1].By = by
	return op, true
}

// restorable fills the table with one settled and two open operations.
func (b *bench) restorable() {
	b.created("op_open")
	b.claimed("op_flight", "at_1")
	op := b.claimed("op_done", "at_2")
	b.won(b.RecordOutcome(b.t.Context(), op, "at_2", b.executed()))
}

func restoreSendsNothing(t *testing.T, b *bench) {
	b.restorable()
	l := b.copied()
	if _, err := l.Check(t.Context(), identity); !errors.Is(err, ledger.ErrRestored) {
		t.Fatalf("got %v; want restored", err)
	}
	open, err := l.Operation(t.Context(), "op_open")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Claim(t.Context(), open, b.claiming(open, "at_3")); !errors.Is(err, ledger.ErrUnchecked) {
		t.Fatalf("a claim on a copy: %v; want refused", err)
	}
	if _, err := l.Accept(t.Context(), identity, "", doubt); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("accepted by nobody: %v; want refused", err)
	}
	marked, err := l.Accept(t.Context(), identity, "op@example.com", doubt)
	if err != nil || marked != 2 {
		t.Fatalf("marked %d, %v; want the 2 open ones", marked, err)
	}
	s, err := l.Check(t.Context(), identity)
	if err != nil || s.Epoch != 2 || s.AcceptedBy != "op@example.com" || s.Accepted == 0 {
		t.Fatalf("afterwards: %+v, %v", s, err)
	}
	for id, want := range map[operation.ID]operation.Status{"op_open": operation.StatusUnknown, "op_flight": operation.StatusUnknown, "op_done": operation.StatusConfirmed} {
		if op, err := l.Operation(t.Context(), id); err != nil || op.Status != want {
			t.Errorf("%s: %s, %v; want %s", id, op.Status, err, want)
		}
	}
	done, err := l.Operation(t.Context(), "op_done")
	if err != nil {
		t.Fatal(err)
	}
	b.won(l.Update(t.Context(), done, b.looked(done)))
	if _, err := l.Accept(t.Context(), identity, "op@example.com", doubt); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("accepted twice: %v; want refused", err)
	}
}

// A crash in the middle of an acceptance: nothing is sent yet, and the next acceptance marks the rest.
func acceptGoesOn(t *testing.T, b *bench) {
	b.restorable()
	l := b.copied()
	seen := 0
	crash := func(op operation.Operation, by operation.Person, at operation.Time) (operation.Operation, bool) {
		if seen++; seen == 2 {
			op.Owner = "" // makes the second write fail
		}
		return doubt(op, by, at)
	}
	if marked, err := l.Accept(t.Context(), identity, "op@example.com", crash); err == nil || marked != 1 {
		t.Fatalf("marked %d, %v; want 1 and the crash", marked, err)
	}
	if _, err := l.Check(t.Context(), identity); !errors.Is(err, ledger.ErrRestored) {
		t.Fatalf("half accepted: %v; want restored", err)
	}
	if marked, err := l.Accept(t.Context(), identity, "op@example.com", doubt); err != nil || marked != 1 {
		t.Fatalf("then marked %d, %v; want the other 1", marked, err)
	}
	for _, id := range []operation.ID{"op_open", "op_flight"} {
		op, err := l.Operation(t.Context(), id)
		if n := len(op.Evidence); err != nil || op.Evidence[n-1].Kind != operation.EvidenceRestored || (n > 2 && op.Evidence[n-2].Kind == operation.EvidenceRestored) {
			t.Errorf("%s: %+v, %v; want it marked once", id, op.Evidence, err)
		}
	}
}

// A process from before the acceptance cannot write to what carries the new epoch.
func oldEpoch(t *testing.T, b *bench) {
	op := b.claimed("op_1", "at_1")
	o := b.options(b.client)
	o.Epoch = b.EpochNow() + 1
	op = b.won(ledger.New(o).Update(t.Context(), op, b.looked(op)))
	if res, err := b.Update(t.Context(), op, b.looked(op)); err != nil || res.Verdict != ledger.Lost {
		t.Errorf("got %v, %v; want lost", res.Verdict, err)
	}
	if res, err := b.RecordOutcome(t.Context(), op, "at_1", b.executed()); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("an outcome under the old epoch: %v, %v; want refused", res.Verdict, err)
	}
}

func replicated(t *testing.T, b *bench) {
	l := b.with(&wire{script: func(c string, _ int, _ []byte) fault {
		if c != "DescribeTable" {
			return fault{}
		}
		return fault{status: 200, body: `{"Table":{"TableId":"t-1","TableStatus":"ACTIVE","Replicas":[{"RegionName":"eu-west-1"}]}}`}
	}})
	if _, err := l.Check(t.Context(), identity); !errors.Is(err, ledger.ErrReplicated) {
		t.Errorf("got %v; want refused", err)
	}
}

// Many processes start on an empty table at once: one makes the stack item and all go on with it.
func firstStart(t *testing.T, b *bench) {
	name := b.table + "-new"
	MakeTable(b.t, b.client, name)
	o := b.options(b.client)
	o.Table = name
	together(20, func(int) {
		if s, err := ledger.New(o).Check(context.Background(), identity); err != nil || s.Epoch != 1 || s.Rev != 1 {
			t.Errorf("got %+v, %v", s, err)
		}
	})
}

// Another process makes the stack item after our first read and before our look at the table.
func firstStartOvertaken(t *testing.T, b *bench) {
	name := b.table + "-new"
	MakeTable(t, b.client, name)
	o := b.options(b.client)
	o.Table = name
	l := b.with(&wire{script: func(c string, _ int, _ []byte) fault {
		if c != "Scan" {
			return fault{}
		}
		return fault{before: func() {
			if _, err := ledger.New(o).Check(context.Background(), identity); err != nil {
				t.Error(err)
			}
		}}
	}})
	l.Table = name
	if s, err := l.Check(t.Context(), identity); err != nil || s.Epoch != 1 {
		t.Errorf("got %+v, %v; want the other's stack item", s, err)
	}
}

func stackItemDeleted(t *testing.T, b *bench) {
	b.created("op_1")
	if _, err := b.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: keyOf("stack", "stack")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.fresh().Check(t.Context(), identity); !errors.Is(err, ledger.ErrForeign) {
		t.Errorf("got %v; want refused", err)
	}
}

func uncheckedOnlyReads(t *testing.T, b *bench) {
	op, l := b.created("op_1"), b.fresh()
	if _, err := l.Operation(t.Context(), "op_1"); err != nil {
		t.Errorf("read: %v", err)
	}
	for name, write := range map[string]func() error{
		"update": func() error { _, err := l.Update(t.Context(), op, b.looked(op)); return err },
		"event": func() error {
			_, err := l.RecordEvent(t.Context(), b.came("ev_1", "d", "{}"), []byte("{}"))
			return err
		},
		"plan":    func() error { _, err := l.PutPlan(t.Context(), "run_1", []byte("{}")); return err },
		"token":   func() error { return l.PutToken(t.Context(), "run_1", 1, "t") },
		"link":    func() error { _, err := l.CreateLink(t.Context(), ledger.Link{ID: "l"}); return err },
		"guard":   func() error { _, err := l.Guard(t.Context(), "d", "ev_1", b.at(), 1); return err },
		"shape":   func() error { _, err := l.KeepShape(t.Context(), "f", "s", "x"); return err },
		"content": func() error { return l.PutContent(t.Context(), "op_1", op.Content, []byte(content)) },
		"together": func() error {
			_, err := l.TransactDecisions(t.Context(), []ledger.Change{{Seen: op, Next: b.looked(op)}})
			return err
		},
	} {
		if err := write(); !errors.Is(err, ledger.ErrUnchecked) {
			t.Errorf("%s: %v; want refused", name, err)
		}
	}
}

func otherStack(t *testing.T, b *bench) {
	if _, err := b.fresh().Check(t.Context(), ledger.Identity{Stack: "stack/two", Fingerprint: identity.Fingerprint}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("got %v; want refused until accepted", err)
	}
	it := b.raw("stack", "stack")
	it["doc"] = &types.AttributeValueMemberS{Value: `{"stack":"stack/one","shiny":true}`}
	b.tamper(it)
	if _, err := b.fresh().Check(t.Context(), identity); !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("a stack item of a later release: %v; want refused", err)
	}
}
