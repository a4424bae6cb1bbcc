// Package apptest gives tests the parts that handlers work with: a ledger on the embedded DynamoDB server, the shipped
// state machine on the Step Functions server with stand-ins for its functions, and a clock that can be moved.
//
// It promises that everything between a handler and its records is the real thing. It never stands in for a rule, and
// is linked by tests alone.
package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"holdfast/internal/clock"
	"holdfast/internal/execution"
	"holdfast/internal/identity"
	"holdfast/internal/launch"
	"holdfast/internal/ledger"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/states"
	"holdfast/internal/operation"
	"holdfast/statemachine"
)

const (
	table       = "ledger"
	machine     = "run"
	functionArn = "arn:aws:lambda:us-east-1:000000000000:function:"
)

// Function stands in for one function of the state machine: plan, ask, execute or reconcile.
type Function func(payload []byte) (any, error)

// Options change the parts. The zero value gives functions that leave every execution waiting with its token.
type Options struct {
	Fold      ledger.Fold
	Functions map[string]Function
}

// Parts are what a test works with.
type Parts struct {
	Clock      *clock.Movable
	Ledger     *ledger.Ledger
	Dynamo     *dynamodb.Client
	States     *states.Server
	Executions *execution.Executions
	Launcher   *launch.Launcher
	Key        identity.Key
	Log        *slog.Logger
	Written    *Text // what was logged
	Faults     *Faults

	ids atomic.Int64
}

// New starts the parts; they end with the test.
func New(t testing.TB, o Options) *Parts {
	t.Helper()
	p := &Parts{Clock: clock.New(), Written: &Text{}, Faults: &Faults{}}
	p.Log = slog.New(slog.NewJSONHandler(p.Written, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	p.Key, err = identity.NewKey(bytes.Repeat([]byte("k"), identity.KeyBytesMin))
	Must(t, err)
	p.startLedger(t, o.Fold)
	p.startStates(t, o.Functions)
	p.Launcher = &launch.Launcher{Store: p.Ledger, Executions: p.Executions, Clock: p.Clock, Log: p.Log}
	return p
}

func credential() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("local", "local", "")
}

func (p *Parts) startLedger(t testing.TB, fold ledger.Fold) {
	server, err := dynamo.Open(dynamo.Options{Clock: p.Clock, Around: p.Faults.around})
	Must(t, err)
	t.Cleanup(func() { Must(t, server.Close()) })
	p.Dynamo = dynamodb.New(dynamodb.Options{
		Region: "us-east-1", Credentials: credential(), BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient: server.Transport(), Retryer: aws.NopRetryer{},
	})
	_, err = p.Dynamo.CreateTable(t.Context(), ledger.TableInput(table))
	Must(t, err)
	p.Ledger = ledger.New(ledger.Options{Client: p.Dynamo, Table: table, Clock: p.Clock, Fold: fold, WriteID: func() string { return p.ID("w") }})
	_, err = p.Ledger.Check(t.Context(), ledger.Identity{Stack: "test", Fingerprint: p.Key.Fingerprint()})
	Must(t, err)
}

func (p *Parts) startStates(t testing.TB, functions map[string]Function) {
	arns := map[string]string{}
	for _, name := range []string{"Plan", "Ask", "Execute", "Reconcile"} {
		arns[name+"FunctionArn"] = functionArn + strings.ToLower(name)
	}
	definition, err := statemachine.Fill(arns)
	Must(t, err)
	p.States, err = states.New(states.Options{
		Clock: p.Clock, NewToken: func() string { return p.ID("token") }, Invoker: invoker(functions), Machines: map[string][]byte{machine: definition},
	})
	Must(t, err)
	t.Cleanup(p.States.Close)
	client := sfn.New(sfn.Options{
		Region: "us-east-1", Credentials: credential(), BaseEndpoint: aws.String("http://states.invalid"), Retryer: aws.NopRetryer{},
		HTTPClient: &http.Client{Transport: p.Faults.through(p.States.Transport())},
	})
	p.Executions = &execution.Executions{Client: client, Machine: states.MachineArn(machine), Arn: execution.ExecutionArn}
}

// ID makes an id that no other call makes.
func (p *Parts) ID(prefix string) string { return fmt.Sprintf("%s%d", prefix, p.ids.Add(1)) }

// Now is the product's time.
func (p *Parts) Now() operation.Time { return operation.TimeOf(p.Clock.Now()) }

// Arn names one generation's execution.
func (p *Parts) Arn(run operation.RunID, generation int) string {
	return execution.ExecutionArn(p.Executions.Machine, execution.Name(run, generation))
}

// Path is the states that a generation entered.
func (p *Parts) Path(run operation.RunID, generation int) string {
	return strings.Join(p.States.PathOfStates(p.Arn(run, generation)), " ")
}

// Ends waits until a generation is closed.
func (p *Parts) Ends(t testing.TB, run operation.RunID, generation int) states.Description {
	t.Helper()
	d, err := p.States.Wait(t.Context(), p.Arn(run, generation))
	Must(t, err)
	return d
}

// Reaches waits until a generation's history holds n events of a kind.
func (p *Parts) Reaches(t testing.TB, run operation.RunID, generation int, kind string, n int) {
	t.Helper()
	Must(t, p.States.Await(t.Context(), p.Arn(run, generation), func(events []states.Event) bool {
		seen := 0
		for _, e := range events {
			if e.Type == kind {
				seen++
			}
		}
		return seen >= n
	}))
}

// Deindex takes a record out of the due index, as an index that lost it would show it.
func (p *Parts) Deindex(t testing.TB, pk, sk string) {
	t.Helper()
	p.change(t, pk, sk, "REMOVE due_shard", nil)
}

// MarkDue puts a record into the due index, as an index that has not heard of its end would show it.
func (p *Parts) MarkDue(t testing.TB, pk, sk string, due operation.Time) {
	t.Helper()
	p.change(t, pk, sk, "SET due_shard = :shard, due = :due", map[string]types.AttributeValue{
		":shard": &types.AttributeValueMemberS{Value: "0"}, ":due": &types.AttributeValueMemberS{Value: due.String()},
	})
}

// Spoil makes a record unreadable.
func (p *Parts) Spoil(t testing.TB, pk, sk string) {
	t.Helper()
	p.change(t, pk, sk, "SET doc = :doc", map[string]types.AttributeValue{":doc": &types.AttributeValueMemberS{Value: "{"}})
}

// SetBytes puts other bytes in the place of stored ones; nil deletes the item.
func (p *Parts) SetBytes(t testing.TB, pk, sk string, b []byte) {
	t.Helper()
	if b == nil {
		_, err := p.Dynamo.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: item(pk, sk)})
		Must(t, err)
		return
	}
	it := item(pk, sk)
	it["v"] = &types.AttributeValueMemberN{Value: "1"}
	it["bytes"] = &types.AttributeValueMemberB{Value: b}
	_, err := p.Dynamo.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it})
	Must(t, err)
}

