package states

import (
	"math"
	"time"
)

// doTask runs a Task state: attempts as long as Retry allows, then what Catch says.
func (v *visit) doTask(input *document) (*state, *document, *fault) {
	tries := make([]int64, len(v.state.task.retriers))
	for {
		out, bad := v.attempt(input)
		if out != nil || bad == nil {
			return v.state.next, out, nil
		}
		r, delay := v.retry(bad, tries)
		if r == nil {
			return v.catch(bad, input)
		}
		if !v.x.sleepUntil(v.ended.Add(delay)) {
			return nil, nil, nil
		}
		v.retries++
		v.x.server.transitions.Add(1)
	}
}

// retry picks the first retrier that matches. Its count goes on over all attempts of this visit.
func (v *visit) retry(bad *fault, tries []int64) (*retrier, time.Duration) {
	for i, r := range v.state.task.retriers {
		if !bad.isOneOf(r.errors) {
			continue
		}
		if tries[i] >= r.attempts {
			return nil, 0
		}
		delay := r.delay(tries[i], v.x.server.random)
		tries[i]++
		return r, delay
	}
	return nil, 0
}

func (r *retrier) delay(earlier int64, random func() float64) time.Duration {
	longest := float64(waitSecondsMax) * float64(time.Second)
	if r.maxDelay > 0 {
		longest = float64(r.maxDelay)
	}
	d := min(float64(r.interval)*math.Pow(r.backoff, float64(earlier)), longest)
	if r.jitter && random != nil {
		d *= random()
	}
	return time.Duration(d)
}

func (v *visit) catch(bad *fault, input *document) (*state, *document, *fault) {
	for _, c := range v.state.task.catchers {
		if bad.isOneOf(c.errors) {
			out, worse := combine(c.result, input, fromTree(bad.output()))
			return c.next, out, worse
		}
	}
	return nil, nil, bad
}

// attempt makes one try of a task. Neither a document nor a fault means that the execution was interrupted.
func (v *visit) attempt(input *document) (*document, *fault) {
	outer := &scope{v, input}
	effective, bad := outer.apply(v.state.input, "InputPath")
	if bad != nil {
		return nil, bad
	}
	inner := &scope{v, effective}
	c, bad := v.prepare(inner)
	if bad != nil {
		return nil, bad
	}
	raw, bad := c.perform()
	if raw == nil || bad != nil {
		return nil, bad
	}
	result, bad := (&scope{v, raw}).shape(v.state.selector, "ResultSelector")
	if bad != nil {
		return nil, bad
	}
	whole, bad := combine(v.state.result, input, result)
	if bad != nil {
		return nil, bad
	}
	return (&scope{v, whole}).apply(v.state.out, "OutputPath")
}

// prepare fills in the parameters and the times of one try. A token task gets a new token for every try.
func (v *visit) prepare(e *scope) (*call, *fault) {
	t := v.state.task
	c := &call{visit: v, functionArn: t.functionArn}
	var bad *fault
	if c.timeout, c.hasTimeout, bad = e.number(t.timeout, 1); bad != nil {
		return nil, bad
	}
	if c.heartbeat, c.hasHeartbeat, bad = e.number(t.heartbeat, 1); bad != nil {
		return nil, bad
	}
	if !c.hasTimeout {
		c.timeout = defaultTaskSecond
	}
	if t.byToken {
		v.token = tokenHead + v.x.server.newToken()
	}
	filled, bad := e.shape(v.state.parameters, "Parameters")
	if bad != nil {
		return nil, bad
	}
	c.parameters, c.payload = filled, filled
	if t.functionArn == "" {
		bad = c.unwrap()
	}
	return c, bad
}

// unwrap takes the function and the payload out of the parameters of lambda:invoke.
func (c *call) unwrap() *fault {
	given := c.parameters.bytes()
	c.payload = asDocument([]byte("{}"))
	if payload, ok := locate(given, []step{{key: "Payload"}}); ok {
		c.payload = asDocument(payload)
	}
	name, _ := locate(given, []step{{key: "FunctionName"}})
	c.functionArn, _ = decodeSmall(name).(string)
	if c.functionArn == "" {
		return c.visit.fault("The value of FunctionName must be a function's name or ARN, not %s", name)
	}
	return nil
}
