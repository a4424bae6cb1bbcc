package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
)

// Fold applies one outcome that an attempt's owner recorded, in the owner's own encoding, to the operation as
// it stands. It must be pure, and give the same operation when the fact is applied a second time.
type Fold func(op operation.Operation, attempt operation.AttemptID, fact []byte) (operation.Operation, error)

// API is the part of the DynamoDB API that the ledger works with; *dynamodb.Client is one.
type API interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Options are what a Ledger is made of.
type Options struct {
	Client  API
	Table   string
	Clock   clock.Clock
	WriteID func() string // random and never repeated, at most WriteIDBytesMax bytes, without spaces
	Fold    Fold
	// Epoch is the epoch that writes carry; 0 refuses every write until Check has found the table to be ours.
	Epoch int64
	// ContentKept is how long content of settled operations stays; 0 means ContentKeptDefault.
	ContentKept time.Duration
	// OnCall, when set, is told of each call: the API's name and the capacity units it consumed.
	OnCall func(call string, units float64)
}

// Bounds.
const (
	WriteIDBytesMax    = 36 // a transaction's token can hold no more
	ContentKeptDefault = 90 * 24 * time.Hour
	DocBytesMax        = 320 << 10 // of one record; leaves room for the inbox below DynamoDB's 400 KB
	ContentBytesMax    = 300 << 10 // of one content, of one compiled plan, and of one part of a payload
	PayloadBytesMax    = 1 << 20   // of one event's payload
	FactBytesMax       = 4 << 10   // of one outcome in the inbox
	DeliveriesBound    = 64        // deliveries listed on one event; later ones are counted on the last

	callTimeout      = 10 * time.Second // of one call, SDK retries included
	readBackTimeout  = 3 * time.Second  // of the read after an unclear write
	rebasesMax       = 8                // tries to record an outcome before it goes to the inbox
	deliveryTriesMax = 16               // tries to fold a delivery into its event
	conflictTriesMax = 6                // tries of a write that met a transaction
	pauseFirst       = 20 * time.Millisecond
	pauseMost        = 500 * time.Millisecond
	writeIDsKept     = 4 // of the latest revisions
)

// Malfunctions and refusals; wrapped with the call and its id, matched with errors.Is.
var (
	ErrNotFound  = errors.New("not in the ledger")
	ErrThrottled = errors.New("the table takes no more requests for now; try again later")
	// ErrUnclear: the write may have been applied or not, or may still be. Read the record again before acting.
	ErrUnclear   = errors.New("unclear whether the write was applied; read the record again before acting")
	ErrCorrupt   = errors.New("the record does not read as this release writes it; nothing is done with it until a person has looked")
	ErrTooLarge  = errors.New("larger than the ledger's bound")
	ErrRefused   = errors.New("refused before writing")
	ErrDigest    = errors.New("the bytes do not match their digest")
	ErrExpired   = errors.New("kept no longer: its expiry has passed")
	ErrUnchecked = errors.New("nothing is written before the table was checked to be this stack's own")
)

// Verdict is how a write ended. Its zero value is Lost: whoever forgets to look has won nothing.
type Verdict uint8

// The verdicts.
const (
	Lost      Verdict = iota // another writer was first; Current is what it left
	Written                  // the write stands
	Created                  // the record is new
	Exists                   // the record was there; Current is it, unchanged
	Inboxed                  // the outcome stands in the operation's inbox; Current has it folded in
	Already                  // the attempt's outcome was recorded before
	Recorded                 // the event is new and durable
	Duplicate                // the event is known, with the same body
	Conflict                 // the same delivery came before with another body
	Variant                  // the event is known in another shape; the first one stands
	verdictCount
)

// String names the verdict for logs.
func (v Verdict) String() string {
	names := [verdictCount]string{"lost", "written", "created", "exists", "inboxed", "already", "recorded", "duplicate", "conflict", "variant"}
	if v >= verdictCount {
		return fmt.Sprintf("%d?", uint8(v))
	}
	return names[v]
}

// Result is a verdict with the record as it now stands in the ledger.
type Result[T any] struct {
	Verdict Verdict
	Current T
}

// Ledger is safe for use by several goroutines.
type Ledger struct {
	Options
	epoch   *atomic.Int64
	trusted *atomic.Pointer[trusted] // nil before Check has passed
}

// New returns a ledger that reads. It writes once Check has passed, or at once when an epoch is given.
func New(o Options) *Ledger {
	if o.ContentKept == 0 {
		o.ContentKept = ContentKeptDefault
	}
	l := &Ledger{Options: o, epoch: new(atomic.Int64), trusted: new(atomic.Pointer[trusted])}
	l.epoch.Store(o.Epoch)
	return l
}

// EpochNow is the epoch that writes carry; 0 before Check has passed.
func (l *Ledger) EpochNow() int64 { return l.epoch.Load() }

func (l *Ledger) now() operation.Time { return operation.TimeOf(l.Clock.Now()) }
