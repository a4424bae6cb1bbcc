package local

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/local/states"
	"holdfast/internal/samtemplate"
)

const (
	bodyBytesMax    = 10 << 20 // API Gateway's limit on a body
	payloadBytesMax = 6 << 20  // Lambda's limit on an event, as JSON
	headerBytesMax  = 10240    // API Gateway's limit on request line and header values together
	retryAfterS     = "1"      // seconds that a refused sender is asked to wait
)

// gateway serves the template's routes as API Gateway's HTTP API does, with payload format 2.0. A route takes its own
// method only: HEAD is not GET there.
func (l *Local) gateway(r samtemplate.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != r.Method {
			notFound(w, req)
			return
		}
		if headerBytes(req) > headerBytesMax {
			message(w, http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large")
			return
		}
		if l.behind(r.Function) {
			unavailable(w, req)
			return
		}
		leave, ok := l.admission.enter(req.ContentLength)
		if !ok {
			unavailable(w, req)
			return
		}
		defer leave()
		l.route(w, req, r)
	})
}

func (l *Local) route(w http.ResponseWriter, req *http.Request, r samtemplate.Route) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, bodyBytesMax))
	if err != nil {
		unread(w, err)
		return
	}
	payload, err := json.Marshal(l.event(req, r, body))
	switch {
	case err != nil:
		message(w, http.StatusInternalServerError, internalError)
		return
	case len(payload) > payloadBytesMax:
		message(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	out, fnErr, err := l.functions.Invoke(req.Context(), functionArn(r.Function), payload)
	if late := (*states.InvokeError)(nil); errors.As(err, &late) && late.Name == timedOut {
		l.log.Error("function timed out", "function", r.Function)
		unavailable(w, req)
		return
	}
	if err != nil || fnErr != nil {
		l.log.Error("function failed", "function", r.Function, "error", errors.Join(err, functionError(fnErr)))
		message(w, http.StatusInternalServerError, internalError)
		return
	}
	write(w, out)
}

// timedOut is how Lambda names a function that did not answer within its limit. What it did stands; a sender that comes
// again meets it.
const timedOut = "Sandbox.Timedout"

// functionError is what a function reported, for the log.
func functionError(e *states.FunctionError) error {
	if e == nil {
		return nil
	}
	return errors.New(string(e.Payload))
}

// unread answers a request whose body was too large or broke off.
func unread(w http.ResponseWriter, err error) {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		message(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	message(w, http.StatusBadRequest, "Bad Request")
}

const internalError = "Internal Server Error"

// message is an answer of the gateway's own.
func message(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"message": text})
}

// unavailable tells a sender to come again. The body is read to its end and not kept: a sender that is still writing would
// find the connection broken instead of an answer.
func unavailable(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, req.Body, bodyBytesMax)) // the answer is the same
	w.Header().Set("Retry-After", retryAfterS)
	message(w, http.StatusServiceUnavailable, "Service Unavailable")
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	message(w, http.StatusNotFound, "Not Found")
}

// headerBytes is what API Gateway counts: the request line and the header values.
func headerBytes(req *http.Request) int {
	n := len(req.Method) + len(" ") + len(req.RequestURI) + len(" ") + len(req.Proto) + len(req.Host)
	for _, values := range req.Header {
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

// event is the request as the HTTP API hands it to a function.
func (l *Local) event(req *http.Request, r samtemplate.Route, body []byte) events.APIGatewayV2HTTPRequest {
	now := l.Clock.Now()
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: r.Method + " " + r.Path, RawPath: req.URL.Path, RawQueryString: req.URL.RawQuery,
		Cookies: cookies(req.Header), Headers: headers(req), QueryStringParameters: query(req.URL.Query()), PathParameters: parameters(req, r.Path),
	}
	e.RequestContext = events.APIGatewayV2HTTPRequestContext{
		RouteKey: e.RouteKey, AccountID: "000000000000", Stage: "$default", APIID: "local", RequestID: l.newID("req"),
		DomainName: req.Host, DomainPrefix: "local", Time: now.Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
			Method: req.Method, Path: req.URL.Path, Protocol: req.Proto, SourceIP: peer(req), UserAgent: req.UserAgent(),
		},
	}
	if e.IsBase64Encoded = len(body) > 0 && !textual(req.Header.Get("Content-Type"), body); e.IsBase64Encoded {
		e.Body = base64.StdEncoding.EncodeToString(body)
	} else {
		e.Body = string(body)
	}
	return e
}

// textual says whether a body travels as text. API Gateway goes by the declared type, and takes a form, or a body of no
// declared type, for binary.
func textual(contentType string, body []byte) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch kind {
	case "application/json", "application/xml", "application/javascript":
	default:
		if !strings.HasPrefix(kind, "text/") {
			return false
		}
	}
	return utf8.Valid(body)
}

// headers have their names in lower case and repeats joined by commas; cookies stand apart.
func headers(req *http.Request) map[string]string {
	out := map[string]string{"host": req.Host, "x-forwarded-for": peer(req), "x-forwarded-proto": "http"}
	if req.ContentLength >= 0 {
		out["content-length"] = strconv.FormatInt(req.ContentLength, 10)
	}
	for name, values := range req.Header {
		out[strings.ToLower(name)] = strings.Join(values, ",")
	}
	delete(out, "cookie")
	return out
}

func cookies(h http.Header) []string {
	var out []string
	for _, line := range h.Values("Cookie") {
		for part := range strings.SplitSeq(line, ";") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

func query(values url.Values) map[string]string {
	out := map[string]string{}
	for name, v := range values {
		out[name] = strings.Join(v, ",")
	}
	return out
}

func peer(req *http.Request) string {
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		return req.RemoteAddr
	}
	return host
}

func parameters(req *http.Request, path string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			out[name] = req.PathValue(name)
		}
	}
	return out
}

// write answers with what a function returned.
func write(w http.ResponseWriter, out []byte) {
	var a events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(out, &a); err != nil || a.StatusCode == 0 {
		message(w, http.StatusInternalServerError, internalError)
		return
	}
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(a.Body)
		if err != nil {
			message(w, http.StatusInternalServerError, internalError)
			return
		}
		body = decoded
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	for _, c := range a.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	w.WriteHeader(a.StatusCode)
	_, _ = w.Write(body) // the client may be gone; nothing depends on it
}
