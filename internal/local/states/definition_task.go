package states

import (
	"encoding/json"
	"strings"
	"time"
)

// The resources that a Task can have, besides a function's own ARN.
const (
	resourceInvoke      = "arn:aws:states:::lambda:invoke"
	resourceInvokeToken = "arn:aws:states:::lambda:invoke.waitForTaskToken"
)

// task is what a Task state does. With a functionArn the payload goes in and out bare; without one, Parameters name
// the function and the Payload, and the result is wrapped as the Lambda API wraps it.
type task struct {
	functionArn string
	events      callEvents
	byToken     bool
	timeout     seconds
	heartbeat   seconds
	retriers    []*retrier
	catchers    []*catcher
}

// callEvents are the types of a call's events: a function called by its own ARN has other events than lambda:invoke.
type callEvents struct{ scheduled, started, succeeded, failed, timedOut string }

func eventsOf(head string) callEvents {
	return callEvents{head + "Scheduled", head + "Started", head + "Succeeded", head + "Failed", head + "TimedOut"}
}

// seconds is a number of seconds, fixed or read from the input.
type seconds struct {
	fixed int64 // 0: not given
	path  *path
	field string // the path's field, for messages
}

type retrier struct {
	errors   []string
	interval time.Duration
	attempts int64
	backoff  float64
	maxDelay time.Duration // 0: no bound
	jitter   bool
}

type catcher struct {
	errors []string
	result filter
	next   *state
}

// wait is how long a Wait state waits: exactly one part is set.
type wait struct {
	seconds seconds
	until   time.Time
	path    *path // TimestampPath
}

func (p *parser) task(m *machine, s *state, f *fields) *task {
	t := &task{events: eventsOf("Task")}
	resource := f.needText("Resource")
	switch {
	case resource == resourceInvokeToken:
		t.byToken = true
		p.invokeParameters(f)
	case resource == resourceInvoke:
		p.invokeParameters(f)
	case leftOver(resource):
		f.fail("Resource", "nothing was put in for %s", resource)
	case isFunctionArn(resource):
		t.functionArn, t.events = resource, eventsOf("LambdaFunction")
	default:
		f.fail("Resource", "the resource %q is not supported; use a Lambda function's ARN, %s or %s",
			resource, resourceInvoke, resourceInvokeToken)
	}
	t.timeout = p.seconds(f, "TimeoutSeconds", 1)
	t.heartbeat = p.seconds(f, "HeartbeatSeconds", 1)
	if t.timeout.fixed > 0 && t.heartbeat.fixed >= t.timeout.fixed {
		f.fail("HeartbeatSeconds", "the heartbeat must be shorter than the timeout")
	}
	t.retriers, t.catchers = p.retriers(f), p.catchers(m, f)
	return t
}

// isFunctionArn reports whether a resource is arn:aws:lambda:REGION:ACCOUNT:function:NAME, perhaps with a version.
func isFunctionArn(resource string) bool {
	parts := strings.Split(resource, ":")
	if len(parts) != 7 && len(parts) != 8 || parts[0] != "arn" || parts[2] != "lambda" || parts[5] != "function" {
		return false
	}
	for _, part := range parts {
		if part == "" {
			return false
		}
	}
	return true
}

func (p *parser) invokeParameters(f *fields) {
	v, ok := f.all["Parameters"]
	if !ok {
		p.fail(f.at, "Parameters with a FunctionName are needed")
		return
	}
	given := p.fields(join(f.at, "Parameters"), v)
	delete(given.taken, "Comment")
	name, plain := given.take("FunctionName")
	if _, dynamic := given.take("FunctionName.$"); plain == dynamic {
		p.fail(given.at, "exactly one of FunctionName and FunctionName.$ is needed")
	}
	if text, isText := name.(string); plain && (!isText || text == "" || leftOver(text)) {
		given.fail("FunctionName", "a function's name or ARN is needed")
	}
	given.take("Payload")
	given.take("Payload.$")
	given.rest()
}

