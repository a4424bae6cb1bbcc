package states_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"holdfast/internal/local/states"
)

func code(err error) string {
	var refusal smithy.APIError
	if errors.As(err, &refusal) {
		return refusal.ErrorCode()
	}
	return fmt.Sprint(err)
}

func (l *lab) sdkStart(name, input string) (*sfn.StartExecutionOutput, error) {
	return l.sdk.StartExecution(l.Context(), &sfn.StartExecutionInput{
		StateMachineArn: aws.String(states.MachineArn("m")), Name: aws.String(name), Input: aws.String(input),
	})
}

func TestStartIsIdempotentOnlyWhileRunning(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Wait","Seconds":60`), echo, func(o *states.Options) { o.MaxClosed = 1 })
	first, err := l.sdkStart("run_1-1", `{"run":"run_1"}`)
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.sdkStart("run_1-1", `{"run":"run_1"}`)
	if err != nil {
		t.Fatal(err)
	}
	l.same("second answer", []any{*first.ExecutionArn, *first.StartDate}, []any{*again.ExecutionArn, *again.StartDate})
	_, err = l.sdkStart("run_1-1", `{"run":"run_2"}`)
	var taken *types.ExecutionAlreadyExists
	if !errors.As(err, &taken) {
		t.Fatalf("other input: %v, want ExecutionAlreadyExists", err)
	}
	l.same("message", "Execution Already Exists: '"+*first.ExecutionArn+"'", taken.ErrorMessage())

	l.after(*first.ExecutionArn, "WaitStateEntered", 1)
	l.clock.Move(time.Minute)
	l.wait(*first.ExecutionArn)
	_, err = l.sdkStart("run_1-1", `{"run":"run_1"}`)
	l.same("the same start after its end", "ExecutionAlreadyExists", code(err))
}

func TestNameStaysTakenForNinetyDays(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Pass"`), echo, func(o *states.Options) { o.MaxClosed = 1 })
	old := l.start("old", `{}`)
	l.wait(old)
	l.wait(l.start("newer", `{}`)) // pushes the first one's history out
	_, err := l.server.Describe(old)
	refused(t, err, "ExecutionDoesNotExist")
	_, err = l.sdkStart("old", `{}`)
	l.same("start under the name of a forgotten execution", "ExecutionAlreadyExists", code(err))
	l.clock.Move(90*24*time.Hour - time.Hour)
	_, err = l.sdkStart("newer", `{}`)
	l.same("start after 89 days", "ExecutionAlreadyExists", code(err))
	l.clock.Move(time.Hour)
	for _, name := range []string{"old", "newer"} {
		started, err := l.sdkStart(name, `{}`)
		if err != nil {
			t.Fatalf("start after 90 days: %v", err)
		}
		l.same("status", states.StatusSucceeded, l.wait(*started.ExecutionArn).Status)
	}
}

func TestStartRefusals(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Wait","Seconds":60`), echo, func(o *states.Options) { o.MaxOpen = 1; o.MaxNames = 2 })
	for name, want := range map[string]string{
		"a b": "InvalidName", "a/b": "InvalidName", "a\u0001": "InvalidName", strings.Repeat("n", 81): "InvalidName", "a*": "InvalidName",
	} {
		_, err := l.sdkStart(name, `{}`)
		l.same(name, want, code(err))
	}
	_, err := l.sdkStart("e", `{`)
	l.same("broken input", "InvalidExecutionInput", code(err))
	_, err = l.server.Start(states.MachineArn("other"), "e", []byte(`{}`))
	refused(t, err, "StateMachineDoesNotExist")

	l.start("first", `{}`)
	_, err = l.sdkStart("second", `{}`)
	l.same("one more than MaxOpen", "ExecutionLimitExceeded", code(err))
	for _, name := range []string{"first", "second"} {
		if name == "second" {
			l.start(name, `{}`)
		}
		if _, err := l.server.Stop(states.ExecutionArn("m", name), "", ""); err != nil {
			t.Fatal(err)
		}
	}
	_, err = l.sdkStart("third", `{}`)
	l.same("one more than MaxNames", "ExecutionLimitExceeded", code(err))
}

