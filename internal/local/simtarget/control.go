package simtarget

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Control returns the judge and the switches, apart from the targets themselves:
//
//	GET    /_sim/          page
//	GET    /_sim/effects   what every target did
//	GET    /_sim/kinds     the switches and what they do
//	GET    /_sim/faults    the switches that are set
//	POST   /_sim/faults    set one: {target, kind, count, probability, delay, match}
//	DELETE /_sim/faults    remove all, or ?target= or ?id=
//	POST   /_sim/reset     empty all targets, remove all switches
//
// It answers only under a loopback name and refuses requests that another site's page makes.
func (s *Sim) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_sim/{$}", s.servePage)
	mux.HandleFunc("GET /_sim/effects", s.serveEffects)
	mux.HandleFunc("GET /_sim/kinds", serveKinds)
	mux.HandleFunc("GET /_sim/faults", s.serveFaults)
	mux.HandleFunc("POST /_sim/faults", s.serveSetFault)
	mux.HandleFunc("DELETE /_sim/faults", s.serveClearFaults)
	mux.HandleFunc("POST /_sim/reset", s.serveReset)
	return loopbackOnly(http.NewCrossOriginProtection().Handler(mux))
}

// loopbackOnly keeps a page under a foreign name that resolves to this machine from reading or steering.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			writeError(w, http.StatusForbidden, errors.New("open this page as localhost or 127.0.0.1"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.Encode(v)
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

func (s *Sim) serveEffects(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"targets": s.Effects()})
}

func (s *Sim) serveFaults(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"faults": s.Faults()})
}

func serveKinds(w http.ResponseWriter, _ *http.Request) {
	type kind struct {
		Kind          Kind   `json:"kind"`
		Says          string `json:"says"`
		NeedsDelay    bool   `json:"needs_delay"`
		Contradiction bool   `json:"contradiction"`
	}
	var all []kind
	for _, k := range kinds() {
		all = append(all, kind{k.kind, k.says, k.needsDelay, k.contradiction})
	}
	writeJSON(w, http.StatusOK, map[string]any{"kinds": all})
}

func (s *Sim) serveSetFault(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, controlBytesMax)
	body := bufio.NewReader(r.Body)
	first, _ := body.Peek(1)
	r.Body = io.NopCloser(body)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := kind == "application/x-www-form-urlencoded" && string(first) != "{" // curl -d calls everything a form
	read := readFaultJSON
	if form {
		read = readFaultForm
	}
	f, err := read(r)
	if err == nil {
		f, err = s.SetFault(f)
	}
	switch {
	case err != nil:
		writeError(w, http.StatusBadRequest, err)
	case form:
		http.Redirect(w, r, "/_sim/", http.StatusSeeOther)
	default:
		writeJSON(w, http.StatusCreated, f)
	}
}

func readFaultJSON(r *http.Request) (Fault, error) {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	var f Fault
	if err := dec.Decode(&f); err != nil {
		return f, fmt.Errorf("the body has to be a JSON object with target, kind, count, probability, delay, match: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return f, errors.New("something follows the JSON object; send one switch for each request")
	}
	return f, nil
}

func readFaultForm(r *http.Request) (Fault, error) {
	if err := r.ParseForm(); err != nil {
		return Fault{}, err
	}
	f := Fault{Target: r.PostForm.Get("target"), Kind: Kind(r.PostForm.Get("kind")), Match: r.PostForm.Get("match")}
	var err error
	if f.Count, err = strconv.Atoi(r.PostForm.Get("count")); err != nil {
		return f, errors.New("count has to be a whole number")
	}
	if text := r.PostForm.Get("delay"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return f, fmt.Errorf("delay %q: write for example 30s or 25h", text)
		}
		f.Delay = Duration(d)
	}
	return f, nil
}

func (s *Sim) serveClearFaults(w http.ResponseWriter, r *http.Request) {
	n := s.ClearFaults(r.URL.Query().Get("target"), r.URL.Query().Get("id"))
	writeJSON(w, http.StatusOK, map[string]int{"removed": n})
}

func (s *Sim) serveReset(w http.ResponseWriter, _ *http.Request) {
	s.Reset()
	writeJSON(w, http.StatusOK, map[string]bool{"reset": true})
}
