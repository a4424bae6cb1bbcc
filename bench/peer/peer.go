package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"holdfast/internal/local"
)

const hookBytesMax = 64 << 10 // a delivery of the driver

// peer answers the driver.
type peer struct {
	laptop *local.Local
	tally  *tally
	topic  string // of the flow that is run
}

func (p *peer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook", p.hook)
	mux.HandleFunc("GET /status", p.status)
	return mux
}

// hook signs the delivery as its sender would have, and hands it to the product's own gateway. Equal ids are equal
// notifications, as when a sender sends again.
func (p *peer) hook(w http.ResponseWriter, r *http.Request) {
	var in struct{ ID string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, hookBytesMax)).Decode(&in); err != nil || in.ID == "" {
		http.Error(w, `send {"id": "<business id>"}`, http.StatusBadRequest)
		return
	}
	req, err := p.notification(r, in.ID)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer := &statusOf{ResponseWriter: w}
	p.laptop.ServeHTTP(answer, req)
	if answer.code/100 == 2 {
		p.tally.accepted(in.ID)
	}
}

// notification is what a sender that follows Standard Webhooks would have sent.
func (p *peer) notification(r *http.Request, id string) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"type": p.topic, "data": map[string]string{"id": id}})
	if err != nil {
		return nil, err
	}
	header, err := p.laptop.Sign("standard", "msg_"+id, body)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, p.laptop.Hooks+"/standard", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header, req.RemoteAddr, req.RequestURI = header, r.RemoteAddr, req.URL.RequestURI()
	return req, nil
}

func (p *peer) status(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p.tally.status()) // the driver asks again
}

// statusOf remembers the status that was answered.
type statusOf struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *statusOf) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
