// Package ledgertest is the one suite that every DynamoDB endpoint must pass under the ledger: the embedded server,
// and any other one.
//
// It uses the real ledger, and the real client or whatever else an endpoint is reached by; what it adds is a wire that loses answers and rivals that race. It
// never asserts a duration.
package ledgertest

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"slices"
	"strings"
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
func Run(t *testing.T, client API) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(cases())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			One(t, client, name)
		})
	}
}

// One runs one test of the suite by its name.
func One(t *testing.T, client API, name string) {
	t.Helper()
	run := cases()[name]
	if run == nil {
		t.Fatalf("the suite has no test %q", name)
	}
	run(t, newBench(t, client))
}

// Names lists the suite's tests.
func Names() []string { return slices.Sorted(maps.Keys(cases())) }

func cases() map[string]func(*testing.T, *bench) {
	all := map[string]func(*testing.T, *bench){}
	for _, some := range []map[string]func(*testing.T, *bench){claimCases(), outcomeCases(), transactCases(), eventCases(), contentCases(), dueCases(), stackCases(), runCases(), refusalCases()} {
		maps.Copy(all, some)
	}
	return all
}

// bench is one table with a ledger on it, on a clock of its own.
type bench struct {
	t      testing.TB
	client API
	table  string
	clock  *clock.Movable
	writes atomic.Int64
	*ledger.Ledger
}

var identity = ledger.Identity{Stack: "stack/one", Fingerprint: "fp-1"}

func newBench(t testing.TB, client API) *bench {
	t.Helper()
	b := &bench{t: t, client: client, table: fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid()), clock: clock.New()}
	MakeTable(t, client, b.table)
	b.Ledger = ledger.New(b.options(client))
	if _, err := b.Check(context.Background(), identity); err != nil {
		t.Fatal(err)
	}
	return b
}

// MakeTable makes the ledger's table for one test and removes it afterwards.
func MakeTable(tb testing.TB, client API, name string) {
	tb.Helper()
	ctx := context.Background()
	if _, err := client.CreateTable(ctx, ledger.TableInput(name)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_, _ = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(name)})
	})
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second // the SDK's own first delay is 20 s
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, time.Minute); err != nil {
		tb.Fatal(err)
	}
}

func (b *bench) options(client ledger.API) ledger.Options {
	return ledger.Options{Client: client, Table: b.table, Clock: b.clock, Fold: Fold,
		WriteID: func() string { return fmt.Sprintf("w-%08x-%d", crc32.ChecksumIEEE([]byte(b.table)), b.writes.Add(1)) }} // tokens are the account's, not the table's
}

// with is another process's ledger on the same table, behind a wire.
func (b *bench) with(w *wire) *ledger.Ledger {
	o := b.options(w.behind(b.client))
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
