package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"holdfast/internal/operation"
)

// DecisionsMax is how many operations one reading may decide; DynamoDB's own bound is 100 items.
const DecisionsMax = 50

// transactTries bounds the repeats of one transaction under its one token.
const transactTries = 8

// transactDeadline bounds the same repeats in time; what is unclear then is read back.
const transactDeadline = 5 * time.Second

// Change is one operation's next state over the state that was read.
type Change struct{ Seen, Next operation.Operation }

// Decisions is how a transaction ended: Written for all of them, or Lost with all operations as they now stand.
type Decisions struct {
	Verdict Verdict
	Current []operation.Operation // in the order of the changes
}

// TransactDecisions writes several operations' decisions together or none of them. Repeats use one token; what stays
// unclear is read back by write id, and ErrUnclear says that even that showed neither.
func (l *Ledger) TransactDecisions(ctx context.Context, changes []Change) (Decisions, error) {
	if err := l.recheck(ctx); err != nil {
		return Decisions{}, fmt.Errorf("decide together: %w", err)
	}
	records, err := l.planned(changes)
	if err != nil {
		return Decisions{}, fmt.Errorf("decide together: %w", err)
	}
	out, err := l.transact(ctx, changes, records)
	if err != nil {
		return out, fmt.Errorf("decide together: %w", err)
	}
	for i := range out.Current {
		l.settled(ctx, &changes[i].Seen, Result[operation.Operation]{out.Verdict, out.Current[i]})
	}
	return out, nil
}

func (l *Ledger) planned(changes []Change) ([]record, error) {
	if len(changes) == 0 || len(changes) > DecisionsMax {
		return nil, fmt.Errorf("%w: %d decisions, allowed are 1 to %d", ErrRefused, len(changes), DecisionsMax)
	}
	n := l.operations()
	var records []record
	for i := range changes {
		c := &changes[i]
		if c.Seen.Status.Settled() && !c.Next.Status.Settled() {
			return nil, fmt.Errorf("%w: %s is %s; it is opened again on its own", ErrRefused, c.Seen.ID, c.Seen.Status)
		}
		if err := n.refuse(&c.Seen, &c.Next); err != nil {
			return nil, err
		}
		r, err := nextRecord(l, n, c.Seen, c.Next)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

func (l *Ledger) transaction(changes []Change, records []record) *dynamodb.TransactWriteItemsInput {
	token := records[0].writeID()
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, ReturnConsumedCapacity: l.capacity()}
	for i := range records {
		condition := conditionFor(&changes[i].Next)
		expression, names, values := records[i].update()
		pin(condition, changes[i].Seen.Rev, values)
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{TableName: &l.Table,
			Key: records[i].key.attributes(), UpdateExpression: &expression, ConditionExpression: &condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}})
	}
	return in
}

// transact sends the decisions as one request, and reads back what its answer leaves open.
func (l *Ledger) transact(ctx context.Context, changes []Change, records []record) (Decisions, error) {
	switch err := l.sendTransaction(ctx, l.transaction(changes, records)); {
	case err == nil:
		return l.all(Written, records)
	case nothingWritten(err):
		return Decisions{}, err
	default:
		return l.readBackAll(ctx, records, err)
	}
}

// sendTransaction sends one request again under its own token while it can still be answered. Nil: it is written. Of an
// error nothingWritten says whether anything can be; if so, only the records themselves tell.
func (l *Ledger) sendTransaction(ctx context.Context, in *dynamodb.TransactWriteItemsInput) error {
	ctx, cancel := context.WithTimeout(ctx, transactDeadline)
	defer cancel()
	for try := 1; ; try++ {
		out, err := l.Client.TransactWriteItems(ctx, in)
		if err == nil {
			for i := range out.ConsumedCapacity {
				l.count("TransactWriteItems", &out.ConsumedCapacity[i])
			}
			return nil
		}
		switch transactMeaning(err) {
		case transactThrottled:
			return fmt.Errorf("%w: %w", ErrThrottled, err)
		case transactRefused:
			return fmt.Errorf("%w: %w", ErrRefused, err)
		case transactAgain:
			if try < transactTries && l.pause(ctx, try) == nil {
				continue
			}
		}
		return err
	}
}

