package main

import (
	"encoding/json"
	"sync"

	"holdfast/internal/execution"
	"holdfast/internal/operation"
)

// status is how the flows stand, in the driver's words: a flow that is held for a person counts as failed.
type status struct {
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Running   int `json:"running"`
}

// tally counts flows by what the product's own functions answer to the state machine. They answer "done" and "hold" after
// the ledger has it, so that nothing is counted that the ledger does not hold.
type tally struct {
	mu    sync.Mutex
	ids   map[string]bool // accepted
	held  map[operation.RunID]bool
	ended map[operation.RunID]bool
}

func newTally() *tally {
	return &tally{ids: map[string]bool{}, held: map[operation.RunID]bool{}, ended: map[operation.RunID]bool{}}
}

func (t *tally) accepted(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids[id] = true
}

// answered is told what a function answered.
func (t *tally) answered(_ string, out []byte) {
	var to execution.Travel
	if json.Unmarshal(out, &to) != nil || to.Run == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch to.Next {
	case execution.NextDone:
		t.ended[to.Run] = true
		delete(t.held, to.Run)
	case execution.NextHold:
		t.held[to.Run] = true
	}
}

func (t *tally) status() status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := status{Completed: len(t.ended), Failed: len(t.held)}
	s.Running = max(len(t.ids)-s.Completed-s.Failed, 0)
	return s
}
