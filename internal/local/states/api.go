package states

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const (
	requestBytesMax = 1 << 20 // one API request, as at AWS
	targetHead      = "AWSStepFunctions."
	contentType     = "application/x-amz-json-1.0"
)

// Error is a refusal as the Step Functions API names it.
type Error struct {
	Code    string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func apiErrorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func errFailed() *Error {
	return apiErrorf("InternalFailure", "the local Step Functions server failed")
}

func (s *Server) operations() map[string]func(json []byte) (any, error) {
	return map[string]func([]byte) (any, error){
		"CreateStateMachine":   s.apiCreateStateMachine,
		"DescribeStateMachine": s.apiDescribeStateMachine,
		"StartExecution":       s.apiStartExecution,
		"DescribeExecution":    s.apiDescribeExecution,
		"GetExecutionHistory":  s.apiGetExecutionHistory,
		"ListExecutions":       s.apiListExecutions,
		"StopExecution":        s.apiStopExecution,
		"SendTaskSuccess":      s.apiSendTaskSuccess,
		"SendTaskFailure":      s.apiSendTaskFailure,
		"SendTaskHeartbeat":    s.apiSendTaskHeartbeat,
	}
}

// ServeHTTP answers the Step Functions API (AWS JSON 1.0). Signatures are not checked: serve it on loopback only.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.serve(w, r)
	w.Header().Set("Content-Type", contentType)
	if err == nil {
		_, _ = w.Write(encode(answer)) // a caller that went away asks again
		return
	}
	refusal := &Error{}
	if !errors.As(err, &refusal) {
		refusal = errFailed()
	}
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(encode(map[string]string{"__type": refusal.Code, "message": refusal.Message}))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetHead)
	if r.Method != http.MethodPost || !ok {
		return nil, apiErrorf("UnknownOperationException", "a Step Functions call is a POST with a header X-Amz-Target: %sNAME", targetHead)
	}
	all := s.operations()
	call, ok := all[name]
	if !ok {
		return nil, apiErrorf("UnknownOperationException", "the operation %s does not exist on the laptop; there are %s",
			name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestBytesMax))
	if err != nil {
		return nil, apiErrorf("ValidationException", "the request could not be read, or is larger than %d bytes", requestBytesMax)
	}
	return call(body)
}

// read decodes a request and refuses fields that nothing here would obey.
func read[T any](body []byte) (T, error) {
	var request T
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil {
		return request, apiErrorf("ValidationException", "the request cannot be used on the laptop: %v", err)
	}
	return request, nil
}

// Transport answers requests in this process, without sockets, for an SDK client's HTTPClient.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ server *Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	t.server.ServeHTTP(w, r)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder keeps an answer for the caller in the same process.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
