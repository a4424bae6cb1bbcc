package dynamo

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Direct reaches the server with the SDK's inputs and outputs, but without its client: there is no middleware, no JSON,
// and no repeat. Whatever is behind it is the same: it answers, and refuses, as the SDK's client would for this server.
//
// It differs from a client in what only a client does. A member that a client requires before it sends is refused by
// the server instead; a transaction without a token gets none; options of a single call have nothing to act on; errors
// carry no HTTP response, and answers no metadata. The server must not be closed before the last call has ended.
type Direct struct{ server *Server }

// Direct returns the way to the server that has no wire. It keeps nothing; all are alike.
func (s *Server) Direct() *Direct { return &Direct{s} }

type ignored = func(*dynamodb.Options)

var errMadeUp = errors.New("around a call through Direct, Around must pass on what next answered, or answer with an error of the wire")

// do runs a request of which err says what was wrong with it already.
func do[A answer](ctx context.Context, d *Direct, in any, q *request, err error, run func(*Server, *request) (A, error)) (A, error) {
	var none A
	if ended := ctx.Err(); ended != nil {
		return none, failed(q.op, &aws.RequestCanceledError{Err: ended})
	}
	var out A
	if d.server.options.Around != nil {
		out, err = around(ctx, d, in, q, err, run)
	} else if err == nil {
		out, err = run(d.server, q)
	}
	switch {
	case err != nil:
		return none, failed(q.op, typedError(err))
	case ctx.Err() != nil: // the caller gave up before the answer came, as on a wire
		return none, failed(q.op, &aws.RequestCanceledError{Err: ctx.Err()})
	}
	return out, nil
}

// typedError is what went wrong as the SDK's error; a broken connection stays one.
func typedError(err error) error {
	var broken *smithyhttp.RequestSendError
	if errors.As(err, &broken) {
		return err
	}
	return asRefusal(err).typed()
}

// around runs a request inside Around.
func around[A answer](ctx context.Context, d *Direct, in any, q *request, wrong error, run func(*Server, *request) (A, error)) (A, error) {
	reply := d.server.options.Around(Call{Context: ctx, Op: q.op, Tables: q.tables(), Input: in}, func() Reply {
		if wrong != nil {
			return refusedDirectly(wrong)
		}
		out, err := run(d.server, q)
		if err != nil {
			return refusedDirectly(err)
		}
		return Reply{Status: http.StatusOK, result: out}
	})
	var none A
	switch {
	case reply.Err != nil:
		return none, &smithyhttp.RequestSendError{Err: reply.Err}
	case reply.Body != nil && reply.Status >= http.StatusBadRequest:
		return none, refusalOf(reply.Body)
	case reply.Body == nil && reply.refusal != nil:
		return none, reply.refusal
	}
	if out, ok := reply.result.(A); ok && reply.Body == nil && reply.Status == http.StatusOK {
		return out, nil
	}
	return none, errMadeUp
}

func refusedDirectly(err error) Reply {
	e := asRefusal(err)
	return Reply{Status: e.status, refusal: e}
}

// GetItem reads one item.
func (d *Direct) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...ignored) (*dynamodb.GetItemOutput, error) {
	q, err := typedGet(in)
	a, err := do(ctx, d, in, q, err, (*Server).getItem)
	if err != nil {
		return nil, err
	}
	it, err := typedRecord(a.record)
	return &dynamodb.GetItemOutput{Item: it, ConsumedCapacity: a.consumed.typed()}, failed(q.op, err)
}

// PutItem writes one item.
func (d *Direct) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...ignored) (*dynamodb.PutItemOutput, error) {
	q, err := typedPut(in)
	a, err := do(ctx, d, in, q, err, (*Server).writeItem)
	if err != nil {
		return nil, err
	}
	it, err := typedRecord(a.record)
	return &dynamodb.PutItemOutput{Attributes: it, ConsumedCapacity: a.consumed.typed()}, failed(q.op, err)
}

// UpdateItem changes one item.
func (d *Direct) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...ignored) (*dynamodb.UpdateItemOutput, error) {
	q, err := typedUpdate(in)
	a, err := do(ctx, d, in, q, err, (*Server).writeItem)
	if err != nil {
		return nil, err
	}
	it, err := typedRecord(a.record)
	return &dynamodb.UpdateItemOutput{Attributes: it, ConsumedCapacity: a.consumed.typed()}, failed(q.op, err)
}

