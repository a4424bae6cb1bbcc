package states

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Error names of the States Language.
const (
	errALL                = "States.ALL"
	errTimeout            = "States.Timeout"
	errHeartbeatTimeout   = "States.HeartbeatTimeout"
	errTaskFailed         = "States.TaskFailed"
	errRuntime            = "States.Runtime"
	errDataLimit          = "States.DataLimitExceeded"
	errResultPath         = "States.ResultPathMatchFailure"
	errTooManyRequests    = "Lambda.TooManyRequestsException"
	errUnclearInvocation  = "Lambda.SdkClientException"
	causeTooManyRequests  = "Rate Exceeded. (Service: AWSLambda; Status Code: 429; Error Code: TooManyRequestsException)"
	causeNoNextState      = "Failed to transition out of the state. The state does not point to a next state."
	causeHistoryLimit     = "The execution reached the maximum number of history events (25000)."
	causeTooLargeTemplate = "The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit."
)

// fault is an error inside an execution: what Retry and Catch look at. Where cause is empty, history shows none.
type fault struct {
	name  string
	cause string
	// heartbeat: the fault is called States.Timeout, and States.HeartbeatTimeout matches it too.
	heartbeat bool
}

func runtimeFault(format string, args ...any) *fault {
	return &fault{name: errRuntime, cause: fmt.Sprintf(format, args...)}
}

// terminal reports whether no Retry and no Catch can stop the fault.
func (f *fault) terminal() bool { return f.name == errRuntime || f.name == errDataLimit }

// isOneOf reports whether an ErrorEquals list matches: by name, or by the wildcards States.ALL and, for everything
// that is not a timeout, States.TaskFailed.
func (f *fault) isOneOf(names []string) bool {
	if f.terminal() {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		switch name {
		case errALL, f.name:
			return true
		case errTaskFailed:
			return f.name != errTimeout
		}
		return f.heartbeat && name == errHeartbeatTimeout
	})
}

// output is what a Catch hands on.
func (f *fault) output() map[string]any {
	return map[string]any{"Error": f.name, "Cause": f.cause}
}

// functionFault turns what an Invoker reported into a fault.
func functionFault(fnErr *FunctionError, err error) *fault {
	var named *InvokeError
	if errors.As(err, &named) {
		return &fault{name: named.Name, cause: named.Message}
	}
	if err != nil {
		return &fault{name: errUnclearInvocation, cause: err.Error()}
	}
	if fnErr == nil {
		return nil
	}
	cause := string(fnErr.Payload)
	if !json.Valid(fnErr.Payload) {
		cause = string(encode(map[string]any{"errorMessage": cause, "errorType": fnErr.Type}))
	}
	return &fault{name: fnErr.Type, cause: cause}
}
