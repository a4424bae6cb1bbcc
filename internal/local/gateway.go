package local

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/samtemplate"
)

const (
	requestBytesMax = 6 << 20 // Lambda's limit on an event, which bounds what API Gateway can hand over
	headerBytesMax  = 10240   // API Gateway's limit on request line and headers
)

// gateway serves the template's routes as API Gateway's HTTP API does, with payload format 2.0.
func (l *Local) gateway(routes []samtemplate.Route) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		pattern := r.Method + " " + r.Path
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { l.route(w, req, r) })
	}
	return mux
}

func (l *Local) route(w http.ResponseWriter, req *http.Request, r samtemplate.Route) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, requestBytesMax))
	if err != nil {
		http.Error(w, `{"message":"Request Entity Too Large"}`, http.StatusRequestEntityTooLarge)
		return
	}
	payload, err := json.Marshal(l.event(req, r, body))
	if err != nil {
		http.Error(w, `{"message":"Internal Server Error"}`, http.StatusInternalServerError)
		return
	}
	out, fnErr, err := l.functions.Invoke(req.Context(), functionArn(r.Function), payload)
	if err != nil || fnErr != nil {
		l.log.Error("function failed", "function", r.Function, "error", err, "function_error", fnErr != nil)
		http.Error(w, `{"message":"Internal Server Error"}`, http.StatusInternalServerError)
		return
	}
	write(w, req, out)
}

// event is the request as the HTTP API hands it to a function: names in lower case, repeats joined by commas, a body
// that is not text in base64.
func (l *Local) event(req *http.Request, r samtemplate.Route, body []byte) events.APIGatewayV2HTTPRequest {
	headers := map[string]string{"host": req.Host}
	for name, values := range req.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: r.Method + " " + r.Path, RawPath: req.URL.EscapedPath(), RawQueryString: req.URL.RawQuery,
		Headers: headers, PathParameters: parameters(req, r.Path),
	}
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = req.Method, req.URL.Path
	e.RequestContext.HTTP.SourceIP = "127.0.0.1"
	e.RequestContext.RequestID = l.newID("req")
	e.RequestContext.TimeEpoch = l.Clock.Now().UnixMilli()
	if utf8.Valid(body) {
		e.Body = string(body)
	} else {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e
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

func write(w http.ResponseWriter, req *http.Request, out []byte) {
	var a events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(out, &a); err != nil || a.StatusCode == 0 {
		http.Error(w, `{"message":"Internal Server Error"}`, http.StatusInternalServerError)
		return
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	for _, c := range a.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(a.Body)
		if err != nil {
			http.Error(w, `{"message":"Internal Server Error"}`, http.StatusInternalServerError)
			return
		}
		body = decoded
	}
	w.WriteHeader(a.StatusCode)
	if req.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone; nothing depends on it
	}
}
