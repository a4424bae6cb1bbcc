package statemachine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local/states"
	"holdfast/statemachine"
)

// shippedState is what these tests look at in a state of the file.
type shippedState struct {
	Type               string
	Resource           string
	TimeoutSeconds     int
	TimeoutSecondsPath string
	TimestampPath      string
	Retry              []struct{ ErrorEquals []string }
	Catch              []struct {
		ErrorEquals []string
		ResultPath  *string
		Next        string
	}
}

func shipped(t *testing.T) map[string]shippedState {
	t.Helper()
	var file struct{ States map[string]shippedState }
	if err := json.Unmarshal(statemachine.Definition, &file); err != nil {
		t.Fatal(err)
	}
	return file.States
}

func TestOnlyWhatIsHarmlessTwiceIsRetried(t *testing.T) {
	t.Parallel()
	var retried []string
	for name, s := range shipped(t) {
		if len(s.Retry) > 0 {
			retried = append(retried, name)
		}
	}
	slices.Sort(retried)
	if diff := cmp.Diff([]string{"Plan", "Reconcile"}, retried); diff != "" {
		t.Errorf("states with Retry (-want +got):\n%s", diff)
	}
}

// Functions are killed before their task gives up, so that a task that timed out has no function running any more.
func TestEveryTaskHasATimeoutAndACatch(t *testing.T) {
	t.Parallel()
	longer := map[string]int{"Plan": 30, "Execute": 60, "Reconcile": 60} // the functions' own timeouts, in seconds
	for name, s := range shipped(t) {
		if s.Type != "Task" {
			continue
		}
		if s.TimeoutSeconds == 0 && s.TimeoutSecondsPath == "" {
			t.Errorf("%s has no timeout", name)
		}
		if strings.HasSuffix(s.Resource, ".waitForTaskToken") && s.TimeoutSecondsPath != "$.ask_timeout" {
			t.Errorf("%s waits for a token without the question's own timeout", name)
		}
		if own, ok := longer[name]; ok && s.TimeoutSeconds != own+5 {
			t.Errorf("%s gives up after %d s, want 5 s after its function's %d s", name, s.TimeoutSeconds, own)
		}
		if len(s.Catch) != 1 || !slices.Equal(s.Catch[0].ErrorEquals, []string{"States.ALL"}) || s.Catch[0].ResultPath != nil {
			t.Errorf("%s must catch States.ALL and keep its input", name)
		}
	}
}

func TestNothingEndsExceptInAStateThatSaysHow(t *testing.T) {
	t.Parallel()
	for name, s := range shipped(t) {
		if terminal := name == "Held" || name == "Done"; terminal != (s.Type == "Succeed") {
			t.Errorf("%s has the type %s", name, s.Type)
		}
		if s.Type == "Wait" && s.TimestampPath != "$.until" {
			t.Errorf("%s waits for %q", name, s.TimestampPath)
		}
	}
}

func TestFillMissesNothing(t *testing.T) {
	t.Parallel()
	if _, err := statemachine.Fill(map[string]string{"PlanFunctionArn": "x", "Typo": "y"}); err == nil ||
		!strings.Contains(err.Error(), "AskFunctionArn") || !strings.Contains(err.Error(), "Typo") {
		t.Errorf("error %v names neither the missing value nor the unused one", err)
	}
	if err := states.Validate(statemachine.Definition); err == nil || !strings.Contains(err.Error(), "/States/Ask/Parameters/FunctionName") {
		t.Errorf("a definition with placeholders was accepted, or refused for another reason: %v", err)
	}
}
