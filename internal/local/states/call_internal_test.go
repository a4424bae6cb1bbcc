package states

import (
	"context"
	"testing"
	"time"

	"holdfast/internal/clock"
)

// These moments last nanoseconds in a running server, so they are set up by hand: an answer has been accepted, and
// before the runner sees it, the function fails or the time is over. What was accepted must count.
func TestAcceptedAnswerCountsWhateverIsSeenFirst(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(*call) (answer, bool){
		"the function's failure": func(c *call) (answer, bool) { return c.replied(reply{bad: &fault{name: "E"}}) },
		"the timeout": func(c *call) (answer, bool) {
			e, over := c.alarmed()
			return e.answer, over
		},
	} {
		s, err := New(Options{Clock: clock.New(), Invoker: noFunction{}, NewToken: func() string { return "t" }})
		if err != nil {
			t.Fatal(err)
		}
		x := &execution{server: s, status: StatusRunning, bell: goroutines{}.NewBell()}
		now := s.clock.Now()
		c := &call{visit: &visit{x: x, state: &state{task: &task{byToken: true}}}, until: now}
		c.token = &tokenTask{x: x, until: now.Add(time.Hour)}
		if err := c.token.settle(answer{out: []byte(`"yes"`)}, now); err != nil {
			t.Fatal(err)
		}
		if a, over := see(c); !over || string(a.out) != `"yes"` || a.bad != nil {
			t.Errorf("%s seen first: %s %v, want the accepted answer", name, a.out, a.bad)
		}
		s.Close()
	}
}

// A call that closing cut off reports an error; that is not the function's word and must not end the execution.
func TestCallCutOffByClosingIsNoFailure(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Clock: clock.New(), Invoker: noFunction{}, NewToken: func() string { return "t" }})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	x := &execution{server: s, status: StatusRunning, bell: goroutines{}.NewBell()}
	c := &call{visit: &visit{x: x, state: &state{task: &task{}}}, until: s.clock.Now().Add(time.Hour)}
	c.put(reply{bad: &fault{name: "Lambda.SdkClientException"}})
	if !c.await().interrupted {
		t.Error("a call cut off by closing counted as the function's failure")
	}
}

type noFunction struct{}

func (noFunction) Invoke(context.Context, string, []byte) ([]byte, *FunctionError, error) {
	return nil, nil, nil
}
