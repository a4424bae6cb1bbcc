package states

import (
	"time"
)

// run takes an execution from its first state to its end. It returns early when the execution is closed from outside
// or the server closes.
func (x *execution) run() {
	s := x.server
	limit := x.started.AddDate(0, 0, executionDaysMax)
	if n := x.plan.timeoutSeconds; n > 0 {
		limit = x.started.Add(time.Duration(n) * time.Second)
	}
	deadline := s.alarms.set(limit, x.timeOut)
	defer deadline.off()
	x.record(Event{Type: "ExecutionStarted", Data: x.input.raw})
	data := x.input
	for at := x.plan.start; at != nil; {
		next, out, ok := x.visit(at, data)
		if !ok {
			return
		}
		at, data = next, out
	}
	x.succeed(data.bytes())
}

// visit runs one state. It reports false when the execution is over, whoever ended it.
func (x *execution) visit(at *state, input *document) (next *state, out *document, ok bool) {
	x.server.transitions.Add(1)
	v := &visit{x: x, state: at, entered: x.server.clock.Now()}
	v.enteredID = x.record(Event{Type: at.enteredType, Time: v.entered, State: at.name, Data: input.bytes()})
	if v.enteredID == 0 {
		return nil, nil, false
	}
	if at.kind == kindFail {
		x.fail(&fault{name: at.errName, cause: at.errCause})
		return nil, nil, false
	}
	next, out, bad := v.work(input)
	if bad == nil && out != nil && len(out.bytes()) > payloadBytesMax {
		bad = &fault{name: errDataLimit, cause: tooLarge(at.name)}
	}
	if bad != nil {
		x.fail(bad)
		return nil, nil, false
	}
	if out == nil || x.record(Event{Type: at.exitedType, State: at.name, Data: out.bytes()}) == 0 {
		return nil, nil, false
	}
	return next, out, true
}

// work does what the state's kind does; a nil document without a fault means that the execution was interrupted.
func (v *visit) work(input *document) (*state, *document, *fault) {
	if v.state.kind == kindTask {
		return v.doTask(input)
	}
	e := &scope{v, input}
	effective, bad := e.apply(v.state.input, "InputPath")
	if bad != nil {
		return nil, nil, bad
	}
	next, result := v.state.next, effective
	inner := &scope{v, effective}
	switch v.state.kind {
	case kindChoice:
		if next, bad = v.state.choice.pick(inner); bad == nil && next == nil {
			bad = v.fault("%s", causeNoNextState)
		}
	case kindWait:
		var at time.Time
		if at, bad = v.state.wait.end(inner); bad == nil && !v.x.sleepUntil(at) {
			return nil, nil, nil
		}
	case kindPass:
		result, bad = v.passOn(inner, input)
	}
	if bad != nil {
		return nil, nil, bad
	}
	out, bad := (&scope{v, result}).apply(v.state.out, "OutputPath")
	return next, out, bad
}

func (v *visit) passOn(inner *scope, input *document) (*document, *fault) {
	result, bad := inner.shape(v.state.parameters, "Parameters")
	if bad != nil {
		return nil, bad
	}
	if v.state.pass != nil {
		result = v.state.pass
	}
	return combine(v.state.result, input, result)
}

// shape fills a template, or passes the input on where there is none.
func (e *scope) shape(t *template, field string) (*document, *fault) {
	if t == nil {
		return e.input, nil
	}
	raw, bad := t.fill(nil, e, field)
	if bad != nil {
		return nil, bad
	}
	return asDocument(raw), nil
}

// combine puts a result into the state's input where ResultPath says.
func combine(f filter, input, result *document) (*document, *fault) {
	switch {
	case f.null:
		return input, nil
	case f.path == nil:
		return result, nil
	}
	tree, ok := put(input.value(), f.path.steps, result.value())
	if !ok {
		return nil, &fault{name: errResultPath, cause: "Unable to apply the path '" + f.path.text + "' to the input '" + string(input.bytes()) + "'"}
	}
	return fromTree(tree), nil
}

// end is when a Wait state's wait ends.
func (w *wait) end(e *scope) (time.Time, *fault) {
	if w.path != nil {
		v, ok := e.find(w.path)
		if !ok {
			return time.Time{}, e.visit.fault("Invalid path '%s': the TimestampPath could not be found in '%s'", w.path.text, e.input.bytes())
		}
		text, _ := v.(string)
		at, ok := parseTimestamp(text)
		if !ok {
			return time.Time{}, e.visit.fault("The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: %s == %s", w.path.text, plain(v))
		}
		return at, nil
	}
	if !w.until.IsZero() {
		return w.until, nil
	}
	n, _, bad := e.number(w.seconds, 0)
	return e.visit.entered.Add(time.Duration(n) * time.Second), bad
}

func plain(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return string(encode(v))
}

// sleepUntil reports false when the execution or the server ended first, also when the time came too.
func (x *execution) sleepUntil(at time.Time) bool {
	if !x.server.clock.Now().Before(at) {
		return true
	}
	due := x.server.alarms.set(at, x.bell.Ring)
	defer due.off()
	for {
		x.bell.Wait()
		if x.over() {
			return false
		}
		if !x.server.clock.Now().Before(at) {
			return true
		}
	}
}
