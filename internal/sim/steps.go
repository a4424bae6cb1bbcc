package sim

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"holdfast/internal/execution"
)

// steps is the way to Step Functions for one process.
type steps struct {
	w    *world
	next execution.API
}

func step[I, O any](s *steps, name string, in *I, do func(context.Context, *I, ...func(*sfn.Options)) (*O, error)) (*O, error) {
	w := s.w
	w.tick(callTime)
	switch w.choose(kindStates, name) {
	case statesYield:
		w.yield()
	case statesFailed:
		return nil, errCut
	case statesLost:
		_, _ = do(context.Background(), in)
		w.lost++
		return nil, errCut
	case statesCrashBefore:
		w.crash()
	case statesCrashAfter:
		_, _ = do(context.Background(), in)
		w.crash()
	}
	return do(context.Background(), in)
}

// StartExecution implements execution.API.
func (s *steps) StartExecution(_ context.Context, in *sfn.StartExecutionInput, _ ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error) {
	return step(s, "StartExecution", in, s.next.StartExecution)
}

// DescribeExecution implements execution.API.
func (s *steps) DescribeExecution(_ context.Context, in *sfn.DescribeExecutionInput, _ ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error) {
	return step(s, "DescribeExecution", in, s.next.DescribeExecution)
}

// SendTaskSuccess implements execution.API.
func (s *steps) SendTaskSuccess(_ context.Context, in *sfn.SendTaskSuccessInput, _ ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	return step(s, "SendTaskSuccess", in, s.next.SendTaskSuccess)
}
