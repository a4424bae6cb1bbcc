package states

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Started is the answer to a start.
type Started struct {
	Arn  string
	Date time.Time
}

// Start starts an execution. The same start of an execution that is still running gives its first answer again; a
// name that is taken otherwise gives an Error with the code ExecutionAlreadyExists.
func (s *Server) Start(machineArn, name string, input []byte) (Started, error) {
	if err := checkName(name); err != nil {
		return Started{}, err
	}
	if len(input) > payloadBytesMax || !json.Valid(input) {
		return Started{}, apiErrorf("InvalidExecutionInput", "the input must be JSON of at most %d bytes", payloadBytesMax)
	}
	x, err := s.begin(machineArn, name, input)
	if err != nil {
		return Started{}, err
	}
	return Started{Arn: x.arn, Date: x.started}, nil
}

// startNamed starts an execution as a caller of the API asks for it: without a name it gets one, without an input {}.
func (s *Server) startNamed(machineArn, name, input string) (Started, error) {
	if input == "" {
		input = "{}"
	}
	if name == "" {
		name = s.newToken()
	}
	return s.Start(machineArn, name, []byte(input))
}

// Describe returns an execution that is running or whose history is kept.
func (s *Server) Describe(executionArn string) (Description, error) {
	x, err := s.find(executionArn)
	if err != nil {
		return Description{}, err
	}
	return x.describe(), nil
}

// History returns the events so far. The events and their data are shared: do not change them.
func (s *Server) History(executionArn string) ([]Event, error) {
	x, err := s.find(executionArn)
	if err != nil {
		return nil, err
	}
	return x.history(), nil
}

// PathOfStates returns the names of the states that an execution entered, in order; nil when it is not known.
func (s *Server) PathOfStates(executionArn string) []string {
	events, err := s.History(executionArn)
	if err != nil {
		return nil
	}
	return pathOf(events)
}

func pathOf(events []Event) []string {
	var names []string
	for _, e := range events {
		if strings.HasSuffix(e.Type, "StateEntered") {
			names = append(names, e.State)
		}
	}
	return names
}

// Wait and Await are for callers from outside: they wait on channels, and nothing that a given Parallel runs may call
// them.

// Wait returns the execution once it is closed, or ctx's error when that ends first.
func (s *Server) Wait(ctx context.Context, executionArn string) (Description, error) {
	x, err := s.find(executionArn)
	if err != nil {
		return Description{}, err
	}
	select {
	case <-x.done:
		return x.describe(), nil
	case <-ctx.Done():
		return Description{}, ctx.Err()
	case <-s.ctx.Done():
		return Description{}, errClosed()
	}
}

func errClosed() error {
	return apiErrorf("ServiceUnavailable", "the local Step Functions server is closed")
}

// Await returns once reached says yes to the events so far. It is an error when the execution closes before, or ctx
// ends.
func (s *Server) Await(ctx context.Context, executionArn string, reached func([]Event) bool) error {
	x, err := s.find(executionArn)
	if err != nil {
		return err
	}
	for {
		open := x.running() // asked first, so that the last event is looked at too
		events, changed := x.next()
		if reached(events) {
			return nil
		}
		if !open {
			return apiErrorf("ExecutionClosed", "the execution closed before that: %s", executionArn)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ctx.Done():
			return errClosed()
		}
	}
}

// Stop aborts a running execution at once; a function that it called goes on. One that is closed keeps its end.
func (s *Server) Stop(executionArn, errName, cause string) (time.Time, error) {
	if err := checkFailure(errName, cause); err != nil {
		return time.Time{}, err
	}
	x, err := s.find(executionArn)
	if err != nil {
		return time.Time{}, err
	}
	x.abort(errName, cause)
	return x.describe().Stopped, nil
}

// SucceedTask ends the task of a token with an output. No error means that the output is what the task returns.
func (s *Server) SucceedTask(token string, output []byte) error {
	if len(output) > payloadBytesMax || !json.Valid(output) {
		return apiErrorf("InvalidOutput", "Invalid Output: the output must be JSON of at most %d bytes", payloadBytesMax)
	}
	return s.answer(token, answer{out: bytes.Clone(output)})
}

// FailTask ends the task of a token with an error.
func (s *Server) FailTask(token, errName, cause string) error {
	if err := checkFailure(errName, cause); err != nil {
		return err
	}
	return s.answer(token, answer{bad: &fault{name: errName, cause: cause}})
}

func (s *Server) answer(token string, a answer) error {
	task, err := s.tokens.find(token)
	if err != nil {
		return err
	}
	return task.settle(a, s.clock.Now())
}

// BeatTask says that the task of a token is alive; it moves the heartbeat's due time, never the task's timeout.
func (s *Server) BeatTask(token string) error {
	task, err := s.tokens.find(token)
	if err != nil {
		return err
	}
	return task.heartbeat(s.clock.Now())
}
