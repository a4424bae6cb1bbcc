package local

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"holdfast"
	"holdfast/internal/samtemplate"
)

// pages joins the product's routes with the laptop's own: outbox, simulated targets, clock, first page.
func (l *Local) pages() (http.Handler, error) {
	routes, err := samtemplate.Routes(holdfast.Template)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	paths := map[string]bool{}
	for _, r := range routes {
		mux.Handle(r.Method+" "+r.Path, l.gateway(r))
		paths[r.Path] = true
	}
	for path := range paths {
		mux.HandleFunc(path, notFound) // the gateway knows no "method not allowed"
	}
	mux.HandleFunc("/", notFound)
	mux.Handle("/outbox", l.Outbox.Handler())
	mux.Handle("/outbox.json", l.Outbox.Handler())
	mux.Handle("/outbox/", l.Outbox.Handler())
	mux.Handle("/_sim/", l.Sim.Control())
	mux.HandleFunc("GET /_local/clock", l.showClock)
	mux.HandleFunc("POST /_local/clock", l.moveClock)
	mux.HandleFunc("POST /_local/sweep", l.sweepNow)
	mux.HandleFunc("GET /{$}", l.home)
	return onlyLoopback(http.NewCrossOriginProtection().Handler(mux)), nil
}

// onlyLoopback refuses a page of a foreign name that resolves to this machine.
func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "Holdfast on a laptop answers only as 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

type clockState struct {
	Now    string `json:"now"`
	Offset string `json:"offset"`
}

func (l *Local) showClock(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, clockState{Now: l.operationTime().String(), Offset: l.Clock.Offset().String()})
}

// moveMax bounds one move; time cannot be moved back.
const moveMax = 366 * 24 * time.Hour

func (l *Local) moveClock(w http.ResponseWriter, r *http.Request) {
	var in struct {
		By string `json:"by"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&in); err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": `send {"by":"25h"}`})
		return
	}
	d, err := time.ParseDuration(in.By)
	if err != nil || d <= 0 || d > moveMax {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "by must be a duration such as 90s, 30m or 25h, up to 8784h; the clock only moves forward"})
		return
	}
	l.Clock.Move(d)
	if err := l.keep(); err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "the clock was moved, and after a restart it will not be: " + err.Error()})
		return
	}
	l.showClock(w, r)
}

func (l *Local) sweepNow(w http.ResponseWriter, r *http.Request) {
	out, err := l.SweepOnce(r.Context())
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // the client may be gone
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
