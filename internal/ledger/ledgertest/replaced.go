package ledgertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/ledger"
)

// A process that runs while its table is replaced by a restored copy under the same name: the copy has the epoch and the
// stack item of the lost one, only the table's own id differs. Half a minute later at the latest nothing is claimed,
// decided or taken in: the first call that would do it looks again and is refused, and nothing is written after it.
func replacedWhileRunning(t *testing.T, b *bench) {
	op := b.created("op_1")
	deciding := ledger.New(b.options(b.client)) // another process, whose first call is a decision
	if _, err := deciding.Check(t.Context(), identity); err != nil {
		t.Fatal(err)
	}
	out, err := b.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &b.table})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := b.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &b.table}); err != nil {
		t.Fatal(err)
	}
	gone := dynamodb.NewTableNotExistsWaiter(b.client, func(o *dynamodb.TableNotExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
	})
	if err := gone.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(b.table)}, time.Minute); err != nil {
		t.Fatal(err)
	}
	MakeTable(t, b.client, b.table)
	for _, it := range out.Items {
		if _, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.table, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	b.clock.Move(31 * time.Second)
	if _, err := b.Claim(t.Context(), op, b.claiming(op, "at_1")); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a claim on the copy: %v; want it refused as restored", err)
	}
	if _, err := deciding.Update(t.Context(), op, b.looked(op)); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a decision on the copy: %v; want it refused as restored", err)
	}
	if _, err := b.RecordEvent(t.Context(), b.came("ev_1", "d1", "{}"), []byte("{}")); !errors.Is(err, ledger.ErrUnchecked) {
		t.Errorf("intake on the copy: %v; want it refused", err)
	}
}
