package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/operation"
)

// RecordOutcome writes what the owner of an attempt saw. The fact is in the owner's own encoding and goes through
// Options.Fold. It starts from seen and, while others write beside it, again from what they left; when that does not
// end, or the operation has no room left, the fact goes into the operation's inbox, which nobody can push it out of.
//
// Verdicts: Written; Inboxed (the sweep or the next writer folds it); Already (this attempt's outcome stands
// already, perhaps by an earlier try of ours). Never Lost. After an error call it again: nothing is recorded twice.
func (l *Ledger) RecordOutcome(ctx context.Context, seen operation.Operation, attempt operation.AttemptID, fact []byte) (Result[operation.Operation], error) {
	if len(fact) > FactBytesMax {
		return Result[operation.Operation]{}, fmt.Errorf("record %s: %w: fact of %d bytes of at most %d", attempt, ErrTooLarge, len(fact), FactBytesMax)
	}
	for range rebasesMax {
		if recorded, err := recordedIn(&seen, attempt); err != nil || recorded {
			return Result[operation.Operation]{Already, seen}, err
		}
		next, err := l.Fold(seen, attempt, fact)
		if err != nil {
			return Result[operation.Operation]{}, fmt.Errorf("record %s: %w", attempt, err)
		}
		res, err := l.update(ctx, seen, next) // what was seen is written down wherever its attempt is known
		switch {
		case errors.Is(err, ErrTooLarge):
			return l.toInbox(ctx, seen.ID, attempt, fact)
		case err != nil:
			return res, err
		case res.Verdict == Written:
			return res, nil
		}
		seen = res.Current
	}
	return l.toInbox(ctx, seen.ID, attempt, fact)
}

func recordedIn(op *operation.Operation, attempt operation.AttemptID) (bool, error) {
	i := slices.IndexFunc(op.Attempts, func(a operation.Attempt) bool { return a.ID == attempt })
	if i < 0 {
		return false, fmt.Errorf("%w: operation %s has no attempt %s", ErrRefused, op.ID, attempt)
	}
	return op.Attempts[i].Recorded != 0, nil
}

// toInbox appends under a condition that names no revision. The entry makes the operation due at once, and its own
// presence recognises it after a lost answer.
func (l *Ledger) toInbox(ctx context.Context, id operation.ID, attempt operation.AttemptID, fact []byte) (Result[operation.Operation], error) {
	if l.EpochNow() == 0 {
		return Result[operation.Operation]{}, ErrUnchecked
	}
	k := operationKey(id)
	err := l.change(ctx, k,
		"SET inbox.#attempt = :fact, rev = rev + :one, epoch = :epoch, due_shard = :shard, due = :now", inboxFree,
		map[string]string{"#attempt": string(attempt)},
		item{":fact": blob(fact), ":one": num(1), ":epoch": num(l.EpochNow()), ":shard": str(shardOf(k.pk)), ":now": str(l.now().String())})
	var refused *refusal
	verdict := Inboxed
	if errors.As(err, &refused) {
		if refused.item == nil {
			return Result[operation.Operation]{}, fmt.Errorf("record %s: %s: %w", attempt, id, ErrNotFound)
		}
		if !inInbox(refused.item, attempt) {
			return Result[operation.Operation]{}, fmt.Errorf("record %s: %w: written for a later epoch than %d", attempt, ErrRefused, l.EpochNow())
		}
		verdict, err = Already, nil
	}
	if err != nil {
		return Result[operation.Operation]{}, fmt.Errorf("record %s: %w", attempt, err)
	}
	op, err := l.Operation(ctx, id)
	return Result[operation.Operation]{verdict, op}, err
}

func inInbox(it item, attempt operation.AttemptID) bool {
	m, ok := it["inbox"].(*types.AttributeValueMemberM)
	return ok && m.Value[string(attempt)] != nil
}

// foldInbox applies what attempts left in the inbox, in the order of their ids so that every reader sees the same.
func (l *Ledger) foldInbox(op operation.Operation, inbox map[string][]byte) (operation.Operation, error) {
	for _, id := range slices.Sorted(maps.Keys(inbox)) {
		attempt := operation.AttemptID(id)
		if recorded, err := recordedIn(&op, attempt); err != nil {
			return op, err
		} else if recorded {
			continue
		}
		next, err := l.Fold(op, attempt, inbox[id])
		if err != nil {
			return op, err
		}
		op = next
	}
	return op, nil
}
