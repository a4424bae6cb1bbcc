package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"holdfast/internal/ledger"
)

// How long things take at ordinary and at bad times.
const (
	callTime   = 3 * time.Millisecond
	slowCall   = 2 * time.Second
	frozenTime = 4 * time.Minute  // past every lease
	frozenLong = 50 * time.Minute // past the acceptance of a restored table
)

// store is the way to the ledger's table for one process. Every call is a point at which the adversary may act.
type store struct {
	w    *world
	next ledger.API
}

var (
	errGone      = &smithy.GenericAPIError{Code: "InternalServerError", Message: "the table is being restored"}
	errCut       = errors.New("the connection was reset")
	errThrottled = &smithy.GenericAPIError{Code: "ThrottlingException", Message: "Rate exceeded"}
)

// through makes one call, or what the adversary makes of it.
func through[I, O any](s *store, name string, in *I, do func(context.Context, *I, ...func(*dynamodb.Options)) (*O, error)) (*O, error) {
	w := s.w
	w.tick(callTime)
	if w.now.Before(w.goneUntil) {
		return nil, errGone
	}
	switch w.choose(kindStore, name) {
	case storeYield:
		w.yield()
	case storeLate:
		w.sleep(slowCall)
	case storeFreeze:
		w.freeze()
	case storeFailed:
		return nil, errCut
	case storeThrottled:
		return nil, errThrottled
	case storeLost:
		_, _ = do(context.Background(), in)
		w.lost++
		return nil, errCut
	case storeRepeated:
		_, _ = do(context.Background(), in)
		w.lost++
		w.yield()
	case storeCrashBefore:
		w.crash()
	case storeCrashAfter:
		_, _ = do(context.Background(), in)
		w.crash()
	case storeForget:
		return forgetful(do(context.Background(), in))
	}
	out, err := do(context.Background(), in)
	if err != nil {
		w.refused(err)
	}
	return out, err
}

// refused counts the writes that a rival was before.
func (w *world) refused(err error) {
	var condition *types.ConditionalCheckFailedException
	var transaction *types.TransactionCanceledException
	if errors.As(err, &condition) || errors.As(err, &transaction) {
		w.reach("R1")
	}
}

// forgetful takes one entry out of an index query's answer, as an index that lags does.
func forgetful[O any](out *O, err error) (*O, error) {
	if q, ok := any(out).(*dynamodb.QueryOutput); ok && err == nil && len(q.Items) > 0 {
		if _, indexed := q.Items[0]["due"]; indexed {
			q.Items = slices.Delete(q.Items, 0, 1)
		}
	}
	return out, err
}

// DescribeTable implements ledger.API. The table's id is the world's: a restore makes another table.
func (s *store) DescribeTable(_ context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return through(s, "DescribeTable", in, func(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
		id := s.w.tableID
		return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableName: in.TableName, TableId: &id, TableStatus: types.TableStatusActive}}, nil
	})
}

// GetItem implements ledger.API.
func (s *store) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return through(s, "GetItem", in, s.next.GetItem)
}

// PutItem implements ledger.API.
func (s *store) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return through(s, "PutItem", in, s.next.PutItem)
}

// UpdateItem implements ledger.API.
func (s *store) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return through(s, "UpdateItem", in, s.next.UpdateItem)
}

// Query implements ledger.API.
func (s *store) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return through(s, "Query", in, s.next.Query)
}

// Scan implements ledger.API.
func (s *store) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return through(s, "Scan", in, s.next.Scan)
}

// TransactWriteItems implements ledger.API.
func (s *store) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return through(s, "TransactWriteItems", in, s.next.TransactWriteItems)
}