func TestStopAborts(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Wait","Seconds":60`), echo)
	arn := l.start("e", `{"a":1}`)
	l.after(arn, "WaitStateEntered", 1)
	stop := &sfn.StopExecutionInput{ExecutionArn: &arn, Error: aws.String("Stopped"), Cause: aws.String("by a person")}
	stopped, err := l.sdk.StopExecution(l.Context(), stop)
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.sdk.DescribeExecution(l.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	l.same("description", []any{types.ExecutionStatusAborted, "Stopped", "by a person", `{"a":1}`, *stopped.StopDate},
		[]any{d.Status, *d.Error, *d.Cause, *d.Input, *d.StopDate})
	l.same("events", "ExecutionStarted WaitStateEntered ExecutionAborted", l.types(arn))
	again, err := l.sdk.StopExecution(l.Context(), stop)
	if err != nil || !again.StopDate.Equal(*stopped.StopDate) {
		t.Errorf("stopping again: %v %v, want the first stop's date", again, err)
	}
}

func TestListPagesAndFilters(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Wait","SecondsPath":"$.s"`), echo)
	for i := range 5 {
		arn := l.start(fmt.Sprint("e", i), fmt.Sprintf(`{"s":%d}`, i%2*60))
		if i%2 == 0 {
			l.wait(arn)
		}
	}
	list := func(filter types.ExecutionStatus, max int32) (pages []string) {
		p := sfn.NewListExecutionsPaginator(l.sdk, &sfn.ListExecutionsInput{
			StateMachineArn: aws.String(states.MachineArn("m")), StatusFilter: filter, MaxResults: max,
		})
		for p.HasMorePages() {
			page, err := p.NextPage(l.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range page.Executions {
				names = append(names, *e.Name)
			}
			pages = append(pages, strings.Join(names, " "))
		}
		return pages
	}
	l.same("all", []string{"e4 e3 e2 e1 e0"}, list("", 0))
	l.same("two a page", []string{"e4 e3", "e2 e1", "e0"}, list("", 2))
	_, err := l.sdk.ListExecutions(t.Context(), &sfn.ListExecutionsInput{
		StateMachineArn: aws.String(states.MachineArn("m")), StatusFilter: types.ExecutionStatusPendingRedrive,
	})
	l.same("a status that nothing can have", "ValidationException", code(err))
	l.same("running", []string{"e3 e1"}, list(types.ExecutionStatusRunning, 0))
	l.same("succeeded, two a page", []string{"e4 e2", "e0"}, list(types.ExecutionStatusSucceeded, 2))
}

func TestMachinesThroughTheAPI(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Pass"`), echo)
	create := func(name, definition string) error {
		_, err := l.sdk.CreateStateMachine(l.Context(), &sfn.CreateStateMachineInput{
			Name: &name, Definition: &definition, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"),
		})
		return err
	}
	var bad *types.InvalidDefinition
	if err := create("n", single(`"Type":"Map"`)); !errors.As(err, &bad) || !strings.Contains(bad.ErrorMessage(), "/States/X/Type") {
		t.Errorf("error %v, want an InvalidDefinition that says where", err)
	}
	for range 2 {
		if err := create("m", single(`"Type":"Pass"`)); err != nil {
			t.Errorf("creating the same machine again: %v", err)
		}
	}
	l.same("another definition", "StateMachineAlreadyExists", code(create("m", single(`"Type":"Pass","Result":1`))))
	d, err := l.sdk.DescribeStateMachine(l.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: aws.String(states.MachineArn("m"))})
	if err != nil || *d.Definition != single(`"Type":"Pass"`) {
		t.Errorf("described as %v, %v", d, err)
	}
}

func TestUnknownOperationsAreRefusedByName(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Pass"`), echo)
	_, err := l.sdk.RedriveExecution(l.Context(), &sfn.RedriveExecutionInput{ExecutionArn: aws.String(states.ExecutionArn("m", "e"))})
	l.same("code", "UnknownOperationException", code(err))
	if err == nil || !strings.Contains(err.Error(), "RedriveExecution does not exist on the laptop") {
		t.Errorf("error %v does not say what was refused", err)
	}
	_, err = l.sdk.DescribeExecution(l.Context(), &sfn.DescribeExecutionInput{ExecutionArn: aws.String("arn:aws:states:x")})
	l.same("not an execution's ARN", "InvalidArn", code(err))
}
