package states

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

const contextTimeFormat = "2006-01-02T15:04:05.999Z07:00" // zero fractions are dropped, as at AWS

// visit is one stay in one state: what the context object and the messages tell of it.
type visit struct {
	x         *execution
	state     *state
	enteredID int64
	entered   time.Time
	retries   int64
	ended     time.Time // when the last try did
	token     string
}

// scope is what paths can see: a state's input and the context object.
type scope struct {
	visit *visit
	input *document
}

// find returns what a path names in the input or in the context object.
func (e *scope) find(p *path) (any, bool) {
	if !p.context {
		return e.input.find(p)
	}
	if len(p.steps) == 0 {
		return e.visit.contextObject(), true
	}
	return p.find(map[string]any{p.steps[0].key: e.visit.contextPart(p.steps[0].key)})
}

// look finds what a path of a template names.
func (e *scope) look(p *path, field string) (any, *fault) {
	v, ok := e.find(p)
	if ok {
		return v, nil
	}
	if p.context {
		return nil, e.visit.fault("The JSONPath '%s' specified for the field '%s' could not be found in the context object", p.text, field)
	}
	return nil, e.visit.fault("The JSONPath '%s' specified for the field '%s' could not be found in the input '%s'", p.text, field, e.input.bytes())
}

func (e *scope) lookChoice(p *path) (any, *fault) {
	v, ok := e.find(p)
	if !ok {
		return nil, e.visit.fault("Invalid path '%s': The choice state's condition path references an invalid value.", p.text)
	}
	return v, nil
}

// apply passes a document through an InputPath or OutputPath.
func (e *scope) apply(f filter, name string) (*document, *fault) {
	switch {
	case f.null:
		return asDocument([]byte("{}")), nil
	case f.path == nil:
		return e.input, nil
	}
	v, ok := e.find(f.path)
	if !ok {
		return nil, e.visit.fault("Invalid path '%s': the %s could not be found in '%s'", f.path.text, name, e.input.bytes())
	}
	return fromTree(v), nil
}

// number reads seconds from the definition or the input; given is false when the state has neither.
func (e *scope) number(s seconds, low int64) (n int64, given bool, bad *fault) {
	if s.path == nil {
		return s.fixed, s.fixed > 0, nil
	}
	v, ok := e.find(s.path)
	if !ok {
		return 0, true, e.visit.fault("Invalid path '%s': the %s could not be found in '%s'", s.path.text, s.field, e.input.bytes())
	}
	n, isWhole := wholeNumber(v)
	if !isWhole || n < low || n > waitSecondsMax {
		return 0, true, e.visit.fault("The %s parameter does not reference a whole number from %d to %d: %s == %s",
			s.field, low, int64(waitSecondsMax), s.path.text, encode(v))
	}
	return n, true, nil
}

// fault is a States.Runtime fault that says where it happened.
func (v *visit) fault(format string, args ...any) *fault {
	return runtimeFault("An error occurred while executing the state '%s' (entered at the event id #%d). %s",
		v.state.name, v.enteredID, fmt.Sprintf(format, args...))
}

func (v *visit) contextObject() any {
	object := map[string]any{}
	for name := range contextFields() {
		if part := v.contextPart(name); part != nil {
			object[name] = part
		}
	}
	return object
}

// contextPart is one part of the context object, made when a path asks for it; nil where there is none.
func (v *visit) contextPart(name string) any {
	x := v.x
	switch {
	case name == "Execution":
		return map[string]any{
			"Id": x.arn, "Name": x.name, "StartTime": x.started.Format(contextTimeFormat), "Input": x.input.value(),
			"RoleArn": roleArn, "RedriveCount": number(0),
		}
	case name == "State":
		return map[string]any{
			"Name": v.state.name, "EnteredTime": v.entered.Format(contextTimeFormat), "RetryCount": number(v.retries),
		}
	case name == "StateMachine":
		return map[string]any{"Id": x.machine.arn, "Name": x.machine.name}
	case name == "Task" && v.token != "":
		return map[string]any{"Token": v.token}
	}
	return nil
}

func number(n int64) any { return json.Number(strconv.FormatInt(n, 10)) }
