// Package dynamo is a small, exact DynamoDB API server for a laptop and for tests.
//
// It promises that the calls it takes answer as DynamoDB answers them: one winner of a conditional write, transactions
// all or nothing, exact decimal numbers, indexes in step with their table, and an answered write that the end of this
// process cannot lose when a directory keeps the data. Its speed does not fall with the size of a table.
//
// It never ignores what it does not know: any other call, member or construct is refused by name. It never checks
// signatures, never throttles, and never deletes an item because its time to live has passed, which DynamoDB may also
// leave undone for days. Index reads are never stale here, which DynamoDB does not promise.
package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"holdfast/internal/clock"
	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
	"holdfast/internal/local/dynamo/store"
)

const (
	targetPrefix    = "DynamoDB_20120810."
	contentType     = "application/x-amz-json-1.0"
	requestBytesMax = 16 << 20 // DynamoDB's limit on a request
	accountID       = "000000000000"
	regionDefault   = "us-east-1"
)

// Options say how a server keeps its data and what it is given from outside. The zero value keeps nothing.
type Options struct {
	// Dir keeps the data; it must exist. Empty: a temporary directory that Close removes.
	Dir string
	// NoSync lets a kept directory do without waiting for the disk at each commit. An answered write then still
	// survives the end of the process, but a power cut can lose writes or damage the file.
	NoSync bool
	// Clock tells the time of creation and the age of a transaction's token. Default: the machine's.
	Clock clock.Clock
	// NewID makes the id of a table. Default: random.
	NewID func() string
	// Region appears in ARNs. Default: us-east-1.
	Region string
	// Around, if set, stands around every call, in the caller's goroutine. It may answer without calling next, or
	// change or drop what next answered. Around a call through Direct there are no bodies: the call has its Input
	// instead, and next's reply is passed on as it is, or replaced by a broken connection or by an error of the wire.
	Around func(call Call, next func() Reply) Reply
	// OnWrite, if set, is told of each item that a commit changes, in the order of the commits, before any later
	// call can see it. An absent item is nil; Attributes turns one into the SDK's form. It must not call the server,
	// and must not change the items.
	OnWrite func(table string, old, new attr.Item)
	// Memory keeps everything in memory and nothing beyond the process; Dir must be empty. The server then starts no
	// goroutine, waits on no channel, and answers the same to the same calls.
	Memory bool
}

// Call is one request on its way in.
type Call struct {
	// Context ends when the caller goes away.
	Context context.Context
	// Op is the operation's name, as PutItem.
	Op string
	// Tables are the tables it names, each once. Empty when it cannot be read.
	Tables []string
	// Body is the request. It must not be changed. It is nil around a call through Direct.
	Body []byte
	// Input is the SDK's input of a call through Direct, as *dynamodb.PutItemInput; nil around all others.
	Input any
}

// Reply is an answer on its way out.
type Reply struct {
	Status int
	Body   []byte
	// Err, if set, breaks the connection instead of answering.
	Err error
	// result is what a call through Direct answered.
	result answer
	// refusal is what it was refused with.
	refusal *refusal
}

// Server is the API server. It is safe for use by several goroutines.
type Server struct {
	options   Options
	dir       string
	temporary bool
	store     store.Store
	memory    *store.Memory // nil when a file keeps the data
	tables    catalog
	// expressions are those parsed lately.
	expressions *expr.Cache
	requests    atomic.Uint64
}

// Open starts a server on the options' directory.
func Open(o Options) (*Server, error) {
	s := &Server{options: o.withDefaults(), dir: o.Dir, expressions: expr.NewCache()}
	if err := s.openStore(); err != nil {
		return nil, err
	}
	if err := s.tables.load(s.store); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) openStore() error {
	o := s.options
	switch {
	case o.Memory && o.Dir != "":
		return fmt.Errorf("the server cannot be in memory and keep its data in %s: leave out one of the two", o.Dir)
	case o.Memory:
		s.memory = store.NewMemory()
		s.store = s.memory
		return nil
	case o.Dir == "":
		dir, err := os.MkdirTemp("", "holdfast-dynamo-")
		if err != nil {
			return fmt.Errorf("make a temporary directory: %w", err)
		}
		s.dir, s.temporary = dir, true
	}
	file, err := store.Open(s.dir, !s.temporary && !o.NoSync)
	if err != nil {
		return errors.Join(err, s.clean())
	}
	s.store = file
	return nil
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.Region == "" {
		o.Region = regionDefault
	}
	return o
}

