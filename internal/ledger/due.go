package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/operation"
)

// Hint says that the index holds a record as due. The index may lag in both directions: read the record, and decide
// by that alone. Exactly one of the ids is set.
type Hint struct {
	Operation operation.ID
	Run       operation.RunID
	Event     operation.EventID
	Due       operation.Time // TimeMax: it has a next step without a time of its own
	pk, sk    string
}

// Due lists what is due in one shard (0 to Shards-1) up to an instant, oldest first, at most limit hints, after the
// last hint of an earlier page (nil for the first). With TimeMax it lists all that is open: the worklist.
func (l *Ledger) Due(ctx context.Context, shard int, until operation.Time, limit int32, after *Hint) ([]Hint, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	index, condition, s := DueIndex, "due_shard = :shard AND due <= :until", strconv.Itoa(shard)
	in := &dynamodb.QueryInput{TableName: &l.Table, IndexName: &index, KeyConditionExpression: &condition, Limit: &limit,
		ExpressionAttributeValues: item{":shard": str(s), ":until": str(until.String())}, ReturnConsumedCapacity: l.capacity()}
	if after != nil {
		in.ExclusiveStartKey = item{"pk": str(after.pk), "sk": str(after.sk), "due_shard": str(s), "due": str(after.Due.String())}
	}
	out, err := l.Client.Query(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("list what is due: %w", meaning(err))
	}
	l.count("Query", out.ConsumedCapacity)
	var hints []Hint
	for _, it := range out.Items {
		h, err := hintOf(it)
		if err != nil {
			return nil, err
		}
		hints = append(hints, h)
	}
	return hints, nil
}

func hintOf(it item) (Hint, error) {
	h := Hint{pk: textOf(it, "pk"), sk: textOf(it, "sk")}
	var err error
	if h.Due, err = operation.ParseTime(textOf(it, "due")); err != nil {
		return h, fmt.Errorf("%w: %s: due: %v", ErrCorrupt, h.pk, err)
	}
	_, id, _ := strings.Cut(h.pk, "#")
	switch h.sk {
	case "op":
		h.Operation = operation.ID(id)
	case "run":
		h.Run = operation.RunID(id)
	case "ev":
		h.Event = operation.EventID(id)
	default:
		return h, fmt.Errorf("%w: %s/%s is in the due index", ErrCorrupt, h.pk, h.sk)
	}
	return h, nil
}

// Found is one record that the audit read. Exactly one of the pointers is set, or Err says why the record does not
// read; the audit goes on past it.
type Found struct {
	Key       string
	Operation *operation.Operation
	Run       *operation.Run
	Event     *operation.Event
	Indexed   bool // in the due index
	Epoch     int64
	Err       error
}

// Audit reads every event, run and operation from the base table, segment after segment, and calls fn for each. It
// is slow, costs in proportion to the table, and finds what an index lost. An error of fn ends it.
func (l *Ledger) Audit(ctx context.Context, segments int32, fn func(Found) error) error {
	for segment := range segments {
		for cursor := (Cursor{Segment: segment, Segments: segments}); ; {
			found, next, err := l.AuditPage(ctx, cursor)
			if err != nil {
				return err
			}
			for _, f := range found {
				if err := fn(f); err != nil {
					return err
				}
			}
			if next == nil {
				break
			}
			cursor = *next
		}
	}
	return nil
}

// Cursor is where an audit stands; it can be kept as JSON between two pages.
type Cursor struct {
	Segment  int32  `json:"segment"`
	Segments int32  `json:"segments"`
	PK       string `json:"pk,omitempty"`
	SK       string `json:"sk,omitempty"`
}

// auditPageItems bounds one page of the audit, payloads and contents included.
const auditPageItems = 500

// AuditPage reads one page of one segment, and gives the next cursor or nil at the segment's end.
func (l *Ledger) AuditPage(ctx context.Context, c Cursor) ([]Found, *Cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	filter, limit, consistent := "sk = :op OR sk = :run OR sk = :ev", int32(auditPageItems), true
	in := &dynamodb.ScanInput{TableName: &l.Table, Segment: &c.Segment, TotalSegments: &c.Segments, Limit: &limit,
		FilterExpression: &filter, ConsistentRead: &consistent, ReturnConsumedCapacity: l.capacity(),
		ExpressionAttributeValues: item{":op": str("op"), ":run": str("run"), ":ev": str("ev")}}
	if c.PK != "" {
		in.ExclusiveStartKey = key{c.PK, c.SK}.attributes()
	}
	out, err := l.Client.Scan(ctx, in)
	if err != nil {
		return nil, nil, fmt.Errorf("audit: %w", meaning(err))
	}
	l.count("Scan", out.ConsumedCapacity)
	var found []Found
	for _, it := range out.Items {
		found = append(found, l.ReadItem(it))
	}
	return found, c.next(out.LastEvaluatedKey), nil
}

func (c Cursor) next(last map[string]types.AttributeValue) *Cursor {
	if len(last) == 0 {
		return nil
	}
	c.PK, c.SK = textOf(last, "pk"), textOf(last, "sk")
	return &c
}

// ReadItem reads an item of the table as the audit does, for whoever watches the table itself. The item's sort key must
// be that of an operation, a run or an event.
func (l *Ledger) ReadItem(it map[string]types.AttributeValue) Found {
	f := Found{Key: key{textOf(it, "pk"), textOf(it, "sk")}.String(), Indexed: it["due_shard"] != nil && it["due"] != nil}
	var r record
	switch textOf(it, "sk") {
	case "op":
		f.Operation, r, f.Err = pointed(l.operations(), it)
	case "run":
		f.Run, r, f.Err = pointed(runs(), it)
	default:
		f.Event, r, f.Err = pointed(events(), it)
	}
	f.Epoch = r.epoch
	return f
}

func pointed[T any](n noun[T], it item) (*T, record, error) {
	v, r, err := readItem(n, it)
	if err != nil {
		return nil, r, err
	}
	return &v, r, nil
}
