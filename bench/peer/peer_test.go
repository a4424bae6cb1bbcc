package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local"
	"holdfast/internal/target"
)

const (
	step = 20 * time.Millisecond // between two looks
	wait = 2 * time.Second       // longer than any of the profiles' waits
)

// world is the peers' target, as far as its contract goes: it counts effects, and says so by operation id.
type world struct {
	mu      sync.Mutex
	effects map[string]int // by path and operation
	seen    map[string]int // requests, likewise
	keys    map[string]bool
	fault   func(nth int) string // for the nth request of an operation
}

func (s *world) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		s.lookUp(w, r)
		return
	}
	op, key := r.URL.Path+r.Header.Get("X-Operation-Id"), r.Header.Get("Idempotency-Key")
	s.seen[op]++
	fault := s.fault(s.seen[op])
	if fault == "unavailable" {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":"unavailable","effect":"none"}`)
		return
	}
	if key == "" || !s.keys[r.URL.Path+key] {
		s.effects[op]++
		s.keys[r.URL.Path+key] = true
	}
	if fault == "lost" {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":"ref-%s"}`, op)
}

func (s *world) lookUp(w http.ResponseWriter, r *http.Request) {
	op := r.URL.Query().Get("operation_id")
	ids := make([]string, s.effects[r.URL.Path+op])
	for i := range ids {
		ids[i] = fmt.Sprintf("ref-%d", i)
	}
	if len(ids) == 0 {
		w.WriteHeader(http.StatusNotFound)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"operation_id": op, "effects": len(ids), "ids": ids})
}

// TestTheJob does a flow, each id delivered twice, at a target that misbehaves once for each operation.
func TestTheJob(t *testing.T) {
	t.Parallel()
	first := func(what string) func(int) string {
		return func(nth int) string {
			if nth == 1 {
				return what
			}
			return ""
		}
	}
	for topic, requests := range map[string]map[string]int{
		// Without keys a lost answer is looked up; with keys the request is sent again under its key.
		"flow.started":      {"": 1, "lost": 1, "unavailable": 2},
		"flow.started.keys": {"": 1, "lost": 2, "unavailable": 2},
	} {
		for fault, want := range requests {
			t.Run(topic+" "+fault, func(t *testing.T) {
				t.Parallel()
				s := &world{effects: map[string]int{}, seen: map[string]int{}, keys: map[string]bool{}, fault: first(fault)}
				p := started(t, s, topic)
				for range 2 {
					post(t, p, "flow-1")
				}
				if diff := cmp.Diff(status{Completed: 1}, p.await(t, 1)); diff != "" {
					t.Error(diff)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				for op, n := range s.effects {
					if n != 1 || s.seen[op] != want {
						t.Errorf("%s: %d effects of %d requests, want 1 of %d", op, n, s.seen[op], want)
					}
				}
				if len(s.effects) != 2 {
					t.Errorf("effects of %d operations, want 2", len(s.effects))
				}
			})
		}
	}
}

// A flow whose operation cannot be told about is held, and the driver is told that it failed.
func TestAHeldFlowCountsAsFailed(t *testing.T) {
	t.Parallel()
	s := &world{effects: map[string]int{}, seen: map[string]int{}, keys: map[string]bool{}, fault: func(int) string { return "lost" }}
	twice := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // somebody did it once more
		if r.Method == http.MethodGet {
			s.mu.Lock()
			s.effects[r.URL.Path+r.URL.Query().Get("operation_id")] = 2
			s.mu.Unlock()
		}
		s.ServeHTTP(w, r)
	})
	p := started(t, twice, "flow.started")
	post(t, p, "flow-1")
	if diff := cmp.Diff(status{Failed: 1}, p.await(t, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestHooksAreChecked(t *testing.T) {
	t.Parallel()
	p := started(t, http.NotFoundHandler(), "flow.started")
	for _, body := range []string{``, `{}`, `{"id":""}`, `[]`, `{"id":7}`} {
		answer := httptest.NewRecorder()
		p.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader([]byte(body))))
		if answer.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", body, answer.Code)
		}
	}
	if diff := cmp.Diff(status{}, p.tally.status()); diff != "" {
		t.Error(diff)
	}
}

func started(t *testing.T, to http.Handler, topic string) *peer {
	t.Helper()
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	tally := newTally()
	o := options(tally, slog.New(slog.DiscardHandler))
	o.Dir = t.TempDir()
	for name := range o.Destinations {
		o.Destinations[name] = target.Destination{Base: server.URL, Account: "peers"}
	}
	l, err := local.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &peer{laptop: l, tally: tally, topic: topic}
}

func post(t *testing.T, p *peer, id string) {
	t.Helper()
	answer := httptest.NewRecorder()
	p.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(fmt.Appendf(nil, `{"id":%q}`, id))))
	if answer.Code/100 != 2 {
		body, _ := io.ReadAll(answer.Body)
		t.Fatalf("%d %s", answer.Code, body)
	}
}

// await is the status once n flows have ended, and lets the time pass that they wait for.
func (p *peer) await(t *testing.T, n int) status {
	t.Helper()
	for {
		if s := p.tally.status(); s.Completed+s.Failed >= n || t.Context().Err() != nil {
			return s
		}
		before := p.laptop.States.Transitions()
		if err := p.laptop.Clock.SleepUntil(t.Context(), p.laptop.Clock.Now().Add(step)); err != nil {
			t.Fatal(err)
		}
		if p.laptop.Busy() == 0 && p.laptop.States.Transitions() == before {
			p.laptop.Clock.Move(wait)
		}
	}
}