// randomID is a random UUID.
func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Close ends the server; calls in flight end first. Data that Dir does not keep is gone.
func (s *Server) Close() error { return errors.Join(s.store.Close(), s.clean()) }

func (s *Server) clean() error {
	if s.temporary {
		return os.RemoveAll(s.dir)
	}
	return nil
}

// Snapshot writes a consistent copy of everything, for Restore. A server in memory refuses: it has Mark and Return.
func (s *Server) Snapshot(w io.Writer) error { return s.store.Snapshot(w) }

// Restore replaces everything by a snapshot.
func (s *Server) Restore(r io.Reader) error {
	s.tables.change.Lock()
	defer s.tables.change.Unlock()
	if err := s.store.Restore(r); err != nil {
		return err
	}
	return s.tables.load(s.store)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply := s.answer(r)
	if reply.Err != nil {
		panic(http.ErrAbortHandler) // net/http's way to break the connection
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Amzn-Requestid", s.requestID())
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body) // the caller may be gone
}

func (s *Server) requestID() string { return fmt.Sprintf("LOCAL%012d", s.requests.Add(1)) }

// answer reads a request and answers it.
func (s *Server) answer(r *http.Request) Reply {
	op, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	if !ok || r.Method != http.MethodPost {
		return refused(unknownOperation("This is a DynamoDB API endpoint: it takes POST requests with the header X-Amz-Target: " + targetPrefix + "OPERATION"))
	}
	body, err := readBody(r)
	if err != nil {
		return refused(err)
	}
	return s.call(r.Context(), op, body)
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	var body []byte
	var err error
	if n := r.ContentLength; n > 0 && n <= requestBytesMax {
		body = make([]byte, n)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(io.LimitReader(r.Body, requestBytesMax+1))
	}
	switch {
	case err != nil:
		return nil, invalid("The request's body could not be read to its end")
	case len(body) > requestBytesMax || r.ContentLength > requestBytesMax:
		return nil, refuse("RequestEntityTooLargeException", "The request is larger than %d bytes", requestBytesMax)
	}
	return body, nil
}

func refused(err error) Reply {
	e := asRefusal(err)
	return Reply{Status: e.status, Body: e.body()}
}

func unknownOperation(message string) error {
	e := refuse("UnknownOperationException", "%s", message)
	e.space = spaceService
	return e
}

// call runs one operation inside Around.
func (s *Server) call(ctx context.Context, op string, body []byte) Reply {
	run := operations[op]
	if run == nil {
		return refused(unknownOperation("This local DynamoDB server does not have the operation " + op))
	}
	q, err := decode(op, body)
	next := func() Reply {
		if err != nil {
			return refused(err)
		}
		answer, err := run(s, q)
		if err != nil {
			return refused(err)
		}
		body, err := answer.body()
		if err != nil {
			return refused(err)
		}
		return Reply{Status: http.StatusOK, Body: body}
	}
	if s.options.Around == nil {
		return next()
	}
	return s.options.Around(Call{Context: ctx, Op: op, Tables: q.tables(), Body: body}, next)
}

// operation runs a request.
type operation func(*Server, *request) (answer, error)

// as makes an operation of a method with an answer of its own.
func as[A answer](run func(*Server, *request) (A, error)) operation {
	return func(s *Server, q *request) (answer, error) { return run(s, q) }
}

// operations are all operations there are.
var operations = map[string]operation{
	"BatchGetItem":       as((*Server).batchGet),
	"BatchWriteItem":     as((*Server).batchWrite),
	"CreateTable":        as((*Server).createTable),
	"DeleteItem":         as((*Server).writeItem),
	"DeleteTable":        as((*Server).deleteTable),
	"DescribeTable":      as((*Server).describeTable),
	"DescribeTimeToLive": as((*Server).describeTTL),
	"GetItem":            as((*Server).getItem),
	"ListTables":         as((*Server).listTables),
	"PutItem":            as((*Server).writeItem),
	"Query":              as((*Server).query),
	"Scan":               as((*Server).scan),
	"TransactGetItems":   as((*Server).transactGet),
	"TransactWriteItems": as((*Server).transactWrite),
	"UpdateItem":         as((*Server).writeItem),
	"UpdateTimeToLive":   as((*Server).updateTTL),
}
