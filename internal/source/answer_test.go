package source_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/source"
)

const answerBytesMax = 256 // Flow takes a large answer for a failure

func TestAnswersBySource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state                    source.State
		flow, shopify, standardW int
	}{
		{source.StateRecorded, 202, 200, 200},
		{source.StateRunning, 202, 200, 200},
		{source.StateHeld, 202, 200, 200},
		{source.StateStopped, 202, 200, 200},
		{source.StateDone, 200, 200, 200},
		{source.StateRefused, 422, 200, 200},
		{"", 503, 503, 503},
		{"invented", 503, 503, 503},
	} {
		for name, want := range map[string]int{"shopify-flow": c.flow, "shopify": c.shopify, "standard": c.standardW} {
			answer := config(t, name).Answer.For(c.state, "run_0123456789abcdefghjkmnpqrs")
			if answer.Status != want {
				t.Errorf("%s hears %d for %q, want %d", name, answer.Status, c.state, want)
			}
			var body struct {
				State source.State
				ID    string
			}
			if err := json.Unmarshal(answer.Body, &body); err != nil || len(answer.Body) > answerBytesMax || body.State != c.state || !strings.HasPrefix(body.ID, "run_") {
				t.Errorf("%s: body %s, error %v; want small JSON with state and id", name, answer.Body, err)
			}
		}
	}
}

// Right: every repeat gets the current state at once, the last one too; a hold is never shown as a failure.
func TestCaseB049_FlowHearsTheCurrentStateOnEveryRepeat(t *testing.T) {
	t.Parallel()
	const body = `{"shop_id":7,"handle":"follow-up","action_run_id":"R","properties":{}}`
	first := hook{source: "shopify-flow", body: body}.receive(t)
	for _, state := range []source.State{source.StateRecorded, source.StateRunning, source.StateHeld, source.StateHeld, source.StateDone} {
		repeat := hook{source: "shopify-flow", body: body}.receive(t)
		if got := source.Relate(first.Identity(), repeat.Identity(), 20*3600e9); got != source.RelationDuplicate {
			t.Errorf("the repeat is %s, want a duplicate", got)
		}
		status := repeat.Answer().For(state, "run_1").Status
		if done := state == source.StateDone; status >= 300 || (status == http.StatusOK) != done {
			t.Errorf("%s is answered with %d", state, status)
		}
	}
}

func TestCombine(t *testing.T) {
	t.Parallel()
	done, held, refused := source.StateDone, source.StateHeld, source.StateRefused
	for _, c := range []struct {
		states []source.State
		want   source.State
	}{
		{nil, ""},
		{[]source.State{done, ""}, ""},
		{[]source.State{done, "invented"}, ""},
		{[]source.State{done, done}, done},
		{[]source.State{done, held, source.StateRunning}, held},
		{[]source.State{done, source.StateRunning, refused}, source.StateRunning},
		{[]source.State{source.StateRecorded, source.StateRunning}, source.StateRunning},
		{[]source.State{done, source.StateStopped}, source.StateStopped},
		{[]source.State{refused, refused}, refused},
		{[]source.State{refused, done}, done},
	} {
		if got := source.Combine(c.states...); got != c.want {
			t.Errorf("combined %v is %q, want %q", c.states, got, c.want)
		}
	}
}
