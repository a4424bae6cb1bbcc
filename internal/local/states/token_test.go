package states_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/local/states"
)

func TestTokenIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	f, tokens := tokenKeeper()
	l := newLab(t, single(tokenTask+`,"TimeoutSeconds":60`), f)
	arn := l.start("e", `{}`)
	token := <-tokens
	l.after(arn, "TaskSubmitted", 1)
	if err := l.server.SucceedTask(token, []byte(`{"yes":1}`)); err != nil {
		t.Fatal(err)
	}
	l.same("output", `{"yes":1}`, string(l.wait(arn).Output))
	refused(t, l.server.SucceedTask(token, []byte(`{"yes":1}`)), "TaskTimedOut")
	refused(t, l.server.FailTask(token, "E", ""), "TaskTimedOut")
	refused(t, l.server.BeatTask(token), "TaskTimedOut")
	l.same("events", "ExecutionStarted TaskStateEntered TaskScheduled TaskStarted TaskSubmitted TaskSucceeded TaskStateExited ExecutionSucceeded", l.types(arn))
}

// The execution goes on after the task: its token stays closed all the same.
func TestTokenOfAnEarlierStateIsClosed(t *testing.T) {
	t.Parallel()
	f, tokens := tokenKeeper()
	catch := `,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"Later"}]},"Later":{"Type":"Wait","Seconds":60,"Next":"End"},"End":{"Type":"Succeed"`
	definition := strings.Replace(single(tokenTask+catch), `"End":true`, `"Next":"Later"`, 1)
	l := newLab(t, definition, f)
	arn := l.start("answered", `{}`)
	token := <-tokens
	if err := l.server.SucceedTask(token, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	l.after(arn, "WaitStateEntered", 1)
	refused(t, l.server.SucceedTask(token, []byte(`{}`)), "TaskTimedOut")

	l = newLab(t, definition, func(ctx context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
		_, _, err := f(ctx, arn, payload)
		return nil, &states.FunctionError{Type: "NotAsked"}, err
	})
	arn = l.start("failed", `{}`)
	l.after(arn, "WaitStateEntered", 1)
	refused(t, l.server.SucceedTask(<-tokens, []byte(`{}`)), "TaskTimedOut")
}

func TestTokenFailureIsTheTasksError(t *testing.T) {
	t.Parallel()
	f, tokens := tokenKeeper()
	l := newLab(t, single(tokenTask), f)
	arn := l.start("e", `{}`)
	if err := l.server.FailTask(<-tokens, "Declined", "by the reviewer"); err != nil {
		t.Fatal(err)
	}
	d := l.wait(arn)
	l.same("end", "FAILED Declined by the reviewer", string(d.Status)+" "+d.Error+" "+d.Cause)
}

func TestTokensThatAreNone(t *testing.T) {
	t.Parallel()
	l := newLab(t, single(`"Type":"Pass"`), echo)
	refused(t, l.server.SucceedTask("garbage", []byte(`{}`)), "InvalidToken")
	refused(t, l.server.SucceedTask("", []byte(`{}`)), "InvalidToken")
	refused(t, l.server.SucceedTask("local-never-issued", []byte(`{}`)), "TaskDoesNotExist")
	refused(t, l.server.SucceedTask("local-x", []byte(`not JSON`)), "InvalidOutput")
	refused(t, l.server.SucceedTask("local-x", []byte(`"`+strings.Repeat("x", 262_144)+`"`)), "InvalidOutput")
	refused(t, l.server.FailTask("local-x", strings.Repeat("e", 257), ""), "ValidationException")
}

func TestHeartbeatKeepsATaskAliveUntilItsTimeout(t *testing.T) {
	t.Parallel()
	// In the bubble no time passes but what the test moves.
	synctest.Test(t, func(t *testing.T) {
		f, tokens := tokenKeeper()
		catch := `,"Catch":[{"ErrorEquals":["States.HeartbeatTimeout"],"Next":"Silent"}]},"Silent":{"Type":"Succeed"`
		definition := single(tokenTask + `,"TimeoutSeconds":60,"HeartbeatSeconds":20` + catch)
		l := newLab(t, definition, f)

		silent := l.start("silent", `{}`)
		token := <-tokens
		l.after(silent, "TaskSubmitted", 1)
		l.clock.Move(20 * time.Second)
		l.same("path of the silent one", states.StatusSucceeded, l.wait(silent).Status)
		l.same("events", "ExecutionStarted TaskStateEntered TaskScheduled TaskStarted TaskSubmitted TaskTimedOut TaskStateExited SucceedStateEntered SucceedStateExited ExecutionSucceeded", l.types(silent))
		refused(t, l.server.BeatTask(token), "TaskTimedOut")

		beating := l.start("beating", `{}`)
		token = <-tokens
		l.after(beating, "TaskSubmitted", 1)
		for range 3 {
			l.clock.Move(15 * time.Second)
			if err := l.server.BeatTask(token); err != nil {
				t.Fatal(err)
			}
		}
		l.clock.Move(15 * time.Second)
		refused(t, l.server.BeatTask(token), "TaskTimedOut")
		d := l.wait(beating)
		l.same("end of the beating one", "FAILED States.Timeout", string(d.Status)+" "+d.Error)
	})
}

func TestRetryMakesANewToken(t *testing.T) {
	t.Parallel()
	// In the bubble no time passes but what the test moves.
	synctest.Test(t, func(t *testing.T) {
		f, tokens := tokenKeeper()
		l := newLab(t, single(tokenTask+`,"TimeoutSeconds":10,"Retry":[{"ErrorEquals":["States.Timeout"],"MaxAttempts":1}]`), f)
		arn := l.start("e", `{}`)
		old := <-tokens
		l.after(arn, "TaskSubmitted", 1)
		l.clock.Move(10 * time.Second)
		l.after(arn, "TaskTimedOut", 1)
		l.clock.Move(1 * time.Second)
		fresh := <-tokens
		refused(t, l.server.SucceedTask(old, []byte(`{}`)), "TaskTimedOut")
		if err := l.server.SucceedTask(fresh, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		l.same("status", states.StatusSucceeded, l.wait(arn).Status)
	})
}

// The function answers its own token, then fails: the answer was accepted, so it counts.
func TestAcceptedAnswerOutlivesTheFunctionsFailure(t *testing.T) {
	t.Parallel()
	var l *lab
	ready := make(chan struct{})
	f, tokens := tokenKeeper()
	l = newLab(t, single(tokenTask), func(ctx context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
		<-ready
		_, _, _ = f(ctx, arn, payload)
		if err := l.server.SucceedTask(<-tokens, []byte(`"own"`)); err != nil {
			return nil, nil, err
		}
		return nil, &states.FunctionError{Type: "TooLate"}, nil
	})
	close(ready)
	d := l.wait(l.start("e", `{}`))
	l.same("end", `SUCCEEDED "own"`, string(d.Status)+" "+string(d.Output))
}

func TestTokenOfAForgottenExecutionDoesNotExist(t *testing.T) {
	t.Parallel()
	f, tokens := tokenKeeper()
	l := newLab(t, single(tokenTask), f, func(o *states.Options) { o.MaxClosed = 1 })
	for _, name := range []string{"first", "second"} {
		arn := l.start(name, `{}`)
		token := <-tokens
		if err := l.server.SucceedTask(token, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		l.wait(arn)
		if name == "first" {
			defer func() { refused(t, l.server.SucceedTask(token, []byte(`{}`)), "TaskDoesNotExist") }()
		}
	}
}
