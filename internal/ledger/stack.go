package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/operation"
)

// Refusals of Check. Each says what a person has to do.
var (
	ErrWrongKey   = errors.New("the identity key is not the one this ledger was made with: restore the original key; nothing is taken in or sent under another one")
	ErrRestored   = errors.New("this table is a copy, a restore or another stack's: nothing is sent until a person accepts it, which makes everything open unknown")
	ErrReplicated = errors.New("this table is replicated with last writer wins, where two regions can both win a claim: use a table in one region")
	ErrForeign    = errors.New("this table holds records and no stack item: it was not made by this release, or its stack item was deleted")
)

// Identity is what a starting process knows about itself.
type Identity struct {
	Stack       string // the stack's own id
	Fingerprint string // of the identity key, never the key
}

// Stack is the item that says whose table this is.
type Stack struct {
	Stack       string           `json:"stack"`
	Table       string           `json:"table"` // the table's own id, which a copy does not share
	Fingerprint string           `json:"fingerprint"`
	Epoch       int64            `json:"epoch"`
	Schema      int              `json:"schema"`
	Created     operation.Time   `json:"created"`
	Accepting   bool             `json:"accepting,omitempty"` // an acceptance has begun and not every open operation is marked
	AcceptedBy  operation.Person `json:"accepted_by,omitempty"`
	Accepted    operation.Time   `json:"accepted,omitempty"` // what happened before it in the lost part is unknown
	Rev         int64            `json:"rev"`
}

// Check finds out whether the table is this stack's own and lets the ledger write when it is. A table without any
// item is made ours. Errors: ErrWrongKey, ErrRestored, ErrReplicated, ErrForeign, and malfunctions; after each of
// them the ledger only reads.
func (l *Ledger) Check(ctx context.Context, id Identity) (Stack, error) {
	l.epoch.Store(0)
	table, err := l.tableID(ctx)
	if err != nil {
		return Stack{}, err
	}
	stack, err := l.Stack(ctx)
	if errors.Is(err, ErrNotFound) {
		stack, err = l.firstStart(ctx, id, table)
	}
	if err != nil {
		return stack, fmt.Errorf("check the ledger: %w", err)
	}
	if err := stack.refuse(id, table); err != nil {
		return stack, fmt.Errorf("check the ledger: %w", err)
	}
	l.epoch.Store(stack.Epoch)
	l.trust(table)
	return stack, nil
}

// recheckEvery bounds how long a process goes on without noticing that its table was replaced under the same name.
const recheckEvery = 30 * time.Second

// trust notes which table was found to be ours, and when.
func (l *Ledger) trust(table string) { l.trusted.Store(&trusted{table, l.now()}) }

type trusted struct {
	table string
	at    operation.Time
}

// recheck asks for the table's id again before something is claimed, decided or taken in, when the last look is too old.
// Another table under our name stops every write until it is accepted.
//
//	check ─── table deleted, a restored copy under its name ─── claim? ✗ the copy does not know what was sent
func (l *Ledger) recheck(ctx context.Context) error {
	seen := l.trusted.Load()
	if seen == nil || l.now().Sub(seen.at) < recheckEvery || l.EpochNow() == 0 {
		return nil
	}
	table, err := l.tableID(ctx)
	if err != nil {
		return fmt.Errorf("check the ledger again: %w", err)
	}
	if table != seen.table {
		l.epoch.Store(0)
		return fmt.Errorf("check the ledger again: %w", ErrRestored)
	}
	l.trust(table)
	return nil
}

func (s *Stack) refuse(id Identity, table string) error {
	switch {
	case s.Fingerprint != id.Fingerprint:
		return ErrWrongKey
	case s.Schema != schemaVersion:
		return fmt.Errorf("%w: the ledger has schema %d, this release %d", ErrCorrupt, s.Schema, schemaVersion)
	case s.Table != table || s.Stack != id.Stack || s.Accepting:
		return ErrRestored
	case s.Epoch < 1:
		return fmt.Errorf("%w: epoch %d", ErrCorrupt, s.Epoch)
	}
	return nil
}

// tableID is the id that DynamoDB gave the table, after refusing one that conditions cannot protect.
func (l *Ledger) tableID(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := l.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &l.Table})
	if err != nil {
		return "", fmt.Errorf("describe table %s: %w", l.Table, meaning(err))
	}
	t := out.Table
	if len(t.Replicas) > 0 && t.MultiRegionConsistency != types.MultiRegionConsistencyStrong {
		return "", fmt.Errorf("table %s: %w", l.Table, ErrReplicated)
	}
	id := aws.ToString(t.TableId)
	if id == "" {
		id = aws.ToString(t.TableArn)
	}
	if id == "" {
		return "", fmt.Errorf("%w: table %s has no id", ErrCorrupt, l.Table)
	}
	return id, nil
}

// Stack reads the stack item; ErrNotFound before the first start.
func (l *Ledger) Stack(ctx context.Context) (Stack, error) {
	it, err := l.get(ctx, stackKey())
	if err != nil {
		return Stack{}, err
	}
	if it == nil {
		return Stack{}, fmt.Errorf("stack item: %w", ErrNotFound)
	}
	return stackOf(it)
}

func stackOf(it item) (Stack, error) {
	var s Stack
	if err := decode([]byte(textOf(it, "doc")), &s); err != nil {
		return s, fmt.Errorf("stack item: %w", err)
	}
	rev, err := numberOf(it, "rev")
	if err != nil || rev != s.Rev {
		return s, fmt.Errorf("%w: stack item: revision", ErrCorrupt)
	}
	return s, nil
}