// DeleteItem removes one item.
func (d *Direct) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...ignored) (*dynamodb.DeleteItemOutput, error) {
	q, err := typedDelete(in)
	a, err := do(ctx, d, in, q, err, (*Server).writeItem)
	if err != nil {
		return nil, err
	}
	it, err := typedRecord(a.record)
	return &dynamodb.DeleteItemOutput{Attributes: it, ConsumedCapacity: a.consumed.typed()}, failed(q.op, err)
}

// Query reads one page of a partition.
func (d *Direct) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...ignored) (*dynamodb.QueryOutput, error) {
	q, err := typedQuery(in)
	a, err := do(ctx, d, in, q, err, (*Server).query)
	if err != nil {
		return nil, err
	}
	items, err := a.typedItems()
	return &dynamodb.QueryOutput{Items: items, Count: int32(a.count), ScannedCount: int32(a.scanned),
		LastEvaluatedKey: Attributes(a.last), ConsumedCapacity: a.consumed.typed()}, failed(q.op, err)
}

// Scan reads one page of a table.
func (d *Direct) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...ignored) (*dynamodb.ScanOutput, error) {
	q, err := typedScan(in)
	a, err := do(ctx, d, in, q, err, (*Server).scan)
	if err != nil {
		return nil, err
	}
	items, err := a.typedItems()
	return &dynamodb.ScanOutput{Items: items, Count: int32(a.count), ScannedCount: int32(a.scanned),
		LastEvaluatedKey: Attributes(a.last), ConsumedCapacity: a.consumed.typed()}, failed(q.op, err)
}

func (a *pageAnswer) typedItems() ([]map[string]types.AttributeValue, error) {
	if a.countOnly {
		return nil, nil
	}
	return typedRecords(a.items)
}

// TransactWriteItems makes several writes, all or none.
func (d *Direct) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...ignored) (*dynamodb.TransactWriteItemsOutput, error) {
	q, err := typedTransactWrite(in)
	a, err := do(ctx, d, in, q, err, (*Server).transactWrite)
	if err != nil {
		return nil, err
	}
	return &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: typedConsumed(a.consumed)}, nil
}

// TransactGetItems reads several items of one moment.
func (d *Direct) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, _ ...ignored) (*dynamodb.TransactGetItemsOutput, error) {
	q, err := typedTransactGet(in)
	a, err := do(ctx, d, in, q, err, (*Server).transactGet)
	if err != nil {
		return nil, err
	}
	items, err := typedRecords(a.records)
	out := &dynamodb.TransactGetItemsOutput{ConsumedCapacity: typedConsumed(a.consumed), Responses: make([]types.ItemResponse, len(items))}
	for i := range items {
		out.Responses[i].Item = items[i]
	}
	return out, failed(q.op, err)
}

// BatchGetItem reads several items.
func (d *Direct) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...ignored) (*dynamodb.BatchGetItemOutput, error) {
	q, err := typedBatchGet(in)
	a, err := do(ctx, d, in, q, err, (*Server).batchGet)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.BatchGetItemOutput{ConsumedCapacity: typedConsumed(a.consumed),
		Responses: map[string][]map[string]types.AttributeValue{}, UnprocessedKeys: map[string]types.KeysAndAttributes{}}
	for _, one := range a.tables {
		if out.Responses[one.q.table], err = typedRecords(one.found); err != nil {
			return nil, failed(q.op, err)
		}
		if len(one.left) > 0 {
			out.UnprocessedKeys[one.q.table] = one.typedLeft(in.RequestItems[one.q.table])
		}
	}
	return out, nil
}

// typedLeft asks again for the keys that did not fit.
func (one *batchTable) typedLeft(asked types.KeysAndAttributes) types.KeysAndAttributes {
	asked.Keys = nil
	for _, k := range one.left {
		asked.Keys = append(asked.Keys, Attributes(k.key))
	}
	return asked
}

// BatchWriteItem makes several puts and deletes.
func (d *Direct) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...ignored) (*dynamodb.BatchWriteItemOutput, error) {
	q, err := typedBatchWrite(in)
	a, err := do(ctx, d, in, q, err, (*Server).batchWrite)
	if err != nil {
		return nil, err
	}
	return &dynamodb.BatchWriteItemOutput{ConsumedCapacity: typedConsumed(a.consumed), UnprocessedItems: map[string][]types.WriteRequest{}}, nil
}
