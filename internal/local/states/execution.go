package states

import (
	"container/list"
	"sync"
	"time"
)

// Status is where an execution stands.
type Status string

// The statuses of an execution; all but StatusRunning are final.
const (
	StatusRunning   Status = "RUNNING"
	StatusSucceeded Status = "SUCCEEDED"
	StatusFailed    Status = "FAILED"
	StatusTimedOut  Status = "TIMED_OUT"
	StatusAborted   Status = "ABORTED"
)

// Event is one line of an execution's history. Only the fields that its Type has are set; Data is the input, output
// or parameters as JSON, and times are UTC.
type Event struct {
	ID               int64
	PreviousID       int64
	Type             string
	Time             time.Time
	State            string
	Resource         string
	Data             []byte
	Error            string
	Cause            string
	TimeoutSeconds   int64
	HeartbeatSeconds int64
}

// Description is an execution as DescribeExecution shows it. Output is set once it succeeded, Error and Cause when it
// failed, timed out or was aborted with them.
type Description struct {
	Arn        string
	MachineArn string
	Name       string
	Status     Status
	Input      []byte
	Output     []byte
	Error      string
	Cause      string
	Started    time.Time
	Stopped    time.Time
}

// execution is one run of a machine. Its runner, its calls, its alarms and callers of the API meet at mu: whoever closes
// it first wins, and a closed execution takes no more events. Whoever changes what the runner may be waiting for does so
// under mu, then rings the bell; the runner wakes and looks.
type execution struct {
	server  *Server
	machine *namedMachine
	plan    *machine // the definition as it was at the start
	arn     string
	name    string
	number  int64 // in the order of starts
	input   *document
	started time.Time
	done    chan struct{} // closed once the execution is closed and its place is free; for callers from outside
	bell    Bell          // only the runner waits at it
	place   *list.Element // in the store's order; the server's mu guards it

	mu      sync.Mutex
	status  Status
	events  []Event
	output  []byte
	errName string
	cause   string
	stopped time.Time
	tokens  []string
	changed chan struct{} // made only while somebody waits for the next event
}

func (x *execution) describe() Description {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Description{
		Arn: x.arn, MachineArn: x.machine.arn, Name: x.name, Status: x.status, Input: x.input.raw, Output: x.output,
		Error: x.errName, Cause: x.cause, Started: x.started, Stopped: x.stopped,
	}
}

// record appends an event, at its time or else now, and returns its id, or 0 when the execution is closed or this event was one too many, which
// closes it.
func (x *execution) record(e Event) int64 {
	x.mu.Lock()
	if x.status != StatusRunning {
		x.mu.Unlock()
		return 0
	}
	if len(x.events) < historyEventsMax-1 {
		id := x.append(e)
		x.mu.Unlock()
		return id
	}
	x.mu.Unlock()
	x.fail(&fault{name: errRuntime, cause: causeHistoryLimit})
	return 0
}

func (x *execution) append(e Event) int64 {
	e.ID = int64(len(x.events)) + 1
	if e.Time.IsZero() {
		e.Time = x.server.clock.Now()
	}
	// The first state's event also points to 0, as AWS records it.
	if e.ID > 2 && e.PreviousID == 0 {
		e.PreviousID = e.ID - 1
	}
	if e.PreviousID < 0 {
		e.PreviousID = 0
	}
	x.events = append(x.events, e)
	if x.changed != nil {
		close(x.changed)
		x.changed = nil
	}
	return e.ID
}

func (x *execution) succeed(output []byte) {
	x.close(StatusSucceeded, Event{Type: "ExecutionSucceeded", Data: output}, output)
}

func (x *execution) fail(f *fault) {
	x.close(StatusFailed, Event{Type: "ExecutionFailed", Error: f.name, Cause: f.cause}, nil)
}

func (x *execution) timeOut() {
	x.close(StatusTimedOut, Event{Type: "ExecutionTimedOut", PreviousID: -1, Error: errTimeout}, nil)
	x.bell.Ring()
}

// abort closes a running execution for a person or a program; one that is closed keeps its end.
func (x *execution) abort(errName, cause string) {
	x.close(StatusAborted, Event{Type: "ExecutionAborted", PreviousID: -1, Error: errName, Cause: cause}, nil)
	x.bell.Ring()
}

func (x *execution) close(status Status, last Event, output []byte) {
	x.mu.Lock()
	if x.status != StatusRunning {
		x.mu.Unlock()
		return
	}
	x.append(last)
	x.status, x.output, x.errName, x.cause = status, output, last.Error, last.Cause
	x.stopped = x.events[len(x.events)-1].Time
	x.mu.Unlock()
	x.server.retire(x)
	close(x.done)
}

func (x *execution) running() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status == StatusRunning
}

// over reports that the runner has nothing more to do: the execution is closed, or the server is closing.
func (x *execution) over() bool { return !x.running() || x.server.ctx.Err() != nil }

// history returns the events so far; events are never changed once written.
func (x *execution) history() []Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.events[:len(x.events):len(x.events)]
}

// next returns the events so far and a channel that closes with the next one.
func (x *execution) next() ([]Event, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changed == nil {
		x.changed = make(chan struct{})
	}
	return x.events[:len(x.events):len(x.events)], x.changed
}
