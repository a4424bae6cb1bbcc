package states

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// call is one try of a task, from its scheduling to the event that ends it.
type call struct {
	visit                    *visit
	functionArn              string
	parameters, payload      *document
	timeout, heartbeat       int64 // seconds
	hasTimeout, hasHeartbeat bool

	reply *reply     // the function's, until the runner takes it; the execution's mu guards it
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
	scheduled := c.scheduled()
	scheduled.Time = started
	if x.record(scheduled) == 0 || x.record(Event{Type: c.visit.state.task.events.started, Time: started, Resource: c.resource()}) == 0 {
		return nil, nil
	}
	c.until = started.Add(time.Duration(c.timeout) * time.Second)
	if bad := c.openToken(started); bad != nil {
		return nil, bad
	}
	c.invoke()
	return c.finish(c.await())
}

// openToken registers the token before the function can know it.
func (c *call) openToken(started time.Time) *fault {
	v := c.visit
	if !v.state.task.byToken {
		return nil
	}
	c.token = &tokenTask{x: v.x, until: c.until}
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
func (c *call) invoke() {
	s := c.visit.x.server
	if s.calls.Add(1) > s.maxCalls {
		s.calls.Add(-1)
		c.put(reply{bad: &fault{name: errTooManyRequests, cause: causeTooManyRequests}})
		return
	}
	s.work.pending.Add(1) // the runner, which is counted too, is here
	s.work.beside(functionName(c.functionArn)+" of "+c.visit.x.name, func() {
		defer s.calls.Add(-1)
		out, fnErr, err := s.invoker.Invoke(s.ctx, c.functionArn, c.payload.bytes())
		c.put(reply{out, functionFault(fnErr, err)})
	})
}

// functionName is the name in a function's ARN, without its version; what is no ARN is a name already.
func functionName(arn string) string {
	_, name, isArn := strings.Cut(arn, ":function:")
	if !isArn {
		return arn
	}
	name, _, _ = strings.Cut(name, ":")
	return name
}

// put leaves the function's reply for the runner. A call that has ended by then never looks at it.
func (c *call) put(r reply) {
	x := c.visit.x
	x.mu.Lock()
	c.reply = &r
	x.mu.Unlock()
	x.bell.Ring()
}

// callEnd is how a call ended: interrupted because the execution or the server ended, by a time that was over, or else
// by an answer.
type callEnd struct {
	answer      answer
	timedOut    *fault
	interrupted bool
}

// await returns how the call ended.
func (c *call) await() callEnd {
	x := c.visit.x
	at := c.nextAlarm()
	due := x.server.alarms.set(at, x.bell.Ring)
	defer func() { due.off() }()
	if c.token != nil {
		defer c.token.end()
	}
	for {
		x.bell.Wait()
		if e, over := c.look(); over {
			return e
		}
		if next := c.nextAlarm(); !next.Equal(at) {
			due.off()
			at, due = next, x.server.alarms.set(next, x.bell.Ring)
		}
	}
}

// look says whether the call has ended. Several things can have happened before the runner's turn; they count in this
// order, whatever came first:
//
//  1. the server is closing, or the execution is closed: nothing else counts any more;
//  2. a token's answer that was accepted: it was told that it counts;
//  3. the function's reply;
//  4. the time that is over.
func (c *call) look() (callEnd, bool) {
	x := c.visit.x
	x.mu.Lock()
	running, r := x.status == StatusRunning, c.reply
	c.reply = nil
	var accepted *answer
	if c.token != nil {
		accepted = c.token.answer
	}
	x.mu.Unlock()
	// Asked after the reply was read: closing cuts calls off, and what they report then is not the function's word.
	if !running || x.server.ctx.Err() != nil {
		return callEnd{interrupted: true}, true
	}
	if accepted != nil {
		if r != nil && r.bad == nil {
			c.submitted(r.out)
		}
		return callEnd{answer: *accepted}, true
	}
	if r != nil {
		if a, over := c.replied(*r); over {
			return callEnd{answer: a}, true
		}
	}
	return c.alarmed()
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
	if a := c.token.end(); a != nil {
		return *a, true
	}
	return answer{bad: r.bad}, true
}

func (c *call) submitted(out []byte) {
	c.visit.x.record(Event{Type: "TaskSubmitted", Resource: c.resource(), Data: invokeResult(out)})
}

// alarmed ends the call when a time is really over. An answer that was accepted in time counts, even if the alarm was
// seen first.
func (c *call) alarmed() (callEnd, bool) {
	now := c.visit.x.server.clock.Now()
	timedOut := &fault{name: errTimeout}
	if now.Before(c.until) {
		if c.token == nil || c.token.beat == 0 || now.Before(c.token.dueBeat()) {
			return callEnd{}, false
		}
		timedOut.heartbeat = true
	}
	if c.token != nil {
		if a := c.token.end(); a != nil {
			return callEnd{answer: *a}, true
		}
	}
	return callEnd{timedOut: timedOut}, true
}

// finish records how the call ended.
func (c *call) finish(e callEnd) (*document, *fault) {
	x := c.visit.x
	c.visit.ended = x.server.clock.Now()
	switch {
	case e.interrupted:
		return nil, nil
	case e.timedOut != nil:
		if x.record(Event{Type: c.visit.state.task.events.timedOut, Time: c.visit.ended, Resource: c.resource(), Error: e.timedOut.name}) == 0 {
			return nil, nil
		}
		return nil, e.timedOut
	}
	out, bad := c.checked(e.answer)
	if bad != nil {
		if x.record(Event{Type: c.visit.state.task.events.failed, Time: c.visit.ended, Resource: c.resource(), Error: bad.name, Cause: bad.cause}) == 0 {
			return nil, nil
		}
		return nil, bad
	}
	if x.record(Event{Type: c.visit.state.task.events.succeeded, Time: c.visit.ended, Resource: c.resource(), Data: out}) == 0 {
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
	e := Event{Type: c.visit.state.task.events.scheduled, Resource: c.resource(), Data: c.parameters.bytes()}
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
