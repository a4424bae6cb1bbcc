package states

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// Client calls a server in this process, without HTTP and without the SDK's middleware: with the answers and the typed
// errors that an *sfn.Client gives. It ignores sfn.Options, and its answers have no ResultMetadata.
type Client struct{ server *Server }

// Client returns a client of the server; any number of them may be used at once.
func (s *Server) Client() *Client { return &Client{s} }

// StartExecution starts an execution, as Server.Start does.
func (c *Client) StartExecution(ctx context.Context, in *sfn.StartExecutionInput, _ ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error) {
	const call = "StartExecution"
	if err := ready(ctx, call, needed{"StateMachineArn", in.StateMachineArn}); err != nil {
		return nil, err
	}
	started, err := c.server.startNamed(aws.ToString(in.StateMachineArn), aws.ToString(in.Name), aws.ToString(in.Input))
	if err != nil {
		return nil, asSDK(call, err)
	}
	return &sfn.StartExecutionOutput{ExecutionArn: &started.Arn, StartDate: wireTime(started.Date)}, nil
}

// DescribeExecution describes an execution, as Server.Describe does.
func (c *Client) DescribeExecution(ctx context.Context, in *sfn.DescribeExecutionInput, _ ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error) {
	const call = "DescribeExecution"
	if err := ready(ctx, call, needed{"ExecutionArn", in.ExecutionArn}); err != nil {
		return nil, err
	}
	d, err := c.server.Describe(*in.ExecutionArn)
	if err != nil {
		return nil, asSDK(call, err)
	}
	out := &sfn.DescribeExecutionOutput{
		ExecutionArn: &d.Arn, StateMachineArn: &d.MachineArn, Name: &d.Name, Status: types.ExecutionStatus(d.Status),
		StartDate: wireTime(d.Started), StopDate: wireTime(d.Stopped), Input: aws.String(string(d.Input)),
		InputDetails: &types.CloudWatchEventsExecutionDataDetails{Included: true}, Error: textOrNil(d.Error), Cause: textOrNil(d.Cause),
		RedriveCount: aws.Int32(0), RedriveStatus: types.ExecutionRedriveStatusNotRedrivable, RedriveStatusReason: aws.String(whyNoRedrive),
	}
	if d.Output != nil {
		out.Output = aws.String(string(d.Output))
		out.OutputDetails = &types.CloudWatchEventsExecutionDataDetails{Included: true}
	}
	return out, nil
}

// StopExecution aborts an execution, as Server.Stop does.
func (c *Client) StopExecution(ctx context.Context, in *sfn.StopExecutionInput, _ ...func(*sfn.Options)) (*sfn.StopExecutionOutput, error) {
	const call = "StopExecution"
	if err := ready(ctx, call, needed{"ExecutionArn", in.ExecutionArn}); err != nil {
		return nil, err
	}
	at, err := c.server.Stop(*in.ExecutionArn, aws.ToString(in.Error), aws.ToString(in.Cause))
	if err != nil {
		return nil, asSDK(call, err)
	}
	return &sfn.StopExecutionOutput{StopDate: wireTime(at)}, nil
}

// SendTaskSuccess answers a token, as Server.SucceedTask does.
func (c *Client) SendTaskSuccess(ctx context.Context, in *sfn.SendTaskSuccessInput, _ ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	const call = "SendTaskSuccess"
	if err := ready(ctx, call, needed{"TaskToken", in.TaskToken}, needed{"Output", in.Output}); err != nil {
		return nil, err
	}
	if err := c.server.SucceedTask(*in.TaskToken, []byte(*in.Output)); err != nil {
		return nil, asSDK(call, err)
	}
	return &sfn.SendTaskSuccessOutput{}, nil
}

// needed is a field that the SDK's client does not send a call without.
type needed struct {
	name  string
	value *string
}

// ready refuses what the SDK's client would not send.
func ready(ctx context.Context, call string, fields ...needed) error {
	missing := smithy.InvalidParamsError{Context: call + "Input"}
	for _, f := range fields {
		if f.value == nil {
			missing.Add(smithy.NewErrParamRequired(f.name))
		}
	}
	if missing.Len() > 0 {
		return inCall(call, missing)
	}
	if err := ctx.Err(); err != nil {
		return inCall(call, err)
	}
	return nil
}

func inCall(call string, err error) error {
	return &smithy.OperationError{ServiceID: sfn.ServiceID, OperationName: call, Err: err}
}

// wireTime is a time as it comes over the wire: whole milliseconds; nil for none.
func wireTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return aws.Time(time.UnixMilli(t.UnixMilli()).UTC())
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
