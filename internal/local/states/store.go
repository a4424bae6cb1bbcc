package states

import (
	"bytes"
	"container/list"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	arnHead      = "arn:aws:states:us-east-1:000000000000:"
	roleArn      = "arn:aws:iam::000000000000:role/local"
	region       = "us-east-1"
	nameCharsMax = 80 // characters in the name of a state machine or an execution
	eventsUsual  = 24 // events of an ordinary run, so that its history seldom grows
)

// namedMachine is a state machine with the names of its executions.
type namedMachine struct {
	name       string
	arn        string
	definition *Definition
	created    time.Time
	// names are taken by an execution, or reserved when the execution is gone and this says when it closed.
	names map[string]reservation
}

type reservation struct {
	x      *execution // nil once its history was dropped
	closed time.Time
}

// ending is a closed execution's name, in the order of closing.
type ending struct {
	machine *namedMachine
	name    string
	closed  time.Time
}

// store is what a server remembers; the server's mu guards it.
type store struct {
	closing  bool
	machines map[string]*namedMachine // by ARN
	byArn    map[string]*execution
	order    *list.List // all *execution kept, oldest start first
	closed   *list.List // closed *execution kept, oldest end first
	endings  *list.List // of ending, oldest first
	open     int
	names    int
	starts   int64
}

func newStore() store {
	return store{
		machines: map[string]*namedMachine{}, byArn: map[string]*execution{},
		order: list.New(), closed: list.New(), endings: list.New(),
	}
}

// MachineArn is the ARN of the state machine with this name.
func MachineArn(name string) string { return arnHead + "stateMachine:" + name }

// ExecutionArn is the ARN of the execution with this name.
func ExecutionArn(machine, name string) string { return arnHead + "execution:" + machine + ":" + name }

// createMachine is idempotent for the same name and definition.
func (s *Server) createMachine(name string, definition []byte) (*namedMachine, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	d, err := Parse(definition)
	if err != nil {
		return nil, err
	}
	return s.addMachine(name, d)
}

func (s *Server) addMachine(name string, d *Definition) (*namedMachine, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	arn := MachineArn(name)
	if old := s.machines[arn]; old != nil {
		if bytes.Equal(old.definition.text, d.text) {
			return old, nil
		}
		return nil, apiErrorf("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", arn)
	}
	if len(s.machines) >= machinesMax {
		return nil, apiErrorf("StateMachineLimitExceeded", "at most %d state machines are kept here", machinesMax)
	}
	m := &namedMachine{
		name: name, arn: arn, definition: d, created: s.clock.Now(),
		names: map[string]reservation{},
	}
	s.machines[arn] = m
	return m, nil
}

// checkName applies AWS's rules for names.
func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	bad := strings.IndexFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>{}[]?*\"#%\\^|~`$&,;:/", r)
	})
	if n == 0 || n > nameCharsMax || bad >= 0 || !utf8.ValidString(name) {
		return apiErrorf("InvalidName", "Invalid Name: '%s'", name)
	}
	return nil
}

// begin makes and sets off an execution, or returns the running one that the same call made before.
func (s *Server) begin(machineArn, name string, input []byte) (*execution, error) {
	x, fresh, err := s.take(machineArn, name, input)
	if fresh {
		s.work.beside("execution "+name, x.run)
	}
	return x, err
}

// take registers an execution and counts it as work to come; fresh is false for one that was there before.
func (s *Server) take(machineArn, name string, input []byte) (x *execution, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.machines[machineArn]
	if m == nil {
		return nil, false, apiErrorf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", machineArn)
	}
	if s.closing {
		return nil, false, errClosed()
	}
	now := s.clock.Now()
	s.releaseNames(now)
	if held, taken := m.names[name]; taken {
		if held.x != nil && held.x.running() && bytes.Equal(held.x.input.raw, input) {
			return held.x, false, nil
		}
		return nil, false, apiErrorf("ExecutionAlreadyExists", "Execution Already Exists: '%s'", ExecutionArn(m.name, name))
	}
	if s.open >= s.maxOpen || s.names >= s.maxNames {
		return nil, false, apiErrorf("ExecutionLimitExceeded",
			"%d executions are open and %d names are taken; at most %d and %d are allowed", s.open, s.names, s.maxOpen, s.maxNames)
	}
	s.work.pending.Add(1)
	return s.register(m, name, input, now), true, nil
}

func (s *Server) register(m *namedMachine, name string, input []byte, now time.Time) *execution {
	s.starts++
	x := &execution{
		server: s, machine: m, plan: m.definition.plan, arn: ExecutionArn(m.name, name), name: name, number: s.starts,
		input: asDocument(bytes.Clone(input)), started: now, done: make(chan struct{}), bell: s.work.parallel.NewBell(), status: StatusRunning,
		events: make([]Event, 0, eventsUsual),
	}
	m.names[name] = reservation{x: x}
	s.byArn[x.arn] = x
	x.place = s.order.PushBack(x)
	s.open++
	s.names++
	return x
}

// retire moves a closed execution to the closed ones and drops the history that is too much.
func (s *Server) retire(x *execution) {
	s.mu.Lock()
	var gone []*execution
	s.open--
	s.closed.PushBack(x)
	s.endings.PushBack(ending{x.machine, x.name, x.stopped})
	for s.closed.Len() > s.maxKept {
		gone = append(gone, s.drop(s.closed.Front()))
	}
	s.mu.Unlock()
	for _, old := range gone {
		s.tokens.forget(old.tokens)
	}
}

// drop forgets a closed execution's history; its name stays taken.
func (s *Server) drop(e *list.Element) *execution {
	x := s.closed.Remove(e).(*execution)
	s.order.Remove(x.place)
	if s.byArn[x.arn] == x {
		delete(s.byArn, x.arn)
		x.machine.names[x.name] = reservation{closed: x.stopped}
	}
	return x
}

// releaseNames frees the names of executions that closed long enough ago.
func (s *Server) releaseNames(now time.Time) {
	for e := s.endings.Front(); e != nil; e = s.endings.Front() {
		end := e.Value.(ending)
		if now.Before(end.closed.AddDate(0, 0, nameReservedDays)) {
			return
		}
		s.endings.Remove(e)
		if x := end.machine.names[end.name].x; x != nil {
			delete(s.byArn, x.arn)
		}
		delete(end.machine.names, end.name)
		s.names--
	}
}

func (s *Server) find(arn string) (*execution, error) {
	if !strings.HasPrefix(arn, arnHead+"execution:") {
		return nil, apiErrorf("InvalidArn", "Invalid Arn: '%s'", arn)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.byArn[arn]; x != nil {
		return x, nil
	}
	return nil, apiErrorf("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)
}

// list returns up to max executions of a machine, latest start first, that started before the given number, and the
// number to go on from, 0 at the end.
func (s *Server) list(machineArn string, status Status, before int64, max int) ([]Description, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.machines[machineArn]
	if m == nil {
		return nil, 0, apiErrorf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", machineArn)
	}
	var page []Description
	for e := s.order.Back(); e != nil; e = e.Prev() {
		x := e.Value.(*execution)
		if x.machine != m || before > 0 && x.number >= before || s.byArn[x.arn] != x {
			continue
		}
		d := x.describe()
		if status != "" && d.Status != status {
			continue
		}
		if len(page) == max {
			return page, before, nil
		}
		page = append(page, d)
		before = x.number
	}
	return page, 0, nil
}