func (p *Parts) change(t testing.TB, pk, sk, update string, values map[string]types.AttributeValue) {
	t.Helper()
	_, err := p.Dynamo.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: item(pk, sk), UpdateExpression: &update, ExpressionAttributeValues: values,
	})
	Must(t, err)
}

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type invoker map[string]Function

// Invoke implements states.Invoker.
func (f invoker) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
	name := strings.TrimPrefix(arn, functionArn)
	do := f[name]
	if do == nil {
		do = func([]byte) (any, error) { return echo(name, payload) }
	}
	answer, err := do(payload)
	if err != nil {
		return nil, &states.FunctionError{Type: "errorString", Payload: []byte(`{"errorType":"errorString","errorMessage":"it failed"}`)}, nil
	}
	out, err := json.Marshal(answer)
	return out, nil, err
}

// echo is what a function answers that has nothing to say.
func echo(name string, payload []byte) (any, error) {
	var in execution.Travel
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	in.Next, in.AskTimeout = execution.NextDone, 3600
	if name == "plan" {
		in.Next = execution.NextAsk
	}
	return in, nil
}

// ErrCut is a connection that broke.
var ErrCut = errors.New("the connection broke")

// Faults decide what goes wrong with a call to DynamoDB or Step Functions.
type Faults struct {
	mu    sync.Mutex
	want  func(op string, body []byte) Fault
	calls []string
}

// Fault is what goes wrong with one call. The zero value is nothing.
type Fault struct {
	Code   string // answered instead of doing it
	Lose   bool   // done, and the answer is lost
	Before func() // runs first: a rival
}

// Set makes calls go wrong from now on; nil ends that.
func (f *Faults) Set(want func(op string, body []byte) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want, f.calls = want, nil
}

// Calls are the operations called since the last Set.
func (f *Faults) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *Faults) of(op string, body []byte) Fault {
	f.mu.Lock()
	f.calls = append(f.calls, op)
	want := f.want
	f.mu.Unlock()
	if want == nil {
		return Fault{}
	}
	fault := want(op, body)
	if fault.Before != nil {
		fault.Before()
	}
	return fault
}

func (f *Faults) around(c dynamo.Call, next func() dynamo.Reply) dynamo.Reply {
	fault := f.of(c.Op, c.Body)
	if fault.Code != "" {
		return dynamo.Reply{Status: http.StatusBadRequest, Body: refusal("com.amazonaws.dynamodb.v20120810#" + fault.Code)}
	}
	reply := next()
	if fault.Lose {
		return dynamo.Reply{Err: ErrCut}
	}
	return reply
}

func refusal(code string) []byte { return fmt.Appendf(nil, `{"__type":%q,"message":"scripted"}`, code) }

func (f *Faults) through(to http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		fault := f.of(op, nil)
		if fault.Code != "" {
			return &http.Response{StatusCode: http.StatusBadRequest, ProtoMajor: 1, ProtoMinor: 1, Request: r,
				Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(refusal(fault.Code)))}, nil
		}
		out, err := to.RoundTrip(r)
		if err == nil && fault.Lose {
			return nil, errors.Join(ErrCut, out.Body.Close())
		}
		return out, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
