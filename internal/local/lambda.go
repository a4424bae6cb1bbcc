package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"holdfast/internal/clock"
	"holdfast/internal/local/states"
)

// functions invokes handlers through their Lambda signature: a payload in, a payload or a named error out, within the
// function's time limit.
type functions struct {
	clock clock.Clock
	mu    sync.RWMutex
	byArn map[string]function
	work  sync.WaitGroup
	busy  atomic.Int64
	// onAnswer, when set, is told what a function answered.
	onAnswer func(function string, answer []byte)
}

// function keeps its idle environments. As in Lambda, an environment serves one invocation at a time: a handler of
// aws-lambda-go hands out a buffer that its next invocation writes to.
type function struct {
	name  string
	limit time.Duration
	idle  *sync.Pool // of lambda.Handler
}

// call makes one invocation in an environment of its own and copies the answer before the environment is reused. A
// panic ends that environment only, as in Lambda.
func (f function) call(ctx context.Context, payload []byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, messages.InvokeResponse_Error{Type: fmt.Sprintf("%T", p), Message: fmt.Sprintf("%s panicked: %v", f.name, p)}
		}
	}()
	environment := f.idle.Get().(lambda.Handler)
	out, err = environment.Invoke(ctx, payload)
	out = slices.Clone(out)
	f.idle.Put(environment)
	return out, err
}

func newFunctions(c clock.Clock) *functions {
	return &functions{clock: c, byArn: map[string]function{}}
}

// functionArn is the ARN of a local function by its logical id in the template.
func functionArn(id string) string { return "arn:aws:lambda:us-east-1:000000000000:function:" + id }

func (f *functions) add(id string, handler any, limit time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byArn[functionArn(id)] = function{
		name: id, limit: limit, idle: &sync.Pool{New: func() any { return lambda.NewHandler(handler) }},
	}
}

// Invoke implements states.Invoker. A handler that outlives its limit is left behind, as a killed function's request
// would be, and the call ends with Sandbox.Timedout.
func (f *functions) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
	f.mu.RLock()
	fn, ok := f.byArn[arn]
	f.mu.RUnlock()
	if !ok {
		return nil, nil, &states.InvokeError{Name: "Lambda.ResourceNotFoundException", Message: "no function " + arn}
	}
	limited, cancel := context.WithTimeout(ctx, fn.limit)
	defer cancel()
	type answer struct {
		out []byte
		err error
	}
	done := make(chan answer, 1)
	f.busy.Add(1)
	f.work.Go(func() {
		a := answer{err: messages.InvokeResponse_Error{Type: "Runtime.ExitError", Message: fn.name + " ended without an answer"}}
		defer func() { // also when the handler's goroutine ends on the way, as a killed process does
			f.busy.Add(-1)
			done <- a
		}()
		a.out, a.err = fn.call(productTime{limited, f.clock.Now().Add(fn.limit)}, payload)
	})
	select {
	case a := <-done:
		if f.onAnswer != nil && a.err == nil {
			f.onAnswer(fn.name, a.out)
		}
		return answered(a.out, a.err)
	case <-limited.Done():
		return nil, nil, &states.InvokeError{Name: "Sandbox.Timedout", Message: fmt.Sprintf("%s timed out after %s", fn.name, fn.limit)}
	}
}

func answered(out []byte, err error) ([]byte, *states.FunctionError, error) {
	if err == nil {
		return out, nil, nil
	}
	e := messages.InvokeResponse_Error{Message: err.Error(), Type: "errorString"}
	var named messages.InvokeResponse_Error
	if errors.As(err, &named) {
		e = named
	}
	payload, marshalErr := json.Marshal(map[string]string{"errorType": e.Type, "errorMessage": e.Message})
	if marshalErr != nil {
		return nil, nil, marshalErr
	}
	return nil, &states.FunctionError{Type: e.Type, Payload: payload}, nil
}

// productTime gives a context's deadline by the product's clock, which a person can move.
type productTime struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (c productTime) Deadline() (time.Time, bool) { return c.deadline, true }

// wait waits for the calls in progress. One that does not end in time is left behind, as a killed environment's is.
func (f *functions) wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		f.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d function call(s) did not end in time and were left behind", f.busy.Load())
	}
}

// Busy is the number of function calls in progress.
func (l *Local) Busy() int64 { return l.functions.busy.Load() }
