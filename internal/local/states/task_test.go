package states_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/local/states"
)

// caught is a task whose catcher leads to a state named after the errors that it catches.
func caught(errorEquals, fields string) string {
	return `{"StartAt":"X","States":{"X":{"Type":"Task","Resource":"` + function + `","End":true` + fields + `,
		"Catch":[{"ErrorEquals":["` + errorEquals + `"],"Next":"Caught"}]},"Caught":{"Type":"Succeed"}}}`
}

func TestWhatCatches(t *testing.T) {
	t.Parallel()
	hangs := func(ctx context.Context, _ string, _ []byte) ([]byte, *states.FunctionError, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	service := func(err error) invoker {
		return func(context.Context, string, []byte) ([]byte, *states.FunctionError, error) { return nil, nil, err }
	}
	for _, c := range []struct {
		f      invoker
		equals string
		want   bool
		hangs  bool
	}{
		{fails("wrapError"), "wrapError", true, false},
		{fails("wrapError"), "otherError", false, false},
		{fails("wrapError"), "States.TaskFailed", true, false},
		{fails("wrapError"), "States.ALL", true, false},
		{fails("wrapError"), "States.Timeout", false, false},
		{hangs, "States.Timeout", true, true},
		{hangs, "States.ALL", true, true},
		{hangs, "States.TaskFailed", false, true},
		{hangs, "States.HeartbeatTimeout", false, true},
		{fails("States.Runtime"), "States.ALL", false, false},
		{fails("States.DataLimitExceeded"), "States.ALL", false, false},
		{service(&states.InvokeError{Name: "Lambda.Unknown"}), "Lambda.Unknown", true, false},
		{service(&states.InvokeError{Name: "Sandbox.Timedout"}), "States.TaskFailed", true, false},
		{service(errors.New("the connection broke")), "Lambda.SdkClientException", true, false},
	} {
		l := newLab(t, caught(c.equals, `,"TimeoutSeconds":600`), c.f)
		arn := l.start("e", `{}`)
		l.after(arn, "LambdaFunctionStarted", 1)
		if c.hangs {
			l.clock.Move(600 * time.Second)
		}
		d := l.wait(arn)
		if got := d.Status == states.StatusSucceeded; got != c.want {
			t.Errorf("%s catches %s (%s): %v, want %v", c.equals, d.Error, d.Cause, got, c.want)
		}
	}
}

func TestCaughtErrorTravelsWhereResultPathSays(t *testing.T) {
	t.Parallel()
	with := func(resultPath string) string {
		return strings.Replace(caught("States.ALL", ``), `"Next":"Caught"`, `"Next":"Caught"`+resultPath, 1)
	}
	for resultPath, want := range map[string]string{
		``:                      `{"Cause":"{\"errorType\":\"E\"}","Error":"E"}`,
		`,"ResultPath":null`:    `{"a":1}`,
		`,"ResultPath":"$.why"`: `{"a":1,"why":{"Cause":"{\"errorType\":\"E\"}","Error":"E"}}`,
	} {
		l := newLab(t, with(resultPath), fails("E"))
		arn := l.start("e", `{"a":1}`)
		l.same("output", want, string(l.wait(arn).Output))
		l.same("events", "ExecutionStarted TaskStateEntered LambdaFunctionScheduled LambdaFunctionStarted LambdaFunctionFailed "+
			"TaskStateExited SucceedStateEntered SucceedStateExited ExecutionSucceeded", l.types(arn))
	}
}

func TestRetryWaitsGrowAndEnd(t *testing.T) {
	t.Parallel()
	for retry, want := range map[string][]time.Duration{
		`{"ErrorEquals":["E"]}`: {1 * time.Second, 2 * time.Second, 4 * time.Second},
		`{"ErrorEquals":["E"],"IntervalSeconds":3,"MaxAttempts":4,"BackoffRate":3,"MaxDelaySeconds":10}`: {3 * time.Second, 9 * time.Second, 10 * time.Second, 10 * time.Second},
		`{"ErrorEquals":["E"],"MaxAttempts":1,"IntervalSeconds":8,"JitterStrategy":"FULL"}`:              {2 * time.Second},
		`{"ErrorEquals":["E"],"MaxAttempts":0}`:                                                          nil,
		`{"ErrorEquals":["F"]},{"ErrorEquals":["States.ALL"],"MaxAttempts":1}`:                           {1 * time.Second},
	} {
		// Inside the bubble time passes only when everything waits, so waits are measured exactly.
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, taskOf(`,"Retry":[`+retry+`]`), fails("E"), func(o *states.Options) { o.Random = func() float64 { return 0.25 } })
			arn := l.start("e", `{}`)
			l.same("error", "E", l.wait(arn).Error)
			l.same("transitions", int64(len(want)+1), l.server.Transitions())
			l.same("waits of "+retry, want, l.gaps(arn, "LambdaFunctionFailed", "LambdaFunctionScheduled"))
		})
	}
}

