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
		s := serverFor(t)
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
	}
}

// A call that closing cut off reports an error; that is not the function's word and must not end the execution.
func TestCallCutOffByClosingIsNoFailure(t *testing.T) {
	t.Parallel()
	s := serverFor(t)
	s.Close()
	x := &execution{server: s, status: StatusRunning, bell: goroutines{}.NewBell()}
	c := &call{visit: &visit{x: x, state: &state{task: &task{}}}, until: s.clock.Now().Add(time.Hour)}
	c.put(reply{bad: &fault{name: "Lambda.SdkClientException"}})
	if !c.await().interrupted {
		t.Error("a call cut off by closing counted as the function's failure")
	}
}

// Everything has happened at once, and the runner looks: the most certain thing counts.
func TestWhatCountsFirst(t *testing.T) {
	t.Parallel()
	open, closing := serverFor(t), serverFor(t)
	closing.Close()
	for _, c := range []struct {
		name             string
		server           *Server
		status           Status
		accepted         *answer
		reply            *reply
		interrupted      bool
		answer, timedOut string
	}{
		{"a server that closes", closing, StatusRunning, &answer{out: []byte("a")}, &reply{bad: &fault{name: "E"}}, true, "", ""},
		{"a closed execution", open, StatusAborted, &answer{out: []byte("a")}, &reply{bad: &fault{name: "E"}}, true, "", ""},
		{"an accepted answer", open, StatusRunning, &answer{out: []byte("a")}, &reply{bad: &fault{name: "E"}}, false, "a", ""},
		{"the function's failure", open, StatusRunning, nil, &reply{bad: &fault{name: "E"}}, false, "E", ""},
		{"the time", open, StatusRunning, nil, nil, false, "", errTimeout},
	} {
		x := &execution{server: c.server, status: c.status, bell: goroutines{}.NewBell()}
		one := &call{visit: &visit{x: x, state: &state{task: &task{byToken: true}}}, until: open.clock.Now(), reply: c.reply}
		one.token = &tokenTask{x: x, answer: c.accepted}
		e, over := one.look()
		got := string(e.answer.out)
		if e.answer.bad != nil {
			got = e.answer.bad.name
		}
		late := ""
		if e.timedOut != nil {
			late = e.timedOut.name
		}
		if !over || e.interrupted != c.interrupted || got != c.answer || late != c.timedOut {
			t.Errorf("%s: over %v, interrupted %v, answer %q, timed out %q", c.name, over, e.interrupted, got, late)
		}
	}
}

// Without a token, a reply that is there counts, although the time is over too.
func TestReplyCountsBeforeTheTime(t *testing.T) {
	t.Parallel()
	s := serverFor(t)
	x := &execution{server: s, status: StatusRunning, bell: goroutines{}.NewBell()}
	c := &call{visit: &visit{x: x, state: &state{task: &task{}}}, until: s.clock.Now(), reply: &reply{out: []byte("r")}}
	if e, over := c.look(); !over || e.timedOut != nil || string(e.answer.out) != "r" {
		t.Errorf("%+v %v, want the reply", e, over)
	}
}

func serverFor(t *testing.T) *Server {
	s, err := New(Options{Clock: clock.New(), Invoker: noFunction{}, NewToken: func() string { return "t" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

type noFunction struct{}

func (noFunction) Invoke(context.Context, string, []byte) ([]byte, *FunctionError, error) {
	return nil, nil, nil
}