// nothingWritten says that a transaction that ended with err was not applied and will not be.
func nothingWritten(err error) bool {
	return errors.Is(err, ErrThrottled) || errors.Is(err, ErrRefused)
}

type transactEnd uint8

const (
	transactUnclear   transactEnd = iota // may have been applied, or may still be
	transactAgain                        // not settled yet: the same request once more
	transactLost                         // a condition did not hold
	transactThrottled                    // cancelled for lack of capacity: later, by the caller
	transactRefused                      // can never succeed
)

// transactMeaning sorts an answer. Of several reasons the one that forbids most decides: a validation error is for
// good, a throttle is no reason to try at once, and only a conflict without either is tried again in place.
func transactMeaning(err error) transactEnd {
	var cancelled *types.TransactionCanceledException
	var running *types.TransactionInProgressException
	var api smithy.APIError
	switch {
	case errors.As(err, &cancelled):
		return cancelledMeaning(cancelled.CancellationReasons)
	case errors.As(err, &running):
		return transactAgain
	case errors.As(err, &api) && (api.ErrorCode() == "ValidationException" || api.ErrorCode() == "ResourceNotFoundException" || api.ErrorCode() == "AccessDeniedException"):
		return transactRefused
	}
	return transactUnclear // also IdempotentParameterMismatchException: the token stands for something already
}

func cancelledMeaning(reasons []types.CancellationReason) transactEnd {
	seen := map[string]bool{}
	for _, r := range reasons {
		if r.Code != nil {
			seen[*r.Code] = true
		}
	}
	switch {
	case seen["ValidationError"] || seen["ItemCollectionSizeLimitExceeded"]:
		return transactRefused
	case seen["ProvisionedThroughputExceeded"] || seen["ThrottlingError"]:
		return transactThrottled
	case seen["TransactionConflict"]:
		return transactAgain
	case seen["ConditionalCheckFailed"]:
		return transactLost
	}
	return transactUnclear
}

func (l *Ledger) all(v Verdict, records []record) (Decisions, error) {
	out := Decisions{Verdict: v}
	for _, r := range records {
		op, err := valueOf(l.operations(), r)
		if err != nil {
			return Decisions{}, err
		}
		out.Current = append(out.Current, op)
	}
	return out, nil
}

// readBackAll decides by what stands: one of our write ids proves that all were written; a record that moved on
// without us proves that none was and none will be; anything else stays unclear.
func (l *Ledger) readBackAll(ctx context.Context, records []record, cause error) (Decisions, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackTimeout)
	defer cancel()
	won, moved, current, err := l.standing(ctx, records)
	if err == nil && won { // what was read before the commit became visible is read again
		_, _, current, err = l.standing(ctx, records)
	}
	switch {
	case err != nil:
		return Decisions{}, fmt.Errorf("%w: %w (read back: %w)", ErrUnclear, cause, err)
	case won:
		return Decisions{Written, current}, nil
	case moved:
		return Decisions{Lost, current}, nil
	}
	return Decisions{}, fmt.Errorf("%w: %w", ErrUnclear, cause)
}

func (l *Ledger) standing(ctx context.Context, records []record) (won, moved bool, current []operation.Operation, err error) {
	for i := range records {
		op, there, err := load(ctx, l, l.operations(), records[i].key)
		if err != nil {
			return false, false, nil, err
		}
		won = won || there.wrote(records[i].writeID())
		moved = moved || there.rev >= records[i].rev || there.epoch > records[i].epoch
		current = append(current, op)
	}
	return won, moved, current, nil
}
