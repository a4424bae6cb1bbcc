package execution_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/execution"
	"holdfast/internal/local/states"
)

// asking keeps the tokens that Ask is given.
type asking struct {
	mu     sync.Mutex
	tokens []string
}

func (a *asking) ask(payload []byte) (any, error) {
	var in struct{ Token string }
	err := json.Unmarshal(payload, &in)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = append(a.tokens, in.Token)
	return in, err
}

func (a *asking) token() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens[len(a.tokens)-1]
}

func newParts(t *testing.T, a *asking) *apptest.Parts {
	t.Helper()
	return apptest.New(t, apptest.Options{Functions: map[string]apptest.Function{"ask": a.ask}})
}

// The name and the input are made of the run and the generation alone, so that a second start is recognised.
func TestCaseB028_StartTwiceIsOneExecution(t *testing.T) {
	t.Parallel()
	p := newParts(t, &asking{})
	for range 3 {
		apptest.Must(t, p.Executions.Start(t.Context(), "run_a", 1))
	}
	p.Reaches(t, "run_a", 1, "TaskSubmitted", 1)
	d, err := p.States.Describe(p.Arn("run_a", 1))
	apptest.Must(t, err)
	if diff := cmp.Diff(`{"run":"run_a","next":"execute","until":"","ask_timeout":0}`, string(d.Input)); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	if got := execution.Name("run_a", 12); got != "run_a-12" {
		t.Errorf("name %s", got)
	}
}

// A closed execution keeps its name: the start is refused there, and no error here.
func TestCaseB028_StartAfterTheEnd(t *testing.T) {
	t.Parallel()
	a := &asking{}
	p := newParts(t, a)
	apptest.Must(t, p.Executions.Start(t.Context(), "run_a", 1))
	p.Reaches(t, "run_a", 1, "TaskSubmitted", 1)
	woken, err := p.Executions.Wake(t.Context(), a.token(), "run_a")
	if err != nil || !woken {
		t.Fatalf("woken %v, %v", woken, err)
	}
	p.Ends(t, "run_a", 1)
	apptest.Must(t, p.Executions.Start(t.Context(), "run_a", 1))
	if got := p.Path("run_a", 1); got != "Plan Ask Execute Route Done" {
		t.Errorf("it ran again: %s", got)
	}
	assertState(t, p, execution.Ended)
}

func TestFindTellsWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(*testing.T, *apptest.Parts)
		want execution.State
	}{
		"never started": {func(*testing.T, *apptest.Parts) {}, execution.Missing},
		"running": {func(t *testing.T, p *apptest.Parts) {
			apptest.Must(t, p.Executions.Start(t.Context(), "run_a", 1))
		}, execution.Running},
		"aborted": {func(t *testing.T, p *apptest.Parts) {
			apptest.Must(t, p.Executions.Start(t.Context(), "run_a", 1))
			_, err := p.States.Stop(p.Arn("run_a", 1), "", "")
			apptest.Must(t, err)
		}, execution.Aborted},
		"dead": {func(t *testing.T, p *apptest.Parts) {
			_, err := p.States.Start(p.Executions.Machine, execution.Name("run_a", 1), []byte(`[]`)) // Ask has no run to take
			apptest.Must(t, err)
			p.Ends(t, "run_a", 1)
		}, execution.Dead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := apptest.New(t, apptest.Options{Functions: map[string]apptest.Function{
				"plan": func(b []byte) (any, error) {
					if string(b) == "[]" {
						return []int{}, nil
					}
					return execution.Travel{Run: "run_a", AskTimeout: 60}, nil
				},
				"ask": func([]byte) (any, error) { return nil, nil },
			}})
			c.do(t, p)
			assertState(t, p, c.want)
		})
	}
}

func assertState(t *testing.T, p *apptest.Parts, want execution.State) {
	t.Helper()
	got, err := p.Executions.Find(t.Context(), "run_a", 1)
	if err != nil || got != want {
		t.Errorf("found state %d, %v; want %d", got, err, want)
	}
}

// Tokens only wake: one that cannot be answered any more is no error, because the decision is in the ledger already.
func TestCaseB026_TokensThatNoLongerWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(*testing.T, *apptest.Parts, *asking) string{
		"answered before": func(t *testing.T, p *apptest.Parts, a *asking) string {
			_, err := p.Executions.Wake(t.Context(), a.token(), "run_a")
			apptest.Must(t, err)
			return a.token()
		},
		"timed out": func(t *testing.T, p *apptest.Parts, a *asking) string {
			p.Clock.Move(2 * time.Hour)
			p.Reaches(t, "run_a", 1, "TaskTimedOut", 1)
			return a.token()
		},
		"of an aborted execution": func(t *testing.T, p *apptest.Parts, a *asking) string {
			_, err := p.States.Stop(p.Arn("run_a", 1), "", "")
			apptest.Must(t, err)
			return a.token()
		},
		"never given": func(*testing.T, *apptest.Parts, *asking) string { return "nobody's" },
		"too long":    func(*testing.T, *apptest.Parts, *asking) string { return strings.Repeat("x", 3000) },
		"answered, and the answer was lost": func(t *testing.T, p *apptest.Parts, a *asking) string {
			p.Faults.Set(func(op string, _ []byte) apptest.Fault { return apptest.Fault{Lose: op == "SendTaskSuccess"} })
			if _, err := p.Executions.Wake(t.Context(), a.token(), "run_a"); err == nil {
				t.Error("a lost answer was taken for one")
			}
			p.Faults.Set(nil)
			return a.token()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asking{}
			p := newParts(t, a)
			apptest.Must(t, p.Executions.Start(t.Context(), "run_a", 1))
			p.Reaches(t, "run_a", 1, "TaskSubmitted", 1)
			woken, err := p.Executions.Wake(t.Context(), c(t, p, a), "run_a")
			if err != nil || woken {
				t.Errorf("woken %v, %v; want neither", woken, err)
			}
		})
	}
}

// A service that refuses for now is an error of its own: nobody may take it for "started" or "woken".
func TestR13_ThrottlingIsAnError(t *testing.T) {
	t.Parallel()
	p := newParts(t, &asking{})
	p.Faults.Set(func(string, []byte) apptest.Fault { return apptest.Fault{Code: "ThrottlingException"} })
	_, found := p.Executions.Find(t.Context(), "run_a", 1)
	_, woken := p.Executions.Wake(t.Context(), "token", "run_a")
	for call, err := range map[string]error{"start": p.Executions.Start(t.Context(), "run_a", 1), "find": found, "wake": woken} {
		var exists *types.ExecutionAlreadyExists
		if err == nil || errors.As(err, &exists) || !strings.Contains(err.Error(), "run_a") {
			t.Errorf("%s: error %v; want one that names the run", call, err)
		}
	}
	if _, err := p.States.Describe(p.Arn("run_a", 1)); err == nil {
		t.Error("it was started")
	}
}

func TestExecutionArn(t *testing.T) {
	t.Parallel()
	want := "arn:aws:states:eu-north-1:123456789012:execution:shop-run:run_a-2"
	if got := execution.ExecutionArn("arn:aws:states:eu-north-1:123456789012:stateMachine:shop-run", "run_a-2"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := execution.ExecutionArn(states.MachineArn("m"), "n"), states.ExecutionArn("m", "n"); got != want {
		t.Errorf("got %s, want what the laptop's server says: %s", got, want)
	}
}