func TestCallsInProgressAreBounded(t *testing.T) {
	t.Parallel()
	inside, release := make(chan struct{}, 2), make(chan struct{})
	f := func(context.Context, string, []byte) ([]byte, *states.FunctionError, error) {
		inside <- struct{}{}
		<-release
		return []byte(`{}`), nil, nil
	}
	l := newLab(t, taskOf(``), f, func(o *states.Options) { o.MaxCalls = 2 })
	var arns []string
	for i := range 2 {
		arns = append(arns, l.start(fmt.Sprint("e", i), `{}`))
		l.after(arns[i], "LambdaFunctionStarted", 1)
	}
	<-inside
	<-inside
	third := l.wait(l.start("third", `{}`))
	if third.Error != "Lambda.TooManyRequestsException" {
		t.Errorf("the third call ended with %q, want Lambda.TooManyRequestsException", third.Error)
	}
	close(release)
	for _, arn := range arns {
		l.same("status", states.StatusSucceeded, l.wait(arn).Status)
	}
}

func TestHistoryEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	l := newLab(t, `{"StartAt":"X","States":{"X":{"Type":"Pass","Next":"Y"},"Y":{"Type":"Pass","Next":"X"}}}`, echo)
	arn := l.start("e", `{}`)
	d := l.wait(arn)
	l.same("error", "States.Runtime: The execution reached the maximum number of history events (25000).", d.Error+": "+d.Cause)
	events, err := l.server.History(arn)
	if err != nil {
		t.Fatal(err)
	}
	l.same("number of events", 25_000, len(events))
}

func TestExecutionTimeoutCannotBeCaught(t *testing.T) {
	t.Parallel()
	l := newLab(t, `{"TimeoutSeconds":10,"StartAt":"X","States":{"X":{"Type":"Wait","Seconds":11,"End":true}}}`, echo)
	arn := l.start("e", `{}`)
	l.after(arn, "WaitStateEntered", 1)
	l.clock.Move(10 * time.Second)
	d := l.wait(arn)
	l.same("end", "TIMED_OUT States.Timeout", string(d.Status)+" "+d.Error)
	l.same("events", "ExecutionStarted WaitStateEntered ExecutionTimedOut", l.types(arn))
}

func TestWaitStates(t *testing.T) {
	t.Parallel()
	for _, format := range []string{
		`"Seconds":3600 {}`,
		`"SecondsPath":"$.s" {"s":3600}`,
		`"TimestampPath":"$.t" {"t":"%s"}`,
		`"Timestamp":"%s" {}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			end := clock.New().Now().Add(time.Hour).Format(time.RFC3339Nano)
			fields, input, _ := strings.Cut(strings.Replace(format, "%s", end, 1), " ")
			l := newLab(t, single(`"Type":"Wait",`+fields), echo)
			arn := l.start("e", input)
			l.same("status", states.StatusSucceeded, l.wait(arn).Status)
			l.same("wait of "+fields, []time.Duration{time.Hour}, l.gaps(arn, "WaitStateEntered", "WaitStateExited"))
		})
	}
}

// A short wait that is added while a long one is slept through must not oversleep.
func TestShortWaitBesideALongOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, single(`"Type":"Wait","SecondsPath":"$.s"`), echo)
		long := l.start("long", `{"s":7200}`)
		synctest.Wait()
		short := l.start("short", `{"s":5}`)
		for arn, want := range map[string]time.Duration{long: 2 * time.Hour, short: 5 * time.Second} {
			l.wait(arn)
			l.same("wait", []time.Duration{want}, l.gaps(arn, "WaitStateEntered", "WaitStateExited"))
		}
	})
}
