package statemachine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local/states"
)

func TestApprovedRunTakesFiveTransitions(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]answers{"plan": {planned()}, "ask": {says(`{}`)}, "execute": {next("done")}})
	l.approve()
	l.ends(states.StatusSucceeded, "Plan Ask Execute Route Done")
	if got := l.server.Transitions(); got != 5 {
		t.Errorf("%d transitions, want 5", got)
	}
	d, err := l.server.Describe(l.arn)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"run":"run_1","next":"done"}`, string(d.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	// What the token's answer said is not in it: tokens only wake.
	if diff := cmp.Diff([]string{`{"run":"run_1","next":"ask","ask_timeout":90000}`}, l.fns.got["execute"]); diff != "" {
		t.Errorf("what execute was given (-want +got):\n%s", diff)
	}
}

func TestPathsThatNeedNoHelp(t *testing.T) {
	t.Parallel()
	past := `{"run":"run_1","next":%q,"until":"2020-01-01T00:00:00.000Z"}`
	for name, c := range map[string]struct {
		execute, reconcile answers
		want               string
	}{
		"two rounds of execute": {
			execute: answers{next("again"), next("again"), next("done")},
			want:    "Plan Ask Execute Route Execute Route Execute Route Done",
		},
		"execute holds": {execute: answers{next("held")}, want: "Plan Ask Execute Route Held"},
		"execute crashes and nobody can tell": {
			execute: answers{crashes("wrapError")}, reconcile: answers{next("held")},
			want: "Plan Ask Execute Reconcile Route Held",
		},
		"execute crashes with a name that others retry": {
			execute: answers{unavailable("Lambda.ServiceException")}, reconcile: answers{next("done")},
			want: "Plan Ask Execute Reconcile Route Done",
		},
		"execute is killed": {
			execute: answers{unavailable("Sandbox.Timedout"), next("done")}, reconcile: answers{next("again")},
			want: "Plan Ask Execute Reconcile Route Execute Route Done",
		},
		"execute asks to look": {
			execute: answers{next("look")}, reconcile: answers{next("done")},
			want: "Plan Ask Execute Route Reconcile Route Done",
		},
		"a wait to send that is over": {
			execute: answers{says(fmt.Sprintf(past, "wait_to_send")), next("done")},
			want:    "Plan Ask Execute Route WaitToSend Execute Route Done",
		},
		"a wait to look that is over": {
			execute: answers{says(fmt.Sprintf(past, "wait_to_look"))}, reconcile: answers{next("done")},
			want: "Plan Ask Execute Route WaitToLook Reconcile Route Done",
		},
		"a second question": {
			execute: answers{says(`{"run":"run_1","next":"ask","ask_timeout":60}`), next("done")},
			want:    "Plan Ask Execute Route Ask Execute Route Done",
		},
		"an unknown word":             {execute: answers{next("send_it_all")}, want: "Plan Ask Execute Route Held"},
		"no word":                     {execute: answers{says(`{"run":"run_1"}`)}, want: "Plan Ask Execute Route Held"},
		"a word that is a number":     {execute: answers{says(`{"run":"run_1","next":7}`)}, want: "Plan Ask Execute Route Held"},
		"no run":                      {execute: answers{says(`{"next":"again"}`)}, want: "Plan Ask Execute Route Held"},
		"a question without its time": {execute: answers{next("ask")}, want: "Plan Ask Execute Route Held"},
		"a question with a word for a time": {
			execute: answers{says(`{"run":"run_1","next":"ask","ask_timeout":"soon"}`)}, want: "Plan Ask Execute Route Held",
		},
		"a wait without its time": {execute: answers{next("wait_to_send")}, want: "Plan Ask Execute Route Held"},
		"a wait to send with no time at all": {
			execute: answers{says(`{"run":"run_1","next":"wait_to_send","until":"tomorrow"}`)}, want: "Plan Ask Execute Route Held",
		},
		"a wait to look with no time at all": {
			execute: answers{says(`{"run":"run_1","next":"wait_to_look","until":"tomorrow"}`)}, want: "Plan Ask Execute Route Held",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byName := map[string]answers{"plan": {planned()}, "execute": c.execute, "reconcile": c.reconcile}
			l := &lab{}
			answered := make(chan struct{})
			byName["ask"] = answers{func(in map[string]string) (string, *states.FunctionError, error) {
				<-answered // the test below has its server now
				return "{}", nil, l.server.SucceedTask(in["token"], []byte(`{}`))
			}}
			*l = *newLab(t, byName)
			close(answered)
			l.ends(states.StatusSucceeded, c.want)
		})
	}
}

func TestQuestionThatTimesOutIsLookedAt(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]answers{"plan": {planned()}, "ask": {says(`{}`)}, "reconcile": {next("held")}})
	l.after("TaskSubmitted", 1)
	l.clock.Move(90_000 * time.Second)
	l.ends(states.StatusSucceeded, "Plan Ask Reconcile Route Held")
	wantRefusal(t, l.server.SucceedTask(l.token(0), []byte(`{}`)), "TaskTimedOut")
}

func TestQuestionThatCannotBeAskedIsLookedAt(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]answers{"plan": {planned()}, "ask": {crashes("errorString")}, "reconcile": {next("held")}})
	l.ends(states.StatusSucceeded, "Plan Ask Reconcile Route Held")
	if n := len(l.fns.asked); n != 1 {
		t.Errorf("asked %d times, want once: a second try would make a second token", n)
	}
}

func TestWaitsEndWhenTheClockSaysSo(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]answers{"plan": {planned()}, "ask": {says(`{}`)}, "reconcile": {next("done")}})
	until := l.clock.Now().Add(3 * time.Hour).Format("2006-01-02T15:04:05.000Z07:00")
	l.fns.mu.Lock()
	l.fns.byName["execute"] = answers{
		says(fmt.Sprintf(`{"run":"run_1","next":"wait_to_send","until":%q}`, until)),
		says(fmt.Sprintf(`{"run":"run_1","next":"wait_to_look","until":%q}`, l.clock.Now().Add(9*time.Hour).Format(time.RFC3339))),
	}
	l.fns.mu.Unlock()
	l.approve()
	l.after("WaitStateEntered", 1)
	l.clock.Move(2 * time.Hour)
	if n := len(l.server.PathOfStates(l.arn)); n != 5 {
		t.Errorf("%d states entered before the wait was over, want 5", n)
	}
	l.clock.Move(1 * time.Hour)
	l.after("WaitStateEntered", 2)
	l.clock.Move(6 * time.Hour)
	l.ends(states.StatusSucceeded, "Plan Ask Execute Route WaitToSend Execute Route WaitToLook Reconcile Route Done")
}

func TestPlanIsRetriedThenHeld(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]answers{"plan": {unavailable("Lambda.TooManyRequestsException"), crashes("wrapError"), planned()}, "ask": {says(`{}`)}, "execute": {next("done")}})
	for failed := 1; failed <= 2; failed++ {
		l.after("LambdaFunctionFailed", failed)
		l.clock.Move(time.Minute)
	}
	l.approve()
	l.ends(states.StatusSucceeded, "Plan Ask Execute Route Done")
	if got := l.server.Transitions(); got != 7 {
		t.Errorf("%d transitions, want 5 and one for each of two retries", got)
	}

	l = newLab(t, map[string]answers{"plan": {crashes("wrapError")}})
	for failed := 1; failed <= 3; failed++ {
		l.after("LambdaFunctionFailed", failed)
		l.clock.Move(time.Minute)
	}
	l.ends(states.StatusSucceeded, "Plan Held")
}

func TestReconcileThatCannotLookIsHeld(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]answers{
		"plan": {planned()}, "ask": {says(`{}`)}, "execute": {next("look")}, "reconcile": {unavailable("Lambda.ServiceException")},
	})
	l.approve()
	for failed := 1; failed <= 7; failed++ { // the first try and six retries
		l.after("LambdaFunctionFailed", failed)
		l.clock.Move(2 * time.Minute)
	}
	l.ends(states.StatusSucceeded, "Plan Ask Execute Route Reconcile Held")
}

func TestExecuteThatHangsIsLookedAtWhileItMayStillRun(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	l := newLab(t, map[string]answers{"plan": {planned()}, "ask": {says(`{}`)}, "reconcile": {next("held")}, "execute": {
		func(map[string]string) (string, *states.FunctionError, error) { <-finish; return `{}`, nil, nil },
	}})
	l.approve()
	l.after("LambdaFunctionStarted", 2)
	l.clock.Move(65 * time.Second)
	l.ends(states.StatusSucceeded, "Plan Ask Execute Reconcile Route Held")
	close(finish)
}

func TestAbortDuringAskStopsEverything(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]answers{"plan": {planned()}, "ask": {says(`{}`)}})
	l.after("TaskSubmitted", 1)
	if _, err := l.server.Stop(l.arn, "Stopped", "by ops-lead@example.com"); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, l.server.SucceedTask(l.token(0), []byte(`{}`)), "TaskTimedOut")
	l.ends(states.StatusAborted, "Plan Ask")
}

// A decision and the timeout at the same moment: whichever came first counts, and an accepted answer is never lost.
// The moved clock may catch Execute too, when the decision came first; that is Execute's own timeout.
func TestDecisionRacesTheTimeout(t *testing.T) {
	t.Parallel()
	for range 50 {
		l := newLab(t, map[string]answers{"plan": {planned()}, "ask": {says(`{}`)}, "execute": {next("done")}, "reconcile": {next("held")}})
		l.after("TaskSubmitted", 1)
		decided := make(chan error, 1)
		go func() { decided <- l.server.SucceedTask(l.token(0), []byte(`{}`)) }()
		l.clock.Move(90_000 * time.Second)
		want := "Execute"
		if err := <-decided; err != nil {
			wantRefusal(t, err, "TaskTimedOut")
			want = "Reconcile"
		}
		if _, err := l.server.Wait(l.ctx, l.arn); err != nil {
			t.Fatal(err)
		}
		if path := l.server.PathOfStates(l.arn); path[2] != want {
			t.Fatalf("path %v, want %s after Ask", path, want)
		}
	}
}

func wantRefusal(t *testing.T, err error, code string) {
	t.Helper()
	var refusal *states.Error
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Errorf("error %v, want %s", err, code)
	}
}
