package states

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	stateNameMax   = 80   // characters in a state's name
	statesMax      = 1000 // states in one definition
	retriersMax    = 100  // retriers, or catchers, of one state
	errorNamesMax  = 100  // error names of one retrier or catcher
	choicesMax     = 200  // rules of one Choice, or operands of one And or Or
	choiceDepthMax = 16   // rules inside rules
	waitSecondsMax = 99_999_999
	maxDelayMax    = 31_622_400 // seconds
)

// machine is a definition, parsed once; running executions only read it.
type machine struct {
	states         map[string]*state
	start          *state
	timeoutSeconds int64 // 0: none
}

// kind is a state's Type.
type kind string

// The kinds of state that are supported.
const (
	kindTask    kind = "Task"
	kindChoice  kind = "Choice"
	kindWait    kind = "Wait"
	kindPass    kind = "Pass"
	kindSucceed kind = "Succeed"
	kindFail    kind = "Fail"
)

// state is one state; only the parts that its kind has are set.
type state struct {
	name string
	kind kind
	next *state // nil: the execution ends here

	enteredType, exitedType string // its events
	input                   filter
	out                     filter

	parameters *template
	selector   *template
	result     filter

	pass     *document // a Pass state's Result
	task     *task
	wait     *wait
	choice   *choice
	errName  string // a Fail state's Error
	errCause string // a Fail state's Cause
}

// Definition is a state machine's definition, read and checked. It never changes, and any number of servers may use it
// at once.
type Definition struct {
	text []byte
	plan *machine
}

// Parse reads a definition; what this interpreter refuses is reported as a *DefinitionError.
func Parse(definition []byte) (*Definition, error) {
	plan, err := parse(definition)
	if err != nil {
		return nil, err
	}
	return &Definition{text: bytes.Clone(definition), plan: plan}, nil
}

// Validate reports what in a definition this interpreter refuses, as a *DefinitionError, or nil.
func Validate(definition []byte) error {
	_, err := parse(definition)
	return err
}

func parse(definition []byte) (*machine, error) {
	if len(definition) > definitionBytes {
		return nil, &DefinitionError{Problem: fmt.Sprintf("the definition is larger than %d bytes", definitionBytes)}
	}
	tree, at, err := decodeStrict(definition)
	if err != nil {
		return nil, &DefinitionError{Path: at, Problem: err.Error()}
	}
	p := &parser{}
	m := p.machine(tree)
	if p.first != nil {
		return nil, p.first
	}
	return m, nil
}

func (p *parser) machine(tree any) *machine {
	f := p.fields("", tree)
	p.noJSONata(f)
	if v := f.text("Version"); v != "" && v != "1.0" {
		f.fail("Version", "only version 1.0 is supported")
	}
	startAt := f.needText("StartAt")
	m := &machine{states: map[string]*state{}, timeoutSeconds: f.whole("TimeoutSeconds", 1, defaultTaskSecond, 0)}
	given, ok := f.take("States")
	if !ok {
		p.fail("", "the field States is missing")
	}
	f.rest()
	all := p.fields("/States", given)
	p.declare(m, all)
	for _, name := range sortedNames(all.all) {
		p.state(m, m.states[name], p.fields(join("/States", name), all.all[name]))
	}
	if m.start = m.states[startAt]; m.start == nil {
		p.fail("/StartAt", "there is no state %q", startAt)
	}
	p.reachable(m)
	return m
}

func (p *parser) noJSONata(f *fields) {
	if v := f.text("QueryLanguage"); v != "" && v != "JSONPath" {
		f.fail("QueryLanguage", "the query language %s is not supported; use JSONPath", v)
	}
}

// declare makes all states first, so that transitions can point ahead.
func (p *parser) declare(m *machine, all *fields) {
	if len(all.all) == 0 || len(all.all) > statesMax {
		p.fail("/States", "a definition has 1 to %d states", statesMax)
		return
	}
	for name := range all.all {
		m.states[name] = &state{name: name}
	}
	for _, name := range sortedNames(all.all) {
		if n := utf8.RuneCountInString(name); n == 0 || n > stateNameMax {
			p.fail(join("/States", name), "a state's name has 1 to %d characters", stateNameMax)
		}
	}
}

