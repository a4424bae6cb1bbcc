package source

import (
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
)

// AnswerRule is how a source wants to be told how things stand.
type AnswerRule string

// The rules.
const (
	// AnswerWhenDurable tells the sender yes as soon as the event is recorded: nothing later is its business.
	AnswerWhenDurable AnswerRule = "when_durable"
	// AnswerWhenDone tells the sender "not yet" (202) until the run is finished, as Shopify Flow expects.
	AnswerWhenDone AnswerRule = "when_done"
)

// AnswerRules is every rule.
func AnswerRules() []AnswerRule { return []AnswerRule{AnswerWhenDurable, AnswerWhenDone} }

func (r AnswerRule) known() bool { return slices.Contains(AnswerRules(), r) }

// State is how an event stands, as far as its sender is concerned. The zero State means that nothing is recorded.
type State string

// The states.
const (
	StateRecorded State = "recorded" // durable, not started yet
	StateRunning  State = "running"
	StateHeld     State = "held"    // a person decides; the sender must neither hear a failure nor repeat the work
	StateStopped  State = "stopped" // a person stopped it; parts may have been done
	StateDone     State = "done"
	StateRefused  State = "refused" // proven that nothing was done and nothing will be
)

// Answer is what the sender gets. Body is JSON and tiny, because Shopify Flow takes a large answer for a failure.
type Answer struct {
	Status int // HTTP status
	Body   []byte
}

// For is the answer for a state. id is the run's or the event's id, so that people on both sides can find it.
func (r AnswerRule) For(state State, id string) Answer {
	// Marshalling two strings cannot fail: invalid UTF-8 is allowed for and replaced.
	body, _ := json.Marshal(struct {
		State State  `json:"state,omitempty"`
		ID    string `json:"id,omitempty"`
	}{state, id})
	return Answer{Status: r.status(state), Body: body}
}

func (r AnswerRule) status(state State) int {
	switch state {
	case StateRecorded, StateRunning, StateHeld, StateStopped:
		if r == AnswerWhenDone {
			return http.StatusAccepted
		}
		return http.StatusOK
	case StateRefused:
		if r == AnswerWhenDone {
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	case StateDone:
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

// Combine is the state of an event with several runs: the least settled of them. It is finished only when all are,
// and refused only when all are. With no state, or one that is not known, it is the zero State.
func Combine(states ...State) State {
	order := []State{StateHeld, StateRunning, StateRecorded, StateStopped, StateDone, StateRefused}
	least := len(order)
	for _, s := range states {
		at := slices.Index(order, s)
		if at < 0 {
			return ""
		}
		least = min(least, at)
	}
	if least == len(order) {
		return ""
	}
	return order[least]
}
