package states_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// pages reads a history page by page; each line is an event: its id, the previous one's, its type and its details.
func (l *lab) pages(arn string, change func(*sfn.GetExecutionHistoryInput)) (pages []string) {
	l.Helper()
	in := &sfn.GetExecutionHistoryInput{ExecutionArn: &arn}
	change(in)
	p := sfn.NewGetExecutionHistoryPaginator(l.sdk, in)
	for p.HasMorePages() {
		page, err := p.NextPage(l.Context())
		if err != nil {
			l.Fatal(err)
		}
		var lines []string
		for _, e := range page.Events {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %d %s %s", e.Id, e.PreviousEventId, e.Type, details(e))))
		}
		pages = append(pages, strings.Join(lines, "\n"))
	}
	return pages
}

func details(e types.HistoryEvent) string {
	switch e.Type {
	case types.HistoryEventTypeExecutionStarted:
		return *e.ExecutionStartedEventDetails.Input
	case types.HistoryEventTypeTaskStateEntered:
		return *e.StateEnteredEventDetails.Name + " " + *e.StateEnteredEventDetails.Input
	case types.HistoryEventTypeTaskStateExited:
		return *e.StateExitedEventDetails.Name + " " + *e.StateExitedEventDetails.Output
	case types.HistoryEventTypeLambdaFunctionScheduled:
		d := e.LambdaFunctionScheduledEventDetails
		return fmt.Sprint(*d.Resource, " ", *d.Input, " ", aws.ToInt64(d.TimeoutInSeconds))
	case types.HistoryEventTypeLambdaFunctionSucceeded:
		return *e.LambdaFunctionSucceededEventDetails.Output
	case types.HistoryEventTypeLambdaFunctionFailed:
		return *e.LambdaFunctionFailedEventDetails.Error + " " + *e.LambdaFunctionFailedEventDetails.Cause
	case types.HistoryEventTypeTaskScheduled:
		d := e.TaskScheduledEventDetails
		return fmt.Sprint(*d.ResourceType, " ", *d.Resource, " ", *d.Parameters, " ", aws.ToInt64(d.TimeoutInSeconds), " ", aws.ToInt64(d.HeartbeatInSeconds))
	case types.HistoryEventTypeTaskStarted:
		return *e.TaskStartedEventDetails.ResourceType + " " + *e.TaskStartedEventDetails.Resource
	case types.HistoryEventTypeTaskSubmitted:
		return *e.TaskSubmittedEventDetails.Output
	case types.HistoryEventTypeTaskSucceeded:
		return *e.TaskSucceededEventDetails.Output
	case types.HistoryEventTypeExecutionSucceeded:
		return *e.ExecutionSucceededEventDetails.Output
	case types.HistoryEventTypeExecutionFailed:
		return *e.ExecutionFailedEventDetails.Error
	}
	return ""
}

func TestHistoryOfAFunctionByItsArn(t *testing.T) {
	t.Parallel()
	l := newLab(t, taskOf(`,"TimeoutSeconds":500`), echo)
	arn := l.start("e", `{"a":1}`)
	l.wait(arn)
	all := []string{
		`1 0 ExecutionStarted {"a":1}`,
		`2 0 TaskStateEntered X {"a":1}`,
		`3 2 LambdaFunctionScheduled ` + function + ` {"a":1} 500`,
		`4 3 LambdaFunctionStarted`,
		`5 4 LambdaFunctionSucceeded {"a":1}`,
		`6 5 TaskStateExited X {"a":1}`,
		`7 6 ExecutionSucceeded {"a":1}`,
	}
	l.same("history", []string{strings.Join(all, "\n")}, l.pages(arn, func(*sfn.GetExecutionHistoryInput) {}))
	l.same("three a page, reversed",
		[]string{all[6] + "\n" + all[5] + "\n" + all[4], all[3] + "\n" + all[2] + "\n" + all[1], all[0]},
		l.pages(arn, func(in *sfn.GetExecutionHistoryInput) { in.MaxResults, in.ReverseOrder = 3, true }))
}

func TestHistoryOfAFailedFunction(t *testing.T) {
	t.Parallel()
	l := newLab(t, taskOf(``), fails("wrapError"))
	arn := l.start("e", `{}`)
	l.wait(arn)
	l.same("history", []string{strings.Join([]string{
		`1 0 ExecutionStarted {}`,
		`2 0 TaskStateEntered X {}`,
		`3 2 LambdaFunctionScheduled ` + function + ` {} 0`,
		`4 3 LambdaFunctionStarted`,
		`5 4 LambdaFunctionFailed wrapError {"errorType":"wrapError"}`,
		`6 5 ExecutionFailed wrapError`,
	}, "\n")}, l.pages(arn, func(*sfn.GetExecutionHistoryInput) {}))
}

func TestHistoryOfATokenTask(t *testing.T) {
	t.Parallel()
	f, tokens := tokenKeeper()
	l := newLab(t, single(tokenTask+`,"TimeoutSeconds":600,"HeartbeatSeconds":500`), f)
	arn := l.start("e", `{}`)
	token := <-tokens
	l.after(arn, "TaskSubmitted", 1)
	send := &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String(`"yes"`)}
	if _, err := l.sdk.SendTaskHeartbeat(l.Context(), &sfn.SendTaskHeartbeatInput{TaskToken: &token}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.sdk.SendTaskSuccess(l.Context(), send); err != nil {
		t.Fatal(err)
	}
	l.wait(arn)
	_, err := l.sdk.SendTaskSuccess(l.Context(), send)
	l.same("the same answer again", "TaskTimedOut", code(err))
	_, err = l.sdk.SendTaskFailure(l.Context(), &sfn.SendTaskFailureInput{TaskToken: aws.String("garbage")})
	l.same("an answer with garbage", "InvalidToken", code(err))
	l.same("history", []string{strings.Join([]string{
		`1 0 ExecutionStarted {}`,
		`2 0 TaskStateEntered X {}`,
		`3 2 TaskScheduled lambda invoke.waitForTaskToken {"FunctionName":"f","Payload":{"token":"local-t1"}} 600 500`,
		`4 3 TaskStarted lambda invoke.waitForTaskToken`,
		`5 4 TaskSubmitted {"ExecutedVersion":"$LATEST","Payload":{"sent":true},"StatusCode":200}`,
		`6 5 TaskSucceeded "yes"`,
		`7 6 TaskStateExited X "yes"`,
		`8 7 ExecutionSucceeded "yes"`,
	}, "\n")}, l.pages(arn, func(*sfn.GetExecutionHistoryInput) {}))
}

func TestHistoryWithoutData(t *testing.T) {
	t.Parallel()
	l := newLab(t, taskOf(``), echo)
	arn := l.start("e", `{"secret":1}`)
	l.wait(arn)
	out, err := l.sdk.GetExecutionHistory(l.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &arn, IncludeExecutionData: aws.Bool(false)})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Events {
		if d := e.StateEnteredEventDetails; d != nil && d.Input != nil {
			t.Errorf("event %d shows its input", e.Id)
		}
		if d := e.ExecutionStartedEventDetails; d != nil && d.Input != nil {
			t.Errorf("event %d shows its input", e.Id)
		}
	}
}
