package states

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// call is one try of a task, from its scheduling to the event that ends it.
type call struct {
	visit                    *visit
	functionArn              string
	parameters, payload      *document
	timeout, heartbeat       int64 // seconds
	hasTimeout, hasHeartbeat bool

	back  chan reply // takes the function's reply
	token *tokenTask // nil without a token
	until time.Time  // when the task times out
}

// reply is what came back from a function.
type reply struct {
	out []byte
	bad *fault
}

// perform makes the call and waits for its end. Neither a document nor a fault means an interruption.
func (c *call) perform() (*document, *fault) {
	x := c.visit.x
	if len(c.payload.bytes()) > payloadBytesMax {
		return nil, &fault{name: errDataLimit, cause: fmt.Sprintf("The state/task '%s' was given an input with a size exceeding the maximum number of bytes service limit.", c.functionArn)}
	}
	started := x.server.clock.Now()
	if x.record(c.scheduled()) == 0 || x.record(Event{Type: c.event("Started"), Resource: c.resource()}) == 0 {
		return nil, nil
	}
	c.until = started.Add(time.Duration(c.timeout) * time.Second)
	if bad := c.openToken(started); bad != nil {
		return nil, bad
	}
	c.back = make(chan reply, 1)
	x.server.invoke(c.functionArn, c.payload.bytes(), c.back)
	return c.finish(c.await())
}

// openToken registers the token before the function can know it.
func (c *call) openToken(started time.Time) *fault {
	v := c.visit
	if !v.state.task.byToken {
		return nil
	}
	c.token = &tokenTask{x: v.x, answer: make(chan answer, 1), until: c.until}
	if c.hasHeartbeat {
		c.token.beat = time.Duration(c.heartbeat) * time.Second
		c.token.nextBeat = started.Add(c.token.beat)
	}
	if !v.x.server.tokens.issue(v.token, c.token) {
		return v.fault("The token generator gave the same token twice.")
	}
	v.x.mu.Lock()
	v.x.tokens = append(v.x.tokens, v.token)
	v.x.mu.Unlock()
	return nil
}

// invoke calls a function without waiting for it. The number of calls in progress is bounded like Lambda's.
func (s *Server) invoke(functionArn string, payload []byte, back chan<- reply) {
	if s.calls.Add(1) > s.maxCalls {
		s.calls.Add(-1)
		back <- reply{bad: &fault{name: errTooManyRequests, cause: causeTooManyRequests}}
		return
	}
	s.work.Go(func() {
		defer s.calls.Add(-1)
		out, fnErr, err := s.invoker.Invoke(s.ctx, functionArn, payload)
		back <- reply{out, functionFault(fnErr, err)}
	})
}

// await returns the answer that ends the call, or interrupted when the execution or the server ended first.
func (c *call) await() (a answer, timedOut *fault, interrupted bool) {
	rang, bell := newBell()
	timers := c.visit.x.server.timers
	alarm := timers.add(c.nextAlarm(), bell)
	defer func() { timers.remove(alarm) }()
	var tokens <-chan answer
	if c.token != nil {
		tokens = c.token.answer
		defer c.token.end()
	}
	for {
		select {
		case r := <-c.back:
			// Closing cuts calls off: what they report then is not the function's word.
			if c.visit.x.server.ctx.Err() != nil {
				return answer{}, nil, true
			}
			if a, over := c.replied(r); over {
				return a, nil, false
			}
		case a := <-tokens:
			c.lateSubmission()
			return a, nil, false
		case <-rang:
			if a, bad, over := c.alarmed(); over {
				return a, bad, false
			}
			alarm = timers.add(c.nextAlarm(), bell)
		case <-c.visit.x.done:
			return answer{}, nil, true
		case <-c.visit.x.server.ctx.Done():
			return answer{}, nil, true
		}
	}
}

// nextAlarm is when the call has to be looked at, if nothing happens before. The heartbeat counts only with a token:
// nothing else can send one.
func (c *call) nextAlarm() time.Time {
	if c.token != nil && c.token.beat > 0 {
		if beat := c.token.dueBeat(); beat.Before(c.until) {
			return beat
		}
	}
	return c.until
}

