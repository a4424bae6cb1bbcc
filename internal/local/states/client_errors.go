package states

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// asSDK turns a refusal into the error that an *sfn.Client returns for it.
func asSDK(call string, err error) error {
	var refusal *Error
	if !errors.As(err, &refusal) {
		refusal = errFailed()
	}
	return inCall(call, typed(refusal))
}

// typed gives a refusal the SDK's type for its code. A code without a type there is a GenericAPIError.
func typed(e *Error) error {
	message := &e.Message
	switch e.Code {
	case "ExecutionAlreadyExists":
		return &types.ExecutionAlreadyExists{Message: message}
	case "ExecutionDoesNotExist":
		return &types.ExecutionDoesNotExist{Message: message}
	case "ExecutionLimitExceeded":
		return &types.ExecutionLimitExceeded{Message: message}
	case "InvalidArn":
		return &types.InvalidArn{Message: message}
	case "InvalidExecutionInput":
		return &types.InvalidExecutionInput{Message: message}
	case "InvalidName":
		return &types.InvalidName{Message: message}
	case "InvalidOutput":
		return &types.InvalidOutput{Message: message}
	case "InvalidToken":
		return &types.InvalidToken{Message: message}
	case "StateMachineDoesNotExist":
		return &types.StateMachineDoesNotExist{Message: message}
	case "TaskDoesNotExist":
		return &types.TaskDoesNotExist{Message: message}
	case "TaskTimedOut":
		return &types.TaskTimedOut{Message: message}
	case "ValidationException":
		return &types.ValidationException{Message: message}
	}
	return &smithy.GenericAPIError{Code: e.Code, Message: e.Message}
}
