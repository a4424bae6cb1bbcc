package states_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/execution"
	"holdfast/internal/local/states"
)

// caller is what the SDK's client and the server's own have in common.
type caller interface {
	execution.API
	StopExecution(context.Context, *sfn.StopExecutionInput, ...func(*sfn.Options)) (*sfn.StopExecutionOutput, error)
}

// attempt is one call; it answers with a pointer to an output, or nil.
type attempt func(context.Context, caller) (any, error)

func starts(in sfn.StartExecutionInput) attempt {
	return func(ctx context.Context, c caller) (any, error) { return c.StartExecution(ctx, &in) }
}

func describes(arn *string) attempt {
	return func(ctx context.Context, c caller) (any, error) {
		return c.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: arn})
	}
}

func stops(arn *string, cause string) attempt {
	return func(ctx context.Context, c caller) (any, error) {
		return c.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: arn, Error: aws.String("Stopped"), Cause: &cause})
	}
}

func answers(token, output *string) attempt {
	return func(ctx context.Context, c caller) (any, error) {
		return c.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: token, Output: output})
	}
}

func twice(call attempt) attempt {
	return func(ctx context.Context, c caller) (any, error) {
		if out, err := call(ctx, c); err != nil {
			return out, err
		}
		return call(ctx, c)
	}
}

// said is all that a caller can tell an error by.
type said struct {
	Type, Text, Code, Message string
	Canceled                  bool
}

func saidBy(err error) said {
	s := said{Canceled: errors.Is(err, context.Canceled)}
	var whole *smithy.OperationError
	if !errors.As(err, &whole) {
		return s
	}
	s.Text = whole.Service() + " " + whole.Operation()
	var api smithy.APIError
	var missing smithy.InvalidParamsError
	switch {
	case errors.As(err, &api):
		s.Type, s.Code, s.Message = fmt.Sprintf("%T", api), api.ErrorCode(), api.ErrorMessage()
	case errors.As(err, &missing):
		s.Type, s.Message = fmt.Sprintf("%T", missing), missing.Error()
	default:
		s.Type = fmt.Sprintf("%T", whole.Unwrap())
	}
	return s
}

// Every call is made with the SDK's client and with the server's own, on two servers that are told the same.
func TestClientSaysWhatTheSDKSays(t *testing.T) {
	t.Parallel()
	machine, execution := states.MachineArn("m"), states.ExecutionArn("m", "e")
	closed, gone := states.ExecutionArn("m", "closed"), states.ExecutionArn("m", "gone")
	none, yes, long := "", `{"yes":12345678901234567890}`, strings.Repeat("x", 262_145)
	for _, c := range []struct {
		name string
		call attempt
		want string // the error's code or type; "" for none
	}{
		{"start", starts(sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("new"), Input: &yes}), ""},
		{"start without an input", starts(sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("bare")}), ""},
		{"start without a name", starts(sfn.StartExecutionInput{StateMachineArn: &machine}), ""},
		{"start again", starts(sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("e"), Input: aws.String(`{}`)}), ""},
		{"start with another input", starts(sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("e"), Input: &yes}), "ExecutionAlreadyExists"},
		{"start a closed one", starts(sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("closed"), Input: aws.String(`{}`)}), "ExecutionAlreadyExists"},
		{"start with a bad name", starts(sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("a b")}), "InvalidName"},
		{"start with a bad input", starts(sfn.StartExecutionInput{StateMachineArn: &machine, Name: aws.String("i"), Input: aws.String(`{`)}), "InvalidExecutionInput"},
		{"start nothing", starts(sfn.StartExecutionInput{}), "InvalidParams"},
		{"start of no machine", starts(sfn.StartExecutionInput{StateMachineArn: &none}), "StateMachineDoesNotExist"},
		{"start one too many", twice(starts(sfn.StartExecutionInput{StateMachineArn: &machine})), "ExecutionLimitExceeded"},
		{"describe a running one", describes(&execution), ""},
		{"describe a closed one", describes(&closed), ""},
		{"describe an unknown one", describes(&gone), "ExecutionDoesNotExist"},
		{"describe no ARN", describes(&none), "InvalidArn"},
		{"describe nothing", describes(nil), "InvalidParams"},
		{"answer no token", answers(&none, &yes), "InvalidToken"},
		{"answer an unknown token", answers(aws.String("local-none"), &yes), "TaskDoesNotExist"},
		{"answer a closed token", answers(aws.String("local-t1"), &yes), "TaskTimedOut"},
		{"answer with no JSON", answers(aws.String("local-t2"), aws.String("{")), "InvalidOutput"},
		{"answer with too much", answers(aws.String("local-t2"), &long), "InvalidOutput"},
		{"answer nothing", answers(nil, nil), "InvalidParams"},
		{"answer", answers(aws.String("local-t2"), &yes), ""},
		{"stop with a long cause", stops(&execution, long), "ValidationException"},
		{"stop an unknown one", stops(&gone, ""), "ExecutionDoesNotExist"},
		{"stop a closed one", stops(&closed, "late"), ""},
		{"stop", stops(aws.String(states.ExecutionArn("m", "waiting")), "why"), ""},
		{"describe a stopped one", describes(aws.String(states.ExecutionArn("m", "waiting"))), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { sideBySide(t, c.call, c.want) })
		})
	}
}