func (l *Ledger) firstStart(ctx context.Context, id Identity, table string) (Stack, error) {
	empty, err := l.empty(ctx)
	if err != nil {
		return Stack{}, err
	}
	if !empty {
		return l.othersFirst(ctx)
	}
	s := Stack{Stack: id.Stack, Table: table, Fingerprint: id.Fingerprint, Epoch: 1, Schema: schemaVersion, Created: l.now(), Rev: 1}
	err = l.putStack(ctx, s, absent, nil)
	var refused *refusal
	if errors.As(err, &refused) && refused.item != nil {
		return stackOf(refused.item)
	}
	return s, err
}

// othersFirst is the stack item that another process made between our first read and the look at the table.
func (l *Ledger) othersFirst(ctx context.Context) (Stack, error) {
	s, err := l.Stack(ctx)
	if errors.Is(err, ErrNotFound) {
		return Stack{}, ErrForeign
	}
	return s, err
}

func (l *Ledger) putStack(ctx context.Context, s Stack, condition string, values item) error {
	doc, err := encode(s)
	if err != nil {
		return err
	}
	it := stackKey().attributes()
	it["v"], it["doc"], it["rev"] = num(schemaVersion), str(string(doc)), num(s.Rev)
	err = l.put(ctx, it, condition, nil, values)
	var refused *refusal
	if errors.As(err, &refused) && refused.item != nil && textOf(refused.item, "doc") == string(doc) {
		return nil // our own write, whose answer was lost
	}
	return err
}

func (l *Ledger) empty(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := l.Client.Scan(ctx, &dynamodb.ScanInput{TableName: &l.Table, Limit: aws.Int32(1), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return false, meaning(err)
	}
	return len(out.Items) == 0, nil
}

// Doubt adds to an operation that nobody knows what happened to it after the copy was made: an open attempt dated at
// its creation. False leaves the operation as it is. It is asked about every operation that is not confirmed.
type Doubt func(op operation.Operation, by operation.Person, at operation.Time) (operation.Operation, bool)

// acceptTriesMax bounds the tries to mark one operation while others write to it.
const acceptTriesMax = 8

// auditSegments is the number of segments of an acceptance's scan.
const auditSegments = 4

// Accept makes a copied or restored table this stack's own, under the next epoch, and marks every open operation
// through doubt. It can be called again after a crash, and goes on. The number is of operations marked by this call.
func (l *Ledger) Accept(ctx context.Context, id Identity, by operation.Person, doubt Doubt) (int, error) {
	if by == "" {
		return 0, fmt.Errorf("accept: %w: a named person accepts", ErrRefused)
	}
	s, err := l.beginAccept(ctx, id, by)
	if err != nil {
		return 0, fmt.Errorf("accept: %w", err)
	}
	l.epoch.Store(s.Epoch)
	marked := 0
	err = l.Audit(ctx, auditSegments, func(f Found) error {
		if f.Err != nil {
			return fmt.Errorf("%s: %w", f.Key, f.Err)
		}
		if f.Operation == nil || f.Epoch >= s.Epoch {
			return nil
		}
		did, err := l.doubtOne(ctx, *f.Operation, s, doubt)
		if did {
			marked++
		}
		return err
	})
	if err == nil {
		err = l.endAccept(ctx, s)
	}
	if err != nil {
		l.epoch.Store(0)
		return marked, fmt.Errorf("accept: %w", err)
	}
	return marked, nil
}

func (l *Ledger) doubtOne(ctx context.Context, op operation.Operation, s Stack, doubt Doubt) (bool, error) {
	for range acceptTriesMax {
		if op.Status == operation.StatusConfirmed {
			return false, nil
		}
		next, open := doubt(op, s.AcceptedBy, s.Accepted)
		if !open {
			return false, nil
		}
		res, err := l.update(ctx, op, next)
		if err != nil || res.Verdict == Written {
			return err == nil, err
		}
		op = res.Current
	}
	return false, fmt.Errorf("%s: %w", op.ID, ErrThrottled)
}

func (l *Ledger) beginAccept(ctx context.Context, id Identity, by operation.Person) (Stack, error) {
	s, err := l.Stack(ctx)
	if err != nil {
		return s, err
	}
	table, err := l.tableID(ctx) // after the stack item: the write below is refused when another acceptance came in between
	if err != nil {
		return s, err
	}
	refused := s.refuse(id, table)
	same := s.Table == table && s.Stack == id.Stack
	switch {
	case refused == nil:
		return s, fmt.Errorf("%w: this table is this stack's own already", ErrRefused)
	case !errors.Is(refused, ErrRestored):
		return s, refused
	case s.Accepting && same:
		return s, nil
	}
	seen := s.Rev
	s.Stack, s.Table, s.Accepting, s.AcceptedBy, s.Accepted = id.Stack, table, true, by, l.now()
	s.Epoch, s.Rev = s.Epoch+1, seen+1
	return s, l.putStack(ctx, s, sameRecord, item{":seen": num(seen)})
}

func (l *Ledger) endAccept(ctx context.Context, s Stack) error {
	seen := s.Rev
	s.Accepting, s.Rev = false, seen+1
	return l.putStack(ctx, s, sameRecord, item{":seen": num(seen)})
}
