package states_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/internal/local/states"
)

// The bubble fails the test when a goroutine is left behind.
func TestCloseLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for name, definition := range map[string]string{
		"a wait":     single(`"Type":"Wait","Seconds":60`),
		"a function": taskOf(``),
		"a token":    single(tokenTask),
		"a retry":    taskOf(`,"Retry":[{"ErrorEquals":["States.ALL"],"IntervalSeconds":60}]`),
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, definition, func(ctx context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
				if name == "a retry" {
					return fails("E")(ctx, arn, payload)
				}
				<-ctx.Done()
				return nil, nil, ctx.Err()
			})
			arn := l.start("e", `{}`)
			synctest.Wait()
			l.server.Close()
			if d, err := l.server.Describe(arn); err != nil || d.Status != states.StatusRunning {
				t.Errorf("%s: %s %v; closing must not make up an end", name, d.Status, err)
			}
			_, err := l.server.Wait(t.Context(), arn)
			refused(t, err, "ServiceUnavailable")
			_, err = l.server.Start(states.MachineArn("m"), "later", []byte(`{}`))
			refused(t, err, "ServiceUnavailable")
		})
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	if _, err := states.New(states.Options{}); err == nil || !strings.Contains(err.Error(), "Clock, Invoker and NewToken") {
		t.Errorf("no options: %v", err)
	}
	l := newLab(t, single(`"Type":"Pass"`), echo)
	_, err := states.New(states.Options{
		Clock: l.clock, Invoker: invoker(echo), NewToken: func() string { return "" },
		Machines: map[string][]byte{"good": []byte(single(`"Type":"Pass"`)), "odd": []byte(single(`"Type":"Map"`))},
	})
	if err == nil || err.Error() != "state machine odd: the state type Map is not supported at /States/X/Type" {
		t.Errorf("a bad definition: %v", err)
	}
}

func TestWireRefusals(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Pass"`), echo)
	web := httptest.NewServer(l.server)
	t.Cleanup(web.Close)
	for _, c := range []struct{ method, target, body, want string }{
		{http.MethodGet, "AWSStepFunctions.ListExecutions", ``, "UnknownOperationException"},
		{http.MethodPost, "DynamoDB_20120810.GetItem", `{}`, "UnknownOperationException"},
		{http.MethodPost, "AWSStepFunctions.ListExecutions", `{`, "ValidationException"},
		{http.MethodPost, "AWSStepFunctions.ListExecutions", `{"mapRunArn":"x"}`, "ValidationException"},
		{http.MethodPost, "AWSStepFunctions.ListExecutions", `{"maxResults":1001}`, "ValidationException"},
		{http.MethodPost, "AWSStepFunctions.ListExecutions", `{"nextToken":"x"}`, "InvalidToken"},
		{http.MethodPost, "AWSStepFunctions.ListExecutions", fmt.Sprintf(`{"nextToken":"%s"}`, strings.Repeat("x", 1<<20)), "ValidationException"},
		{http.MethodPost, "AWSStepFunctions.CreateStateMachine", `{"name":"n","type":"EXPRESS"}`, "ValidationException"},
		{http.MethodPost, "AWSStepFunctions.DescribeStateMachine", `{"stateMachineArn":"x"}`, "StateMachineDoesNotExist"},
		{http.MethodPost, "AWSStepFunctions.StopExecution", `{"executionArn":"` + states.ExecutionArn("m", "no") + `"}`, "ExecutionDoesNotExist"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, web.URL, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Amz-Target", c.target)
		answer, err := web.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"__type":"`+c.want+`"`) {
			t.Errorf("%s %s: %d %s, want %s", c.target, c.body[:min(40, len(c.body))], answer.StatusCode, body, c.want)
		}
	}
}
