package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Bounded keeps the SDK's own repeats, which write ids make safe, within a few tries and a short wait.
func Bounded(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.MaxAttempts, s.MaxBackoff = 4, time.Second
	})
}

// refusal is a write whose condition did not hold, with the item that stood in its way (nil when there is none).
type refusal struct{ item item }

func (*refusal) Error() string { return "the condition of the write did not hold" }

// get reads one item consistently; nil when there is none.
func (l *Ledger) get(ctx context.Context, k key) (item, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := l.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.Table, Key: k.attributes(),
		ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: l.capacity()})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k, meaning(err))
	}
	l.count("GetItem", out.ConsumedCapacity)
	return out.Item, nil
}

// put writes one item under a condition; values are those that the condition names.
func (l *Ledger) put(ctx context.Context, it item, condition string, names map[string]string, values item) error {
	in := &dynamodb.PutItemInput{TableName: &l.Table, Item: it, ExpressionAttributeNames: names, ReturnConsumedCapacity: l.capacity(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if condition != always {
		in.ConditionExpression = &condition
	}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	return l.mutate(ctx, "PutItem", key{textOf(it, "pk"), textOf(it, "sk")}, func(ctx context.Context) (*types.ConsumedCapacity, error) {
		out, err := l.Client.PutItem(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	})
}

// change updates single attributes of one item under a condition.
func (l *Ledger) change(ctx context.Context, k key, update, condition string, names map[string]string, values item) error {
	in := &dynamodb.UpdateItemInput{TableName: &l.Table, Key: k.attributes(), UpdateExpression: &update,
		ConditionExpression: &condition, ExpressionAttributeNames: names, ReturnConsumedCapacity: l.capacity(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	return l.mutate(ctx, "UpdateItem", k, func(ctx context.Context) (*types.ConsumedCapacity, error) {
		out, err := l.Client.UpdateItem(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	})
}

// mutate makes one write. A write that met somebody's transaction is made again; a condition that did not hold
// becomes a refusal with the item in the way, read consistently where the answer did not carry it.
func (l *Ledger) mutate(ctx context.Context, call string, k key, do func(context.Context) (*types.ConsumedCapacity, error)) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for try := 1; ; try++ {
		used, err := do(ctx)
		if err == nil {
			l.count(call, used)
			return nil
		}
		var failed *types.ConditionalCheckFailedException
		if errors.As(err, &failed) {
			return l.refused(ctx, k, failed.Item)
		}
		var met *types.TransactionConflictException
		if !errors.As(err, &met) || try == conflictTriesMax {
			return fmt.Errorf("write %s: %w", k, meaning(err))
		}
		if err := l.pause(ctx, try); err != nil {
			return fmt.Errorf("write %s: %w", k, meaning(err))
		}
	}
}

func (l *Ledger) refused(ctx context.Context, k key, old item) error {
	if len(old) > 0 {
		return &refusal{item: old}
	}
	it, err := l.get(ctx, k)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrUnclear, err)
	}
	return &refusal{item: it}
}

// pause waits a little longer with each try.
func (l *Ledger) pause(ctx context.Context, try int) error {
	d := min(pauseFirst<<(try-1), pauseMost)
	return l.Clock.SleepUntil(ctx, l.Clock.Now().Add(d))
}

// meaning sorts the SDK's errors: what was surely not applied keeps its error, throttling is named, and all else
// is unclear.
func meaning(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fmt.Errorf("%w: %w", ErrUnclear, err)
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "ThrottlingError":
		return fmt.Errorf("%w: %w", ErrThrottled, err)
	case "ValidationException", "ResourceNotFoundException", "AccessDeniedException", "SerializationException", "ItemCollectionSizeLimitExceededException":
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", ErrUnclear, err)
}

func (l *Ledger) capacity() types.ReturnConsumedCapacity {
	if l.OnCall == nil {
		return types.ReturnConsumedCapacityNone
	}
	return types.ReturnConsumedCapacityTotal
}

func (l *Ledger) count(call string, used *types.ConsumedCapacity) {
	if l.OnCall == nil {
		return
	}
	units := 0.0
	if used != nil {
		units = aws.ToFloat64(used.CapacityUnits)
	}
	l.OnCall(call, units)
}