func (p *parser) seconds(f *fields, name string, low int64) seconds {
	s := seconds{field: name + "Path", path: f.refPath(name + "Path")}
	if _, both := f.all[name]; both && s.path != nil {
		f.fail(name, "only one of %s and %s can be given", name, s.field)
	}
	s.fixed = f.whole(name, low, waitSecondsMax, 0)
	return s
}

func (p *parser) retriers(f *fields) []*retrier {
	var all []*retrier
	given := f.list("Retry", retriersMax)
	for i, v := range given {
		r := p.fields(join(join(f.at, "Retry"), i), v)
		one := &retrier{
			errors:   p.errorNames(r, i == len(given)-1),
			interval: time.Duration(r.whole("IntervalSeconds", 1, waitSecondsMax, 1)) * time.Second,
			attempts: r.whole("MaxAttempts", 0, waitSecondsMax, 3),
			backoff:  r.backoff(),
			maxDelay: time.Duration(r.whole("MaxDelaySeconds", 1, maxDelayMax, 0)) * time.Second,
		}
		if one.maxDelay > 0 && one.maxDelay <= one.interval {
			r.fail("MaxDelaySeconds", "the longest delay must be longer than IntervalSeconds")
		}
		switch j := r.text("JitterStrategy"); j {
		case "FULL":
			one.jitter = true
		case "NONE", "":
		default:
			r.fail("JitterStrategy", "the strategy is FULL or NONE, not %s", j)
		}
		r.rest()
		all = append(all, one)
	}
	return all
}

func (f *fields) backoff() float64 {
	v, ok := f.take("BackoffRate")
	if !ok {
		return 2
	}
	number, _ := v.(json.Number)
	rate, err := number.Float64()
	if err != nil || rate < 1 {
		f.fail("BackoffRate", "a number of at least 1.0 is needed")
		return 2
	}
	return rate
}

func (p *parser) catchers(m *machine, f *fields) []*catcher {
	var all []*catcher
	given := f.list("Catch", retriersMax)
	for i, v := range given {
		c := p.fields(join(join(f.at, "Catch"), i), v)
		one := &catcher{errors: p.errorNames(c, i == len(given)-1), result: c.resultPath(), next: p.target(m, c, "Next")}
		c.rest()
		all = append(all, one)
	}
	return all
}

// errorNames reads ErrorEquals; States.ALL stands alone and in the last position.
func (p *parser) errorNames(f *fields, last bool) []string {
	var names []string
	given := f.list("ErrorEquals", errorNamesMax)
	if _, ok := f.all["ErrorEquals"]; !ok {
		p.fail(f.at, "the field ErrorEquals is missing")
	}
	for i, v := range given {
		name, ok := v.(string)
		if !ok || name == "" {
			p.fail(join(join(f.at, "ErrorEquals"), i), "an error's name is needed")
		}
		if name == errALL && (len(given) > 1 || !last) {
			p.fail(join(join(f.at, "ErrorEquals"), i), "States.ALL must stand alone and come last")
		}
		names = append(names, name)
	}
	return names
}

func (p *parser) wait(f *fields) *wait {
	w := &wait{seconds: p.seconds(f, "Seconds", 0), path: f.refPath("TimestampPath")}
	ways := 0
	for _, name := range []string{"Seconds", "SecondsPath", "Timestamp", "TimestampPath"} {
		if _, ok := f.all[name]; ok {
			ways++
		}
	}
	if ways != 1 {
		p.fail(f.at, "exactly one of Seconds, SecondsPath, Timestamp and TimestampPath is needed")
	}
	if text := f.text("Timestamp"); text != "" {
		at, ok := parseTimestamp(text)
		if !ok {
			f.fail("Timestamp", "%q is not a time such as 2026-11-29T12:00:00Z", text)
		}
		w.until = at
	}
	return w
}

// parseTimestamp reads RFC 3339 as the States Language narrows it: T and Z are capital letters, the offset is given.
func parseTimestamp(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil && !strings.ContainsAny(text, "tz ")
}
