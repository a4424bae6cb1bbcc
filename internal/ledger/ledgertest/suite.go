// Package ledgertest is the one suite that every DynamoDB endpoint must pass under the ledger: the embedded server,
// and any other one.
//
// It uses the real client and the real ledger; what it adds is a wire that loses answers and rivals that race. It
// never asserts a duration.
package ledgertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// Run runs the whole suite; each test makes its own table.
func Run(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	s := &suite{client: client}
	for _, c := range s.cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, s.bench(t))
		})
	}
}

type suite struct {
	client *dynamodb.Client
	tables atomic.Int64
}

type testCase struct {
	name string
	run  func(*testing.T, *bench)
}

// bench is one table with a ledger on it, on a clock of its own.
type bench struct {
	t      testing.TB
	suite  *suite
	table  string
	clock  *clock.Movable
	writes atomic.Int64
	*ledger.Ledger
}

var identity = ledger.Identity{Stack: "stack/one", Fingerprint: "fp-1"}

func (s *suite) bench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, suite: s, table: fmt.Sprintf("ledger-%d", s.tables.Add(1)), clock: clock.New()}
	ctx := context.Background()
	if _, err := s.client.CreateTable(ctx, ledger.TableInput(b.table)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = s.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(b.table)})
	})
	waiter := dynamodb.NewTableExistsWaiter(s.client)
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(b.table)}, time.Minute); err != nil {
		t.Fatal(err)
	}
	b.Ledger = ledger.New(b.options(s.client))
	if _, err := b.Check(ctx, identity); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) options(client *dynamodb.Client) ledger.Options {
	return ledger.Options{Client: client, Table: b.table, Clock: b.clock, Fold: Fold,
		WriteID: func() string { return fmt.Sprintf("w-%s-%d", b.table, b.writes.Add(1)) }}
}

// with is another process's ledger on the same table, behind a wire.
func (b *bench) with(w *wire) *ledger.Ledger {
	client := dynamodb.New(b.suite.client.Options(), ledger.Bounded, func(o *dynamodb.Options) {
		w.next = o.HTTPClient
		o.HTTPClient = w
	})
	o := b.options(client)
	o.Epoch = b.EpochNow()
	return ledger.New(o)
}

func (b *bench) at() operation.Time { return operation.TimeOf(b.clock.Now()) }

const content = "POST /tasks\n\n{\"subject\":\"call\"}"

// proposed is an operation that was never claimed.
func (b *bench) proposed(id operation.ID) operation.Operation {
	now := b.at()
	return operation.Operation{ID: id, Flow: "campaign-follow-up", Stage: "crm_task", Target: "hubspot-task", Profile: 1,
		Owner: "ops-lead@example.com", Created: now, Runs: []operation.RunID{"run_1"},
		Content:  operation.Content{Version: 1, Digest: ledger.DigestOf([]byte(content))},
		Evidence: []operation.Evidence{{Kind: operation.EvidencePlanned, At: now}},
		Step:     operation.Step{Action: operation.ActionSend, Due: now, Owner: "ops-lead@example.com"}}
}

// created is a proposed operation in the ledger.
func (b *bench) created(id operation.ID) operation.Operation {
	b.t.Helper()
	res, err := b.CreateOperation(context.Background(), b.proposed(id), []byte(content))
	if err != nil || res.Verdict != ledger.Created {
		b.t.Fatalf("create %s: %v, %v", id, res.Verdict, err)
	}
	return res.Current
}

// claiming is op with one more attempt.
func (b *bench) claiming(op operation.Operation, attempt operation.AttemptID) operation.Operation {
	now := b.at()
	op.Attempts = append(op.Attempts[:len(op.Attempts):len(op.Attempts)], operation.Attempt{ID: attempt, Claimed: now, LeaseUntil: now.Add(time.Minute), Version: 1})
	op.Status = operation.StatusInFlight
	return cite(op, operation.EvidenceClaimed, now, attempt)
}

func (b *bench) claimed(id operation.ID, attempt operation.AttemptID) operation.Operation {
	b.t.Helper()
	op := b.created(id)
	return b.won(b.Claim(context.Background(), op, b.claiming(op, attempt)))
}

func (b *bench) won(res ledger.Result[operation.Operation], err error) operation.Operation {
	b.t.Helper()
	if err != nil || res.Verdict != ledger.Written {
		b.t.Fatalf("got %v, %v; want written", res.Verdict, err)
	}
	return res.Current
}

func cite(op operation.Operation, kind operation.EvidenceKind, at operation.Time, attempt operation.AttemptID) operation.Operation {
	op.Evidence = append(op.Evidence[:len(op.Evidence):len(op.Evidence)], operation.Evidence{Kind: kind, At: at, Attempt: attempt})
	return op
}

// looked is op with one more lookup noted: a change that proves nothing.
func (b *bench) looked(op operation.Operation) operation.Operation {
	op.Look.At, op.Look.Count = b.at(), op.Look.Count+1
	return cite(op, operation.EvidenceLookupAbsent, b.at(), "")
}
