package states_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/clock"
	"holdfast/internal/fuzztest"
	"holdfast/internal/local/states"
)

// callBound is what one call of the API may allocate, in bytes; definitionBound what reading a definition may.
var (
	callBound       = fuzztest.Bound{Base: 32 << 20, PerByte: 1 << 10}
	definitionBound = fuzztest.Bound{Base: 32 << 20, PerByte: 1 << 10}
)

func newServer(t *testing.T, machines map[string][]byte) *states.Server {
	t.Helper()
	made := 0
	s, err := states.New(states.Options{Clock: clock.New(), Invoker: invoker(echo), Machines: machines, NewToken: func() string { made++; return fmt.Sprint("t", made) }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(s http.Handler, op, body string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "AWSStepFunctions."+op)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Any call of the API is answered in JSON; one that is refused has changed no execution.
//
//fuzz:slow
func FuzzAPI(f *testing.F) {
	machine, execution := states.MachineArn("m"), states.ExecutionArn("m", "run_1-1")
	for _, seed := range [][2]string{
		{"StartExecution", `{"stateMachineArn":"` + machine + `","name":"run_2-1","input":"{}"}`}, {"StartExecution", `{"stateMachineArn":"` + machine + `","name":"run_1-1","input":"{\"other\":1}"}`},
		{"StartExecution", `{"stateMachineArn":"` + machine + `","name":"a*b","input":"{"}`}, {"DescribeExecution", `{"executionArn":"` + execution + `"}`}, {"StopExecution", `{"executionArn":"` + execution + `","error":"E","cause":"c"}`},
		{"StopExecution", `{"executionArn":"` + execution + `","error":"` + strings.Repeat("e", 300) + `"}`}, {"GetExecutionHistory", `{"executionArn":"` + execution + `","maxResults":1,"nextToken":"from-1","reverseOrder":true}`},
		{"ListExecutions", `{"stateMachineArn":"` + machine + `","statusFilter":"RUNNING","maxResults":-1}`}, {"SendTaskSuccess", `{"taskToken":"t1","output":"{}"}`}, {"SendTaskSuccess", `{"taskToken":"t1","output":"{"}`},
		{"SendTaskFailure", `{"taskToken":"t1","error":"E"}`}, {"SendTaskHeartbeat", `{"taskToken":"` + strings.Repeat("x", 3000) + `"}`}, {"CreateStateMachine", `{"name":"n","definition":"{\"StartAt\":\"X\",\"States\":{\"X\":{\"Type\":\"Succeed\"}}}","roleArn":"r"}`},
		{"DescribeStateMachine", `[]`}, {"Nothing", `{}`}, {"StartExecution", `{"stateMachineArn":"` + machine + `","unknown":1}`}, {"ListExecutions", ``}, {"ListExecutions", `{"nextToken":"from--1"}`},
	} {
		f.Add(seed[0], seed[1])
	}
	waiting := map[string][]byte{"m": []byte(single(`"Type":"Wait","Seconds":99999999`))}
	f.Fuzz(func(t *testing.T, op, body string) {
		s := newServer(t, waiting)
		defer s.Close()
		if _, err := s.Start(machine, "run_1-1", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		before := executions(t, s, machine)
		var status int
		var answer string
		fuzztest.Bounded(t, callBound, len(body), func() { status, answer = call(s, op, body) })
		var told struct {
			Type string `json:"__type"`
		}
		if err := json.Unmarshal([]byte(answer), &told); err != nil || status != http.StatusOK && (status != http.StatusBadRequest || told.Type == "" || told.Type == "InternalFailure") {
			t.Fatalf("%d %q: %v", status, answer, err)
		}
		if after := executions(t, s, machine); status != http.StatusOK && !slices.Equal(before, after) {
			t.Fatalf("%d %s, and the executions were %v and are %v", status, answer, before, after)
		}
	})
}

func executions(t *testing.T, s *states.Server, machine string) []string {
	t.Helper()
	_, answer := call(s, "ListExecutions", `{"stateMachineArn":"`+machine+`"}`)
	var page struct {
		Executions []struct{ Name, Status string } `json:"executions"`
	}
	if err := json.Unmarshal([]byte(answer), &page); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range page.Executions {
		all = append(all, e.Name+" "+e.Status)
	}
	return all
}

// A machine that is accepted runs any input to an end when it neither waits nor calls, within the bounds on its history
// and its payload, and twice to the same end.
//
//fuzz:slow
func FuzzRun(f *testing.F) {
	for _, seed := range [][2]string{
		{single(`"Type":"Pass","Parameters":{"a.$":"$.x[0]['b c']","n.$":"$$.Execution.Name","k":[1,{"d.$":"$"}]},"ResultPath":"$.out.deep"`), `{"x":[{"b c":9007199254740993}]}`},
		{single(`"Type":"Pass","InputPath":"$.a","OutputPath":"$.b"`), `{"a":{"b":1}}`}, {single(`"Type":"Pass","Result":{"a":1},"ResultPath":"$.a.b.c"`), `[]`},
		{rule(`"And":[{"Variable":"$.a","NumericGreaterThan":1e400},{"Not":{"Variable":"$.b","TimestampEquals":"2026-11-29T12:00:00Z"}}]`), `{"a":1,"b":"x"}`},
		{rule(`"Variable":"$.a","StringMatches":"*a*b*c*d*e*"`), `{"a":"` + strings.Repeat("abcd", 500) + `"}`}, {rule(`"Variable":"$.a[0]","NumericEqualsPath":"$.b"`), `{"a":[1.0],"b":1}`},
		{`{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Choice","Choices":[{"Variable":"$.stop","IsPresent":true,"Next":"C"}],"Default":"A"},"C":{"Type":"Fail","Error":"E","Cause":"c"}}}`, `{}`},
		{`{"StartAt":"A","States":{"A":{"Type":"Pass","Parameters":{"a.$":"$","b.$":"$"},"Next":"A"}}}`, `"x"`}, {`{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, `nonsense`},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, definition string, input []byte) {
		if strings.Contains(definition, "Task") || strings.Contains(definition, "Wait") || strings.Contains(definition, "\\u") || states.Validate([]byte(definition)) != nil {
			return
		}
		s := newServer(t, map[string][]byte{"m": []byte(definition)})
		defer s.Close()
		one, ok := outcome(t, s, "one", input)
		if two, again := outcome(t, s, "two", input); ok != again || one != two && !strings.Contains(definition, "$$") { // the context object tells the two apart
			t.Fatalf("%q and then %q", one, two)
		}
	})
}

// The bounds of one execution, as AWS has them.
const (
	payloadMax = 262_144 // bytes
	historyMax = 25_000  // events
)

func outcome(t *testing.T, s *states.Server, name string, input []byte) (string, bool) {
	t.Helper()
	started, err := s.Start(states.MachineArn("m"), name, input)
	if err != nil {
		return err.Error(), false
	}
	d, err := s.Wait(t.Context(), started.Arn)
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.History(started.Arn)
	if err != nil || len(events) < 2 || len(events) > historyMax || len(d.Output) > payloadMax || d.Status == states.StatusSucceeded && !json.Valid(d.Output) {
		t.Fatalf("%d events, %s with %q: %v", len(events), d.Status, d.Output, err)
	}
	return fmt.Sprintf("%s %s %s %s", d.Status, d.Output, d.Error, d.Cause), true
}

// deepMax bounds how often a piece of a definition is put inside of itself: the place of every field is known while it is
// read, so that memory grows with the depth times the size.
const deepMax = 1000

// Reading a definition takes memory in proportion to it, however wide it is, and deep up to deepMax.
//
//fuzz:slow
func FuzzDefinitionBound(f *testing.F) {
	f.Add(`{"a":`, uint16(1000))
	f.Add(`[`, uint16(999))
	f.Add(`{"`+strings.Repeat("n", 200)+`":`, uint16(1000))
	f.Add(`{"Not":`, uint16(500))
	f.Fuzz(func(t *testing.T, piece string, times uint16) {
		if times > deepMax || len(piece)*int(times) > 256<<10 || strings.Count(piece, "{")+strings.Count(piece, "[") > 1 {
			return
		}
		text := strings.Repeat(piece, int(times))
		open := strings.NewReplacer(`{`, `}`, `[`, `]`)
		var end strings.Builder
		for i := len(text) - 1; i >= 0; i-- {
			if text[i] == '{' || text[i] == '[' {
				end.WriteString(open.Replace(text[i : i+1]))
			}
		}
		whole := text + "1" + end.String()
		fuzztest.Bounded(t, definitionBound, len(whole), func() { _ = states.Validate([]byte(whole)) })
	})
}
