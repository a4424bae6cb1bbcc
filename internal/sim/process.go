package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app"
	"holdfast/internal/app/work"
	"holdfast/internal/intake"
	"holdfast/internal/ledger"
	"holdfast/internal/local/states"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/source"
)

// process is one environment in which functions run: its own clock, its own view of the ledger, its own memory.
type process struct {
	w        *world
	clock    *processClock
	app      *work.App
	handlers map[string]any
}

// boot starts a process, as a cold start does. It fails where a deployed function would: on a ledger that is not ours.
func (w *world) boot() (*process, error) {
	w.booted++
	p := &process{w: w, clock: &processClock{w: w, boot: w.now}}
	if skew := w.skewOf(w.booted); skew != 0 {
		p.clock.skew = skew
	}
	l := w.lab
	config := l.config()
	parts := app.Parts{
		Clock: p.clock, Secrets: secrets{}, Log: w.log, Random: newRandom(mix(w.tape.seed, randomPlaces+uint64(w.booted))),
		Dynamo: &store{w: w, next: w.table}, States: &steps{w: w, next: w.states.Client()},
		Fold: runner.Fold(work.Policies(l.profiles, config)),
	}
	base, err := app.New(context.Background(), config, parts)
	if err != nil {
		return nil, err
	}
	set, err := source.NewSet(l.sources, app.SourceSecrets(secrets{}))
	if err != nil {
		return nil, err
	}
	p.app, err = work.New(context.Background(), base, work.Parts{Destinations: l.to, Dial: w.dial, Notifier: (*mailServer)(w)}, l.profiles, l.compiled)
	if err != nil {
		return nil, err
	}
	in := &intake.Intake{Sources: set, Flows: l.files, Store: base.Ledger, Launcher: base.Launcher, Clock: p.clock, Key: base.Key, Owner: base.Owner, Log: w.log}
	p.handlers = map[string]any{
		"WebhookFunction": in.Handle, "PlanFunction": p.app.Runner.Plan, "AskFunction": p.app.Runner.Ask, "ExecuteFunction": p.app.Runner.Execute,
		"ReconcileFunction": p.app.Runner.Reconcile, "ReviewFunction": p.app.Review.Handle, "SweepFunction": p.app.HandleSweep,
	}
	return p, nil
}

// random is a process's source of random bytes.
type random struct{ *rand.ChaCha8 }

func newRandom(seed uint64) random {
	var key [32]byte
	for i := range key {
		key[i] = byte(mix(seed, uint64(i)))
	}
	return random{rand.NewChaCha8(key)}
}

// invocation is one call of a function.
type invocation struct {
	function string
	process  *process
	out      []byte
	err      error
	done     bool
	bell     bell
	get      bool // a page is only looked at
	person   string
	question operation.QuestionID // that the person's link is about
	other    bool                 // the page that the person saw showed other content
	hindered bool                 // a fault struck what it did
	refuse   bool                 // what it was sent must change nothing
	form     url.Values
}

// invoke calls a function in its own process and waits for its answer, or for its time limit. A function that is past
// its limit may go on: a frozen environment can thaw.
func (w *world) invoke(function string, payload []byte, mark func(*invocation)) ([]byte, error) {
	if w.now.Before(w.outage) {
		return nil, &states.InvokeError{Name: "Lambda.ServiceException", Message: "no function can be called"}
	}
	call := &invocation{function: function}
	call.bell.b = w.baton
	if mark != nil {
		mark(call)
	}
	a := w.spawn(function, func() {
		defer func() {
			call.done = true
			call.bell.Ring()
		}()
		call.err = errExit
		p, err := w.processFor(function)
		if err != nil {
			call.err = err
			return
		}
		call.process = p
		h := lambda.NewHandler(p.handlers[function])
		call.out, call.err = h.Invoke(deadline{Context: context.Background(), at: p.clock.Now().Add(w.lab.limits[function])}, payload)
		w.used(call, w.current())
	})
	a.call = call
	limit := w.at(w.now.Add(w.lab.limits[function]), call.bell.Ring)
	call.bell.Wait()
	w.cancel(limit)
	if !call.done {
		return nil, &states.InvokeError{Name: "Sandbox.Timedout", Message: function + " timed out"}
	}
	return call.out, call.err
}

var errExit = errors.New("the process ended without an answer")

// deadline is an invocation's context: it tells its deadline by the process's own clock and ends nothing.
type deadline struct {
	context.Context
	at time.Time
}

// Deadline implements context.Context.
func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// processFor gives a warm process or starts one.
func (w *world) processFor(function string) (*process, error) {
	n := w.tape.draw(w.current(), processesMax)
	if p := w.processes[n]; p != nil {
		return p, nil
	}
	p, err := w.boot()
	if err != nil {
		return nil, fmt.Errorf("%s: cold start: %w", function, err)
	}
	w.processes[n] = p
	return p, nil
}

// processesMax is how many warm processes there are at most.
const processesMax = 3

// invoker is how the state machine calls functions.
type invoker struct{ w *world }

// Invoke implements states.Invoker.
func (v invoker) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
	w, function := v.w, arn[len(functionArn("")):]
	switch w.choose(kindInvoke, function) {
	case invokeThrottled:
		return nil, nil, &states.InvokeError{Name: "Lambda.TooManyRequestsException", Message: "Rate exceeded"}
	case invokeUnclear:
		_, _ = w.invoke(function, payload, nil)
		w.lost++
		return nil, nil, &states.InvokeError{Name: "Lambda.Unknown", Message: "the connection was reset"}
	case invokeTwice:
		w.spawn(function+" again", func() { _, _ = w.invoke(function, payload, nil) })
	case invokeCrash:
		w.crashes++
		return nil, nil, &states.InvokeError{Name: "Lambda.Unknown", Message: "the process ended"}
	}
	out, err := w.invoke(function, payload, nil)
	var failed *states.InvokeError
	switch {
	case errors.As(err, &failed):
		return nil, nil, failed
	case err != nil:
		return nil, &states.FunctionError{Type: "errorString", Payload: []byte(`{"errorType":"errorString","errorMessage":"failed"}`)}, nil
	}
	return out, nil, nil
}

var _ ledger.API = (*store)(nil)
