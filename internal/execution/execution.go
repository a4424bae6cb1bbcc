// Package execution starts, finds and wakes the executions of the run state machine.
//
// It promises that a run's generation has at most one execution, since the execution's name and input are made of
// the run id and the generation alone. It never decides whether a run should go on, and what it carries never
// includes content or decisions: those live on the operation.
package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"holdfast/internal/operation"
)

// Next values that the state machine's Route knows; any other leads to Held.
const (
	NextDone       = "done"
	NextExecute    = "execute"
	NextAgain      = "again"
	NextLook       = "look"
	NextAsk        = "ask"
	NextWaitToSend = "wait_to_send"
	NextWaitToLook = "wait_to_look"
	NextHold       = "hold"
)

// Travel is all that an execution carries from state to state.
type Travel struct {
	Run        operation.RunID `json:"run"`
	Next       string          `json:"next"`
	Until      string          `json:"until"`       // for the waits: an instant, fixed width
	AskTimeout int             `json:"ask_timeout"` // seconds; for Ask
}

// API is the part of the Step Functions API that is used; *sfn.Client is one.
type API interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	DescribeExecution(context.Context, *sfn.DescribeExecutionInput, ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error)
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
}

// Executions speaks to Step Functions about one state machine.
type Executions struct {
	Client API
	// Machine is the ARN of the state machine.
	Machine string
	// Arn makes an execution's ARN from the machine's and the execution's name.
	Arn func(machine, name string) string
}

// Name is the execution's name of one generation of a run.
func Name(run operation.RunID, generation int) string { return fmt.Sprintf("%s-%d", run, generation) }

// Start starts one generation. It is safe to repeat: one that exists, running or closed, is left alone, and that is
// no error, since its input can only have been the same; whether a closed one was enough is asked by the sweep.
func (e *Executions) Start(ctx context.Context, run operation.RunID, generation int) error {
	input, err := json.Marshal(Travel{Run: run, Next: NextExecute})
	if err != nil {
		return err
	}
	_, err = e.Client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: aws.String(e.Machine), Name: aws.String(Name(run, generation)), Input: aws.String(string(input)),
	})
	var exists *types.ExecutionAlreadyExists
	if errors.As(err, &exists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("start execution of %s, generation %d: %w", run, generation, err)
	}
	return nil
}

// State is what became of an execution.
type State uint8

// The states of an execution. The zero value is one that cannot be found, or was never started.
const (
	Missing State = iota
	Running
	Ended   // it came to its end; whether the run is done says the ledger
	Dead    // failed or timed out: the run gets its next generation
	Aborted // a person stopped it: the run is held, never rescued
)

// Find says what became of one generation.
func (e *Executions) Find(ctx context.Context, run operation.RunID, generation int) (State, error) {
	out, err := e.Client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{
		ExecutionArn: aws.String(e.Arn(e.Machine, Name(run, generation))),
	})
	var missing *types.ExecutionDoesNotExist
	if errors.As(err, &missing) {
		return Missing, nil
	}
	if err != nil {
		return Missing, fmt.Errorf("find execution of %s, generation %d: %w", run, generation, err)
	}
	switch out.Status {
	case types.ExecutionStatusRunning, types.ExecutionStatusPendingRedrive:
		return Running, nil
	case types.ExecutionStatusSucceeded:
		return Ended, nil
	case types.ExecutionStatusAborted:
		return Aborted, nil
	}
	return Dead, nil
}

// Wake answers a task token. It says whether the token was still waiting: one that was answered before, timed out or
// belongs to an execution that is gone is no error, because tokens only wake and the decision is already written.
func (e *Executions) Wake(ctx context.Context, token string, run operation.RunID) (bool, error) {
	out, err := json.Marshal(Travel{Run: run, Next: NextExecute})
	if err != nil {
		return false, err
	}
	_, err = e.Client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: aws.String(token), Output: aws.String(string(out))})
	var gone *types.TaskTimedOut
	var missing *types.TaskDoesNotExist
	var invalid *types.InvalidToken
	if errors.As(err, &gone) || errors.As(err, &missing) || errors.As(err, &invalid) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wake %s: %w", run, err)
	}
	return true, nil
}

// ExecutionArn is the ARN of a standard execution as AWS writes it.
func ExecutionArn(machine, name string) string {
	return strings.Replace(machine, ":stateMachine:", ":execution:", 1) + ":" + name
}
