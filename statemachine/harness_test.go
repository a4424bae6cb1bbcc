package statemachine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/local/states"
	"holdfast/statemachine"
)

const (
	arnHead = "arn:aws:lambda:us-east-1:000000000000:function:"
)

// answers is what one function answers, call by call; the last answer repeats.
type answers []func(payload map[string]string) (string, *states.FunctionError, error)

// functions stand in for the product's: the machine is what is tested here.
type functions struct {
	mu     sync.Mutex
	byName map[string]answers
	asked  []map[string]string // payloads given to ask
	got    map[string][]string // all payloads, by function
	server *states.Server
}

func (f *functions) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
	name := strings.TrimPrefix(arn, arnHead)
	var in map[string]string
	_ = json.Unmarshal(payload, &in) // numbers in the payload are of no interest here
	f.mu.Lock()
	list := f.byName[name]
	f.got[name] = append(f.got[name], string(payload))
	if name == "ask" {
		f.asked = append(f.asked, in)
	}
	if len(list) == 0 {
		f.mu.Unlock()
		return nil, nil, fmt.Errorf("the test gave no answer for %s", name)
	}
	answer := list[0]
	if len(list) > 1 {
		f.byName[name] = list[1:]
	}
	f.mu.Unlock()
	out, fnErr, err := answer(in)
	return []byte(out), fnErr, err
}

func says(out string) func(map[string]string) (string, *states.FunctionError, error) {
	return func(map[string]string) (string, *states.FunctionError, error) { return out, nil, nil }
}

func next(word string) func(map[string]string) (string, *states.FunctionError, error) {
	return says(fmt.Sprintf(`{"run":"run_1","next":%q}`, word))
}

func crashes(errType string) func(map[string]string) (string, *states.FunctionError, error) {
	return func(map[string]string) (string, *states.FunctionError, error) {
		return "", &states.FunctionError{Type: errType, Payload: []byte(`{"errorMessage":"boom","errorType":"` + errType + `"}`)}, nil
	}
}

func unavailable(name string) func(map[string]string) (string, *states.FunctionError, error) {
	return func(map[string]string) (string, *states.FunctionError, error) {
		return "", nil, &states.InvokeError{Name: name, Message: "the service failed"}
	}
}

func planned() func(map[string]string) (string, *states.FunctionError, error) {
	return says(`{"run":"run_1","next":"ask","ask_timeout":90000}`)
}

// lab is the shipped file in the interpreter, with a clock that the test moves.
type lab struct {
	t      *testing.T
	ctx    context.Context
	clock  *clock.Movable
	fns    *functions
	server *states.Server
	arn    string
}

func newLab(t *testing.T, byName map[string]answers) *lab {
	t.Helper()
	filled, err := statemachine.Fill(map[string]string{
		"PlanFunctionArn": arnHead + "plan", "AskFunctionArn": arnHead + "ask",
		"ExecuteFunctionArn": arnHead + "execute", "ReconcileFunctionArn": arnHead + "reconcile",
	})
	if err != nil {
		t.Fatal(err)
	}
	fns := &functions{byName: byName, got: map[string][]string{}}
	var tokens atomic.Int64
	c := clock.New()
	server, err := states.New(states.Options{
		Clock: c, Invoker: fns, Machines: map[string][]byte{"run": filled},
		NewToken: func() string { return fmt.Sprint("token-", tokens.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	fns.server = server
	started, err := server.Start(states.MachineArn("run"), "run_1-1", []byte(`{"run":"run_1"}`))
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, ctx: t.Context(), clock: c, fns: fns, server: server, arn: started.Arn}
}

// after waits until an event of this type was recorded n times.
func (l *lab) after(eventType string, n int) {
	l.t.Helper()
	err := l.server.Await(l.ctx, l.arn, func(events []states.Event) bool {
		seen := 0
		for _, e := range events {
			if e.Type == eventType {
				seen++
			}
		}
		return seen >= n
	})
	if err != nil {
		l.t.Fatalf("waiting for %s: %v", eventType, err)
	}
}

func (l *lab) token(i int) string {
	l.fns.mu.Lock()
	defer l.fns.mu.Unlock()
	return l.fns.asked[i]["token"]
}

func (l *lab) approve() {
	l.t.Helper()
	l.after("TaskSubmitted", 1)
	if err := l.server.SucceedTask(l.token(0), []byte(`{"answered":true}`)); err != nil {
		l.t.Fatal(err)
	}
}

// ends waits for the end and compares it, and the path of states, with what is wanted.
func (l *lab) ends(status states.Status, path string) {
	l.t.Helper()
	d, err := l.server.Wait(l.ctx, l.arn)
	if err != nil {
		l.t.Fatal(err)
	}
	if diff := cmp.Diff(path, strings.Join(l.server.PathOfStates(l.arn), " ")); diff != "" {
		l.t.Errorf("path of states (-want +got):\n%s", diff)
	}
	if d.Status != status {
		l.t.Errorf("status %s, want %s; error %s: %s", d.Status, status, d.Error, d.Cause)
	}
}
