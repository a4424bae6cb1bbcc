package ledgertest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// wire is a network between a client and the table: for each call a script says what goes wrong.
type wire struct {
	next dynamodb.HTTPClient
	mu   sync.Mutex
	// script is asked for the next fault of a call ("PutItem"); its n counts that call's requests from 1.
	script func(call string, n int, body []byte) fault
	counts map[string]int
}

// fault is what happens to one request. The zero value is none.
type fault struct {
	lose   bool   // the request arrives, its answer does not
	drop   bool   // the request does not arrive
	code   string // the request does not arrive and this error is the answer
	body   string // the rest of that answer's JSON, after the type
	status int    // with body alone: the whole answer
	before func() // runs before anything else: a rival
	after  func() // runs after the request was carried out
}

var errCut = errors.New("connection cut")

// Do implements dynamodb.HTTPClient.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	call := r.Header.Get("X-Amz-Target")
	call = call[strings.LastIndex(call, ".")+1:]
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f := w.fault(call, body)
	if f.before != nil {
		f.before()
	}
	switch {
	case f.drop:
		return nil, errCut
	case f.status != 0 || f.code != "":
		return f.answer(r), nil
	}
	res, err := w.next.Do(r)
	if f.after != nil {
		f.after()
	}
	if err == nil && f.lose {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return nil, errCut
	}
	return res, err
}

func (w *wire) fault(call string, body []byte) fault {
	w.mu.Lock()
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[call]++
	n := w.counts[call]
	w.mu.Unlock()
	return w.script(call, n, body)
}

func (w *wire) count(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[call]
}

// answer is what a fault with a status or a code answers.
func (f fault) answer(r *http.Request) *http.Response {
	if f.status != 0 {
		return answer(r, f.status, f.body)
	}
	return answer(r, http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#`+f.code+`","message":"scripted"`+f.body+`}`)
}

func answer(r *http.Request, status int, doc string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(doc))}
}