func (p *parser) state(m *machine, s *state, f *fields) {
	if s == nil {
		return
	}
	p.noJSONata(f)
	s.kind = kind(f.needText("Type"))
	s.enteredType, s.exitedType = string(s.kind)+"StateEntered", string(s.kind)+"StateExited"
	switch s.kind {
	case kindTask:
		s.next = p.transition(m, f)
		s.input, s.out, s.result = f.filter("InputPath"), f.filter("OutputPath"), f.resultPath()
		s.parameters, s.selector = f.template("Parameters"), f.template("ResultSelector")
		s.task = p.task(m, s, f)
	case kindPass:
		s.next = p.transition(m, f)
		s.input, s.out, s.result = f.filter("InputPath"), f.filter("OutputPath"), f.resultPath()
		s.parameters = f.template("Parameters")
		if v, ok := f.take("Result"); ok {
			s.pass = fromTree(v)
			s.pass.bytes() // encoded now, because executions share it
		}
	case kindWait:
		s.next = p.transition(m, f)
		s.input, s.out = f.filter("InputPath"), f.filter("OutputPath")
		s.wait = p.wait(f)
	case kindChoice:
		s.input, s.out = f.filter("InputPath"), f.filter("OutputPath")
		s.choice = p.choice(m, f)
	case kindSucceed:
		s.input, s.out = f.filter("InputPath"), f.filter("OutputPath")
	case kindFail:
		s.errName, s.errCause = f.text("Error"), f.text("Cause")
	default:
		f.fail("Type", "the state type %s is not supported", s.kind)
	}
	f.rest()
	p.contextPaths(s, f.at)
}

// transition reads Next or End, of which a state has exactly one.
func (p *parser) transition(m *machine, f *fields) *state {
	end, hasEnd := f.take("End")
	if hasEnd && end != true {
		f.fail("End", "End can only be true")
	}
	_, hasNext := f.all["Next"]
	if hasNext == hasEnd {
		f.taken["Next"] = true
		p.fail(f.at, "exactly one of Next and End is needed")
		return nil
	}
	if hasEnd {
		return nil
	}
	return p.target(m, f, "Next")
}

func (p *parser) target(m *machine, f *fields, field string) *state {
	name := f.needText(field)
	if name != "" && m.states[name] == nil {
		f.fail(field, "there is no state %q", name)
	}
	return m.states[name]
}

// reachable refuses states that no path leads to: they are a mistake in a transition somewhere else.
func (p *parser) reachable(m *machine) {
	if p.first != nil {
		return
	}
	seen := map[*state]bool{m.start: true}
	for queue := []*state{m.start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range queue[0].targets() {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	for _, name := range sortedNames(m.states) {
		if !seen[m.states[name]] {
			p.fail(join("/States", name), "no path leads to this state")
		}
	}
}

func (s *state) targets() []*state {
	var all []*state
	if s.next != nil {
		all = append(all, s.next)
	}
	if s.task != nil {
		for _, c := range s.task.catchers {
			all = append(all, c.next)
		}
	}
	if s.choice != nil {
		for _, r := range s.choice.rules {
			all = append(all, r.next)
		}
		if s.choice.byDefault != nil {
			all = append(all, s.choice.byDefault)
		}
	}
	return all
}

// contextFields are the fields of the context object that exist here, and whether a path may go deeper.
func contextFields() map[string][]string {
	return map[string][]string{
		"Execution":    {"Id", "Name", "StartTime", "Input", "RoleArn", "RedriveCount"},
		"State":        {"Name", "EnteredTime", "RetryCount"},
		"StateMachine": {"Id", "Name"},
		"Task":         {"Token"},
	}
}

// contextPaths refuses templates that ask the context object for what it will not have.
func (p *parser) contextPaths(s *state, at string) {
	check := func(field string) func(*path) {
		return func(used *path) {
			if used.context && !knownContext(used.steps) {
				p.fail(join(at, field), "the context object has no %s", used.text)
			}
			isToken := used.context && len(used.steps) > 0 && used.steps[0].key == "Task"
			if isToken && (s.task == nil || !s.task.byToken || field != "Parameters") {
				p.fail(join(at, field), "%s exists only in the Parameters of a .waitForTaskToken task", used.text)
			}
		}
	}
	s.parameters.each(check("Parameters"))
	s.selector.each(check("ResultSelector"))
	if s.input.path != nil {
		check("InputPath")(s.input.path)
	}
	if s.out.path != nil {
		check("OutputPath")(s.out.path)
	}
}

func knownContext(steps []step) bool {
	if len(steps) == 0 {
		return true
	}
	names, ok := contextFields()[steps[0].key]
	if !ok || len(steps) == 1 {
		return ok
	}
	for _, name := range names {
		if steps[1].key == name {
			return len(steps) == 2 || name == "Input"
		}
	}
	return false
}

// leftOver reports a ${placeholder} that nothing was put in for.
func leftOver(text string) bool { return strings.Contains(text, "${") }