// sideBySide needs a bubble: there the clocks of both servers stand still.
func sideBySide(t *testing.T, call attempt, code string) {
	sdk, own := prepared(t), prepared(t)
	want, wantErr := call(t.Context(), sdk.sdk)
	got, gotErr := call(t.Context(), own.server.Client())
	if diff := cmp.Diff(saidBy(wantErr), saidBy(gotErr)); diff != "" {
		t.Errorf("error (-sdk +own):\n%s", diff)
	}
	if diff := cmp.Diff(want, got, outputs()...); diff != "" {
		t.Errorf("answer (-sdk +own):\n%s", diff)
	}
	if s := saidBy(gotErr); code == "" && gotErr != nil || !strings.Contains(s.Code+s.Type, code) {
		t.Errorf("error %v, want %q", gotErr, code)
	}
}

// prepared is a server with one closed, one waiting and one running execution, whose tokens are t1, t2 and t3.
func prepared(t *testing.T) *lab {
	f, tokens := tokenKeeper()
	l := newLab(t, single(tokenTask), f, func(o *states.Options) { o.MaxOpen = 3 })
	for _, name := range []string{"closed", "waiting", "e"} {
		arn := l.start(name, `{}`)
		token := <-tokens
		l.after(arn, "TaskSubmitted", 1)
		if name == "closed" {
			if err := l.server.SucceedTask(token, []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			l.wait(arn)
		}
	}
	return l
}

// outputs compares answers but for what two servers, or two wires, cannot have in common.
func outputs() []cmp.Option {
	return []cmp.Option{
		cmpopts.IgnoreTypes(middleware.Metadata{}),
		cmpopts.IgnoreUnexported(sfn.StartExecutionOutput{}, sfn.DescribeExecutionOutput{}, sfn.StopExecutionOutput{}, sfn.SendTaskSuccessOutput{},
			types.CloudWatchEventsExecutionDataDetails{}),
	}
}

func TestClientOfAClosedServer(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.server.Close()
	start := starts(sfn.StartExecutionInput{StateMachineArn: aws.String(states.MachineArn("m")), Name: aws.String("later")})
	_, want := start(t.Context(), l.sdk)
	_, got := start(t.Context(), l.server.Client())
	l.same("error", saidBy(want), saidBy(got))
	l.same("code", "ServiceUnavailable", code(got))
}

func TestClientWhoseCallerGaveUp(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := starts(sfn.StartExecutionInput{StateMachineArn: aws.String(states.MachineArn("m")), Name: aws.String("never")})
	_, want := start(ctx, l.sdk)
	_, got := start(ctx, l.server.Client())
	l.same("error", saidBy(want), saidBy(got))
	_, err := l.server.Describe(states.ExecutionArn("m", "never"))
	refused(t, err, "ExecutionDoesNotExist")
}

// Times come as they would over the wire: whole milliseconds.
func TestClientTimesAreThoseOfTheWire(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	arn := states.ExecutionArn("m", "closed")
	want, err := l.sdk.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.server.Client().DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	l.same("times", []time.Time{*want.StartDate, *want.StopDate}, []time.Time{*got.StartDate, *got.StopDate})
}