// replied takes the function's reply. Without a token it is the end; with one it is the end only if it is an error
// and no answer was accepted before.
func (c *call) replied(r reply) (answer, bool) {
	if c.token == nil {
		return answer(r), true
	}
	if r.bad == nil {
		c.submitted(r.out)
		return answer{}, false
	}
	if a, answered := c.token.end(); answered {
		return a, true
	}
	return answer{bad: r.bad}, true
}

// lateSubmission records the submission of a task whose answer and reply came together.
func (c *call) lateSubmission() {
	select {
	case r := <-c.back:
		if r.bad == nil {
			c.submitted(r.out)
		}
	default:
	}
}

func (c *call) submitted(out []byte) {
	c.visit.x.record(Event{Type: "TaskSubmitted", Resource: c.resource(), Data: invokeResult(out)})
}

// alarmed ends the call when a time is really over. An answer that was accepted in time counts, even if the alarm was
// seen first.
func (c *call) alarmed() (answer, *fault, bool) {
	now := c.visit.x.server.clock.Now()
	timedOut := &fault{name: errTimeout}
	if now.Before(c.until) {
		if c.token == nil || c.token.beat == 0 || now.Before(c.token.dueBeat()) {
			return answer{}, nil, false
		}
		timedOut.heartbeat = true
	}
	if c.token != nil {
		if a, answered := c.token.end(); answered {
			return a, nil, true
		}
	}
	return answer{}, timedOut, true
}

// finish records how the call ended.
func (c *call) finish(a answer, timedOut *fault, interrupted bool) (*document, *fault) {
	x := c.visit.x
	c.visit.failed = x.server.clock.Now()
	switch {
	case interrupted:
		return nil, nil
	case timedOut != nil:
		if x.record(Event{Type: c.event("TimedOut"), Resource: c.resource(), Error: timedOut.name}) == 0 {
			return nil, nil
		}
		return nil, timedOut
	}
	out, bad := c.checked(a)
	if bad != nil {
		if x.record(Event{Type: c.event("Failed"), Resource: c.resource(), Error: bad.name, Cause: bad.cause}) == 0 {
			return nil, nil
		}
		return nil, bad
	}
	if x.record(Event{Type: c.event("Succeeded"), Resource: c.resource(), Data: out}) == 0 {
		return nil, nil
	}
	return asDocument(out), nil
}

// checked looks at an answer's size and form, and wraps it as the resource does.
func (c *call) checked(a answer) ([]byte, *fault) {
	if a.bad != nil {
		return nil, a.bad
	}
	if len(a.out) > payloadBytesMax {
		return nil, &fault{name: errDataLimit, cause: tooLarge(c.resultOf())}
	}
	if !json.Valid(a.out) {
		return nil, c.visit.fault("The function's answer is not valid JSON.")
	}
	if c.token == nil && c.visit.state.task.functionArn == "" {
		return invokeResult(a.out), nil
	}
	return a.out, nil
}

func (c *call) resultOf() string {
	if arn := c.visit.state.task.functionArn; arn != "" {
		return arn
	}
	return "lambda"
}

func tooLarge(what string) string { return fmt.Sprintf(causeTooLargeTemplate, what) }

// invokeResult wraps a function's answer as lambda:invoke does. AWS adds the HTTP metadata of the call, which has no
// meaning here.
func invokeResult(out []byte) []byte {
	if !json.Valid(out) {
		out = []byte("null")
	}
	return bytes.Join([][]byte{[]byte(`{"ExecutedVersion":"$LATEST","Payload":`), out, []byte(`,"StatusCode":200}`)}, nil)
}

// event names an event of this call: a function called by its own ARN has other events than lambda:invoke.
func (c *call) event(what string) string {
	if c.visit.state.task.functionArn != "" {
		return "LambdaFunction" + what
	}
	return "Task" + what
}

func (c *call) resource() string {
	switch {
	case c.visit.state.task.functionArn != "":
		return ""
	case c.visit.state.task.byToken:
		return "invoke.waitForTaskToken"
	}
	return "invoke"
}

func (c *call) scheduled() Event {
	e := Event{Type: c.event("Scheduled"), Resource: c.resource(), Data: c.parameters.bytes()}
	if e.Resource == "" {
		e.Resource = c.functionArn
	}
	if c.hasTimeout {
		e.TimeoutSeconds = c.timeout
	}
	if c.hasHeartbeat {
		e.HeartbeatSeconds = c.heartbeat
	}
	return e
}
