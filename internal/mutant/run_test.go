package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/clock"
)

// stub is a Command that answers by what stands in the call, and keeps the calls.
type stub struct {
	mu      sync.Mutex
	answers map[string]Output
	errs    map[string]error
	calls   []string
}

func (s *stub) run(_ context.Context, c Call) (Output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := strings.TrimSpace(strings.Join(c.Argv, " ") + " " + c.Flags)
	s.calls = append(s.calls, call)
	for part, err := range s.errs {
		if strings.Contains(call, part) {
			return Output{}, err
		}
	}
	for part, out := range s.answers {
		if strings.Contains(call, part) {
			return out, nil
		}
	}
	return green, nil
}

var (
	green = Output{Stdout: lines(`{"Action":"run","Test":"TestA"}`, `{"Action":"pass"}`)}
	red   = Output{Exit: 1, Stdout: lines(`{"Action":"run","Test":"TestA"}`, `{"Action":"fail","Test":"TestA"}`, `{"Action":"fail"}`)}
	hung  = Output{Exit: 1, Stdout: lines(`{"Action":"run","Test":"TestA"}`, `{"Action":"output","Output":"panic: test timed out after 1s"}`, `{"Action":"fail","Test":"TestA"}`, `{"Action":"fail"}`)}
	bad   = Output{Exit: 1, Stdout: lines(`{"Action":"build-fail"}`, `{"Action":"fail","FailedBuild":"p"}`)}
)

func runner(root string, s *stub) *Runner {
	return &Runner{Root: root, Command: s.run, Clock: clock.New(), Limit: LimitDefault, Jobs: 2}
}

func killedBy(killers ...Killer) Mutant {
	m := replacing("a/a.go", "\tx := 1\n", "")
	m.Killers = killers
	return m
}

var (
	first  = Killer{Package: "a", Tests: []string{"TestOne"}}
	second = Killer{Package: "b", Tests: []string{"TestTwo", "TestThree"}}
	seeds  = Killer{Seeds: 200}
)

func TestRunAsksKillersInTheirOrder(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stub  *stub
		want  Result
		calls int
	}{
		"killed by the first":  {&stub{answers: map[string]Output{"./a": red}}, Result{Verdict: Killed, By: []string{"TestA"}, Killer: first.String()}, 1},
		"killed by the second": {&stub{answers: map[string]Output{"./b": red}}, Result{Verdict: Killed, By: []string{"TestA"}, Killer: second.String()}, 2},
		"killed by its time":   {&stub{answers: map[string]Output{"./a": hung}}, Result{Verdict: Killed, By: []string{"TestA"}, Killer: first.String(), Timeout: true}, 1},
		"crashed":              {&stub{answers: map[string]Output{"./a": {Exit: 2, Stdout: lines(`{"Action":"fail"}`)}}}, Result{Verdict: Killed, By: []string{"a (the whole test program ended)"}, Killer: first.String()}, 1},
		"survived":             {&stub{}, Result{}, 2},
		"does not compile":     {&stub{answers: map[string]Output{"./a": bad}}, Result{Verdict: Broken, Killer: first.String(), Detail: "it does not compile"}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []Result
			r := runner(someTree(t), tt.stub)
			r.Done = func(res Result) { told = append(told, res) }
			got, err := r.Run(t.Context(), []Mutant{killedBy(first, second)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Result{tt.want}, got, cmpopts.IgnoreFields(Result{}, "Mutant", "Took")); diff != "" {
				t.Error(diff)
			}
			if len(tt.stub.calls) != tt.calls || len(told) != 1 {
				t.Errorf("calls %q, told %d times", tt.stub.calls, len(told))
			}
		})
	}
}

