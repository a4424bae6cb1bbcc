// Package states runs Amazon States Language files (JSONPath mode) on a laptop, behind the Step Functions API.
//
// It promises that a file behaves here as it does at AWS: the same path of states, the same error names, the same
// history events in the same order, the same limits on names, payloads and history; and that a file, field, path or
// operation it does not know is refused by name, at the start, with the place of the offender.
//
// It never guesses what an unknown field could mean, never cancels a function because its task timed out (at AWS the
// function may still be running, so here it is), never reads a time but its clock's, never keeps anything on disk, and
// never starts a goroutine when it was given another way to do several things at once.
package states

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"holdfast/internal/clock"
)

// Default and fixed bounds. The payload, history and time limits are those of AWS and cannot be changed.
const (
	openMaxDefault    = 100_000   // running executions
	closedMaxDefault  = 10_000    // closed executions whose history is kept
	namesMaxDefault   = 2_000_000 // execution names reserved, open and closed
	callsMaxDefault   = 1_000     // function calls in progress: an AWS account's default concurrency
	machinesMax       = 100       // state machines
	payloadBytesMax   = 262_144   // state and execution input and output
	historyEventsMax  = 25_000    // events in one execution's history
	definitionBytes   = 1 << 20   // a state machine's definition
	executionDaysMax  = 365       // how long an execution may run
	nameReservedDays  = 90        // how long a closed execution's name stays taken
	defaultTaskSecond = 99_999_999
)

// Invoker calls functions. Invoke returns the function's answer, or the error the function returned, or an err when
// the call itself went wrong: an InvokeError names it, any other err counts as Lambda.SdkClientException.
// The context ends when the server closes, not when a task times out; Invoke must return soon after it ends.
type Invoker interface {
	Invoke(ctx context.Context, functionArn string, payload []byte) (out []byte, fnErr *FunctionError, err error)
}

// FunctionError is an error that a function returned. Type becomes the error's name and Payload, the JSON object with
// errorType and errorMessage, its cause, both verbatim.
type FunctionError struct {
	Type    string
	Payload []byte
}

// InvokeError is a failure of the service that runs functions. Name is the error's name as Step Functions reports it,
// for example Lambda.TooManyRequestsException, Lambda.Unknown or Sandbox.Timedout; Message becomes the cause.
type InvokeError struct {
	Name    string
	Message string
}

// Error implements error.
func (e *InvokeError) Error() string { return e.Name + ": " + e.Message }

// Options says what a server works with. Clock, Invoker and NewToken are needed; a zero bound means its default.
type Options struct {
	Clock   clock.Clock
	Invoker Invoker
	// Parallel is how several things are done at once; nil means with goroutines. With one given, due times are left to
	// Clock.AfterFunc and New starts nothing.
	Parallel Parallel
	// NewToken makes a task token. It must never repeat itself and is called by several goroutines at once.
	NewToken func() string
	// Random gives numbers in [0, 1) for JitterStrategy FULL, to several goroutines at once. Without it such a wait takes its full delay.
	Random func() float64
	// Machines are the definitions to start with, by state machine name.
	Machines map[string][]byte
	// Parsed are more of them, parsed before: servers that are made often share the work.
	Parsed map[string]*Definition
	// MaxOpen bounds the running executions; one more is refused with ExecutionLimitExceeded.
	MaxOpen int
	// MaxClosed bounds the closed executions whose history is kept; the oldest closed goes first, its name stays taken.
	MaxClosed int
	// MaxNames bounds the reserved names; one more is refused with ExecutionLimitExceeded, no name is forgotten early.
	MaxNames int
	// MaxCalls bounds the function calls in progress; one more fails with Lambda.TooManyRequestsException.
	MaxCalls int
}

// Server holds state machines and their executions and answers the Step Functions API. It is safe for use by several
// goroutines. Each running execution is one thing done at once, each function call in progress another.
type Server struct {
	clock    clock.Clock
	invoker  Invoker
	newToken func() string
	random   func() float64
	maxOpen  int
	maxNames int
	maxKept  int
	maxCalls int64

	ctx    context.Context
	cancel context.CancelFunc
	work   work
	alarms alarms
	tokens *tokens
	waits  bool // Close waits until everything has ended

	calls       atomic.Int64
	transitions atomic.Int64

	mu sync.Mutex
	store
}

// New returns a server with the given state machines. A definition that is refused is reported with its name and a
// DefinitionError that says where. Close the server to end its goroutines.
func New(o Options) (*Server, error) {
	if o.Clock == nil || o.Invoker == nil || o.NewToken == nil {
		return nil, errors.New("states: Clock, Invoker and NewToken are needed")
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		clock: o.Clock, invoker: o.Invoker, newToken: o.NewToken, random: o.Random,
		maxOpen: orDefault(o.MaxOpen, openMaxDefault), maxKept: orDefault(o.MaxClosed, closedMaxDefault),
		maxNames: orDefault(o.MaxNames, namesMaxDefault), maxCalls: int64(orDefault(o.MaxCalls, callsMaxDefault)),
		ctx: ctx, cancel: cancel, tokens: newTokens(), store: newStore(),
	}
	if err := s.createMachines(o); err != nil {
		cancel()
		return nil, err
	}
	s.setOff(o.Parallel)
	return s, nil
}

func (s *Server) createMachines(o Options) error {
	for _, name := range sortedNames(o.Machines) {
		if _, err := s.createMachine(name, o.Machines[name]); err != nil {
			return fmt.Errorf("state machine %s: %w", name, err)
		}
	}
	for _, name := range sortedNames(o.Parsed) {
		if _, err := s.addMachine(name, o.Parsed[name]); err != nil {
			return fmt.Errorf("state machine %s: %w", name, err)
		}
	}
	return nil
}

// setOff starts what runs as long as the server does: with goroutines one that sleeps for all executions, else nothing.
func (s *Server) setOff(given Parallel) {
	if given != nil {
		s.work.parallel, s.alarms = given, clockAlarms{s.clock}
		return
	}
	t := newTimers(s.clock)
	s.work.parallel, s.alarms, s.waits = goroutines{}, t, true
	s.work.pending.Go(func() { t.run(s.ctx) })
}

func orDefault(n, byDefault int) int {
	if n <= 0 {
		return byDefault
	}
	return n
}

// Close ends the server: nothing new starts, waits end, and Close returns when every goroutine has. Executions that
// were running stay as they are; what they were doing is for the next start to find out.
//
// With a Parallel given, Close rings every running execution's bell, so that its turn ends it, and waits for nothing: a
// scheduler may have dropped them all. Such a server holds nothing outside itself, its scheduler and its clock; dropped
// together they need no Close.
func (s *Server) Close() {
	s.mu.Lock()
	s.closing = true
	var open []*execution
	for e := s.order.Front(); e != nil; e = e.Next() {
		if x := e.Value.(*execution); x.running() {
			open = append(open, x)
		}
	}
	s.mu.Unlock()
	s.cancel()
	for _, x := range open {
		x.bell.Ring()
	}
	if s.waits {
		s.work.pending.Wait()
	}
}

// Transitions counts the state transitions of all executions as AWS bills them: every state entered and every retry.
func (s *Server) Transitions() int64 { return s.transitions.Load() }
