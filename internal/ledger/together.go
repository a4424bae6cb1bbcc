package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/operation"
)

// CreateRunWith writes a new run together with the operation that is made for it, or neither: an operation whose run a
// crash left out would wait on nobody (R7). Created, or Exists with the run that was there. It is safe to repeat; after
// ErrUnclear read the run again.
func (l *Ledger) CreateRunWith(ctx context.Context, run operation.Run, op operation.Operation, content []byte) (Result[operation.Run], error) {
	if err := l.recheck(ctx); err != nil {
		return Result[operation.Run]{}, wrap("create", string(run.ID), err)
	}
	if err := l.PutContent(ctx, op.ID, op.Content, content); err != nil {
		return Result[operation.Run]{}, err
	}
	runRecord, err := newRecord(l, runs(), run)
	if err != nil {
		return Result[operation.Run]{}, err
	}
	opRecord, err := newRecord(l, l.operations(), op)
	if err != nil {
		return Result[operation.Run]{}, err
	}
	res, err := l.createBoth(ctx, runRecord, opRecord)
	return res, wrap("create", string(run.ID), err)
}

// createBoth decides by the run: it is written with the operation or not at all.
func (l *Ledger) createBoth(ctx context.Context, run, op record) (Result[operation.Run], error) {
	token, condition := run.writeID(), absent
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, ReturnConsumedCapacity: l.capacity()}
	for _, r := range []record{run, op} {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &l.Table, Item: r.item(), ConditionExpression: &condition}})
	}
	switch err := l.sendTransaction(ctx, in); {
	case err == nil:
		v, err := valueOf(runs(), run)
		return Result[operation.Run]{Created, v}, err
	case nothingWritten(err):
		return Result[operation.Run]{}, err
	default:
		return l.madeBoth(ctx, run, err)
	}
}

// madeBoth looks whether the run stands, and whose it is.
func (l *Ledger) madeBoth(ctx context.Context, run record, cause error) (Result[operation.Run], error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTimeout)
	defer cancel()
	v, there, err := load(ctx, l, runs(), run.key)
	switch {
	case errors.Is(err, ErrNotFound):
		return Result[operation.Run]{}, fmt.Errorf("%w: %w", ErrUnclear, cause)
	case err != nil:
		return Result[operation.Run]{}, fmt.Errorf("%w: %w (read back: %w)", ErrUnclear, cause, err)
	case there.wrote(run.writeID()):
		return Result[operation.Run]{Created, v}, nil
	}
	return Result[operation.Run]{Exists, v}, nil
}