func TestRunLaysTheChangeOverTheTree(t *testing.T) {
	t.Parallel()
	root := someTree(t)
	var replace map[string]map[string]string
	var laid string
	r := runner(root, &stub{})
	r.Command = func(_ context.Context, c Call) (Output, error) {
		list, err := os.ReadFile(strings.TrimPrefix(c.Flags, "-overlay="))
		if err != nil || c.Folder != root {
			t.Errorf("in %s: %v", c.Folder, err)
		}
		if err := json.Unmarshal(list, &replace); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(replace["Replace"][root+"/a/a.go"])
		laid = string(text)
		return green, err
	}
	if _, err := r.Run(t.Context(), []Mutant{killedBy(second)}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(laid, "x := 1") || !strings.Contains(laid, "func two()") || len(replace["Replace"]) != 1 {
		t.Errorf("laid over: %q, %v", laid, replace)
	}
	if now, err := os.ReadFile(root + "/a/a.go"); err != nil || !strings.Contains(string(now), "x := 1") {
		t.Errorf("the tree was changed: %q %v", now, err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runner(someTree(t), &stub{}).Run(ctx, []Mutant{killedBy(first), killedBy(second)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestControlAsksEachPackageOnce(t *testing.T) {
	t.Parallel()
	s := &stub{answers: map[string]Output{"simulate": {Stdout: []byte(`{"violations":[]}`)}}}
	mutants := []Mutant{killedBy(first, second, seeds), killedBy(Killer{Package: "a", Tests: []string{"TestFour", "TestOne"}}, Killer{Seeds: 300})}
	if err := runner(someTree(t), s).Control(t.Context(), mutants); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.calls {
		_, tail, _ := strings.Cut(c, "-run ")
		if tail == "" {
			_, tail, _ = strings.Cut(c, "holdfast ")
		}
		got = append(got, tail)
	}
	want := []string{"^(TestFour|TestOne)$ ./a", "^(TestThree|TestTwo)$ ./b", "./cmd/holdfast", "simulate --seeds 300 --no-shrink --json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestControlRefusesATreeThatIsNotGreen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stub *stub
		want string
	}{
		"red":         {&stub{answers: map[string]Output{"./a": red}}, "control: the unchanged tree fails TestA: mend it first"},
		"nothing ran": {&stub{answers: map[string]Output{"./a": {}}}, "control, test a TestOne: no test ran"},
		"no go":       {&stub{errs: map[string]error{"./a": errors.New("no such program")}}, "control, test a TestOne: no such program"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := runner(someTree(t), tt.stub).Control(t.Context(), []Mutant{killedBy(first)}); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSimulationKills(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answers map[string]Output
		want    Result
	}{
		"violations": {
			map[string]Output{"simulate": {Exit: 1, Stdout: []byte(`{"seeds":40,"violations":[{"rule":"R4","what":"w","seed":7},{"rule":"R3","seed":9}]}`)}},
			Result{Verdict: Killed, By: []string{"simulation, R4 at seed 7 (2 violations in 40 seeds)"}, Detail: "w"},
		},
		"panic":              {map[string]Output{"simulate": {Exit: 2, Stderr: []byte("panic: nil\n\ngoroutine 1")}}, Result{Verdict: Killed, By: []string{"simulation, by a panic"}, Detail: "panic: nil"}},
		"none":               {map[string]Output{"simulate": {Stdout: []byte(`{"seeds":200,"violations":[]}`)}}, Result{}},
		"a rule not reached": {map[string]Output{"simulate": {Exit: 1, Stdout: []byte(`{"violations":[]}`)}}, Result{}},
		"does not compile":   {map[string]Output{"go build": {Exit: 1, Stderr: []byte("a.go:1: no")}}, Result{Verdict: Broken, Detail: "it does not compile: a.go:1: no"}},
		"no report":          {map[string]Output{"simulate": {Exit: 2, Stderr: []byte("unknown command")}}, Result{Verdict: Broken, Detail: "the simulation ended with 2 and without a report: unexpected end of JSON input: unknown command"}},
		"two words":          {map[string]Output{"simulate": {Stdout: []byte(`{"violations":[{"rule":"R4"}]}`)}}, Result{Verdict: Broken, Detail: "the simulation ended with 0 and reports 1 violations"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := runner(someTree(t), &stub{answers: tt.answers}).Run(t.Context(), []Mutant{killedBy(seeds)})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want.Verdict != Survived {
				tt.want.Killer = seeds.String()
			}
			if diff := cmp.Diff([]Result{tt.want}, got, cmpopts.IgnoreFields(Result{}, "Mutant", "Took")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSimulationThatHangsIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runner(someTree(t), nil)
		r.Command = func(ctx context.Context, c Call) (Output, error) {
			if c.Argv[0] == "go" {
				return Output{}, nil
			}
			<-ctx.Done()
			return Output{Exit: -1}, ctx.Err()
		}
		got, err := r.Run(t.Context(), []Mutant{killedBy(seeds)})
		if err != nil || got[0].Verdict != Killed || !got[0].Timeout {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}
