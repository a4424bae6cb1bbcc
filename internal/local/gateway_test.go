package local

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/clock"
	"holdfast/internal/samtemplate"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

// edge is a gateway with one route and a handler of the test's own behind it.
func edge(t *testing.T, handler func(context.Context, request) (response, error)) (*Local, string) {
	t.Helper()
	l := &Local{Clock: clock.New(), log: slog.New(slog.DiscardHandler)}
	l.functions = newFunctions(l.Clock)
	l.functions.add("Echo", handler, 1<<62)
	mux := http.NewServeMux()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		mux.Handle(method+" /hooks/{source}", l.gateway(samtemplate.Route{Method: method, Path: "/hooks/{source}", Function: "Echo"}))
	}
	mux.HandleFunc("/", notFound)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return l, s.URL
}

// capture keeps the one event that a handler was given.
func capture(t *testing.T) (func() request, string) {
	t.Helper()
	got := make(chan request, 1)
	_, url := edge(t, func(_ context.Context, e request) (response, error) {
		got <- e
		return response{StatusCode: http.StatusNoContent}, nil
	})
	return func() request { return <-got }, url
}

func send(t *testing.T, method, url string, header http.Header, body io.Reader) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(raw)
}

func TestEventIsPayloadFormat2(t *testing.T) {
	t.Parallel()
	event, url := capture(t)
	header := http.Header{
		"Content-Type": {"application/json"}, "X-Shopify-Hmac-Sha256": {"sig="}, "X-Twice": {"a", "b"}, "Cookie": {"one=1; two=2", "three=3"}, "User-Agent": {"tester"},
	}
	send(t, http.MethodPost, url+"/hooks/shop%20flow?b=2&a=1&b=3&c=%26", header, strings.NewReader(`{"n":1}`))
	got := event()
	host := strings.TrimPrefix(url, "http://")
	want := request{
		Version: "2.0", RouteKey: "POST /hooks/{source}", RawPath: "/hooks/shop flow", RawQueryString: "b=2&a=1&b=3&c=%26",
		Cookies: []string{"one=1", "two=2", "three=3"}, QueryStringParameters: map[string]string{"a": "1", "b": "2,3", "c": "&"},
		PathParameters: map[string]string{"source": "shop flow"}, Body: `{"n":1}`,
		Headers: map[string]string{
			"host": host, "content-type": "application/json", "content-length": "7", "x-shopify-hmac-sha256": "sig=", "x-twice": "a,b", "user-agent": "tester",
			"accept-encoding": "gzip", "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http",
		},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: "POST /hooks/{source}", AccountID: "000000000000", Stage: "$default", APIID: "local", DomainName: host, DomainPrefix: "local",
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "POST", Path: "/hooks/shop flow", Protocol: "HTTP/1.1", SourceIP: "127.0.0.1", UserAgent: "tester"},
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(events.APIGatewayV2HTTPRequestContext{}, "RequestID", "Time", "TimeEpoch")); d != "" {
		t.Error(d)
	}
	if got.RequestContext.RequestID == "" || got.RequestContext.TimeEpoch == 0 || got.RequestContext.Time == "" {
		t.Errorf("context: %+v", got.RequestContext)
	}
}

// What travels as text is decided by the declared type, as API Gateway does: a form is binary there.
func TestBodiesAsTextOrBase64(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind, body string
		text       bool
	}{
		{"application/json", `{"å":1}`, true},
		{"application/json; charset=utf-8", `{}`, true},
		{"APPLICATION/JSON", `{}`, true},
		{"text/plain", "hello", true},
		{"text/html", "<p>", true},
		{"application/xml", "<a/>", true},
		{"application/javascript", "1", true},
		{"application/x-www-form-urlencoded", "code=ABC", false},
		{"application/octet-stream", "abc", false},
		{"application/vnd.api+json", "{}", false},
		{"", "{}", false},
		{"nonsense;;", "{}", false},
		{"application/json", "\xff\xfe", false},
		{"application/json", "", true},
		{"", "", true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %q", tt.kind, tt.body), func(t *testing.T) {
			t.Parallel()
			event, url := capture(t)
			send(t, http.MethodPost, url+"/hooks/a", http.Header{"Content-Type": {tt.kind}}, strings.NewReader(tt.body))
			got := event()
			want := tt.body
			if !tt.text {
				want = base64.StdEncoding.EncodeToString([]byte(tt.body))
			}
			if got.IsBase64Encoded == tt.text || got.Body != want {
				t.Errorf("base64 %v, body %q", got.IsBase64Encoded, got.Body)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		handler func() (response, error)
		status  int
		body    string
	}{
		{"text", func() (response, error) { return response{StatusCode: 418, Body: "tea"}, nil }, 418, "tea"},
		{"base64", func() (response, error) {
			return response{StatusCode: 200, Body: base64.StdEncoding.EncodeToString([]byte{0xff, 0}), IsBase64Encoded: true}, nil
		}, 200, "\xff\x00"},
		{"broken base64", func() (response, error) { return response{StatusCode: 200, Body: "%", IsBase64Encoded: true}, nil }, 500, `{"message":"Internal Server Error"}` + "\n"},
		{"no status", func() (response, error) { return response{}, nil }, 500, `{"message":"Internal Server Error"}` + "\n"},
		{"error", func() (response, error) { return response{}, fmt.Errorf("secret inside") }, 500, `{"message":"Internal Server Error"}` + "\n"},
		{"panic", func() (response, error) { panic("secret inside") }, 500, `{"message":"Internal Server Error"}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, url := edge(t, func(context.Context, request) (response, error) { return tt.handler() })
			resp, body := send(t, http.MethodPost, url+"/hooks/a", nil, nil)
			if resp.StatusCode != tt.status || body != tt.body {
				t.Errorf("%d %q", resp.StatusCode, body)
			}
		})
	}
}

func TestAnswersCarryHeadersAndCookies(t *testing.T) {
	t.Parallel()
	_, url := edge(t, func(context.Context, request) (response, error) {
		return response{StatusCode: 200, Headers: map[string]string{"x-a": "1"}, Cookies: []string{"a=1", "b=2"}}, nil
	})
	resp, _ := send(t, http.MethodGet, url+"/hooks/a", nil, nil)
	if d := cmp.Diff([]string{"a=1", "b=2"}, resp.Header.Values("Set-Cookie")); d != "" || resp.Header.Get("X-A") != "1" {
		t.Error(d, resp.Header)
	}
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	_, url := edge(t, func(context.Context, request) (response, error) { return response{StatusCode: 200}, nil })
	tests := []struct{ method, path string }{
		{"GET", "/"}, {"GET", "/nothing"}, {"POST", "/hooks"}, {"POST", "/hooks/a/b"}, {"PUT", "/hooks/a"}, {"HEAD", "/hooks/a"}, {"OPTIONS", "/hooks/a"},
	}
	for _, tt := range tests {
		resp, body := send(t, tt.method, url+tt.path, nil, nil)
		if resp.StatusCode != http.StatusNotFound || (tt.method != http.MethodHead && body != `{"message":"Not Found"}`+"\n") {
			t.Errorf("%s %s: %d %q", tt.method, tt.path, resp.StatusCode, body)
		}
		if got := resp.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("%s %s: %s", tt.method, tt.path, got)
		}
	}
}

// unsized hides a body's length, so that it is sent in chunks.
type unsized struct{ io.Reader }

func TestLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		kind   string
		header int
		body   io.Reader
		status int
	}{
		{"headers at home", "text/plain", 9 << 10, nil, 204},
		{"headers too large", "text/plain", headerBytesMax + 1, nil, 431},
		{"body of 5 MiB", "text/plain", 0, bytes.NewReader(bytes.Repeat([]byte("a"), 5<<20)), 204},
		{"body of 7 MiB", "text/plain", 0, bytes.NewReader(bytes.Repeat([]byte("a"), 7<<20)), 413},
		{"5 MiB are more as base64", "application/octet-stream", 0, bytes.NewReader(bytes.Repeat([]byte("a"), 5<<20)), 413},
		{"body of 11 MiB", "text/plain", 0, bytes.NewReader(bytes.Repeat([]byte("a"), 11<<20)), 413},
		{"11 MiB in chunks", "text/plain", 0, unsized{bytes.NewReader(bytes.Repeat([]byte("a"), 11<<20))}, 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, url := edge(t, func(context.Context, request) (response, error) { return response{StatusCode: 204}, nil })
			resp, body := send(t, http.MethodPost, url+"/hooks/a", http.Header{"Content-Type": {tt.kind}, "X-Long": {strings.Repeat("h", tt.header)}}, tt.body)
			if resp.StatusCode != tt.status {
				t.Errorf("%d %.100q", resp.StatusCode, body)
			}
			if tt.status != 204 && !json.Valid([]byte(body)) {
				t.Errorf("no JSON: %.100q", body)
			}
		})
	}
}

// Beyond the bound a request is refused at once, with the time to come again; what was let in is answered.
func TestOverload(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	l, url := edge(t, func(_ context.Context, e request) (response, error) {
		if e.PathParameters["source"] == "slow" {
			started <- struct{}{}
			<-release
		}
		return response{StatusCode: 200}, nil
	})
	l.admission.requests = requestsMax - 2
	var group sync.WaitGroup
	statuses := make(chan int, 2)
	for range 2 {
		group.Go(func() {
			resp, _ := send(t, http.MethodPost, url+"/hooks/slow", nil, nil)
			statuses <- resp.StatusCode
		})
		<-started
	}
	resp, body := send(t, http.MethodPost, url+"/hooks/a", nil, nil)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || body != `{"message":"Service Unavailable"}`+"\n" {
		t.Errorf("%d %v %q", resp.StatusCode, resp.Header, body)
	}
	close(release)
	group.Wait()
	for range 2 {
		if got := <-statuses; got != 200 {
			t.Errorf("one that was let in got %d", got)
		}
	}
	if resp, _ := send(t, http.MethodPost, url+"/hooks/a", nil, nil); resp.StatusCode != 200 {
		t.Errorf("afterwards: %d", resp.StatusCode)
	}
}

// While as many runs wait as may, notifications are told to come again, and pages are served.
func TestBacklog(t *testing.T) {
	t.Parallel()
	l, _ := edge(t, func(context.Context, request) (response, error) { return response{StatusCode: 200}, nil })
	l.functions.add(webhookFunction, func(context.Context, request) (response, error) { return response{StatusCode: 200}, nil }, 1<<62)
	answer := func(function string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		l.gateway(samtemplate.Route{Method: http.MethodPost, Path: "/", Function: function}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
		return w
	}
	l.functions.busy.Store(backlogMax)
	if w := answer(webhookFunction); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("a notification: %d %v", w.Code, w.Header())
	}
	if w := answer("Echo"); w.Code != 200 {
		t.Errorf("a page: %d", w.Code)
	}
	l.functions.busy.Store(backlogMax - 1)
	if w := answer(webhookFunction); w.Code != 200 {
		t.Errorf("one less: %d", w.Code)
	}
	if backlogMax >= callsMax {
		t.Error("runs are taken in that the state machine cannot call functions for")
	}
}

// A function that does not answer within its limit may have recorded what it was given, or not: the sender is told when to
// come again.
func TestFunctionTimesOut(t *testing.T) {
	t.Parallel()
	l, _ := edge(t, func(context.Context, request) (response, error) { return response{}, nil })
	release := make(chan struct{})
	l.functions.add("Slow", func(context.Context, request) (response, error) {
		<-release
		return response{StatusCode: 200}, nil
	}, 1)
	w := httptest.NewRecorder()
	l.gateway(samtemplate.Route{Method: http.MethodPost, Path: "/", Function: "Slow"}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	close(release)
	l.functions.work.Wait()
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// A sender that is refused while it writes a large body can write it to its end and gets the answer: on a busy machine it
// would find a broken connection otherwise.
func TestRefusalOfALargeBody(t *testing.T) {
	t.Parallel()
	l, url := edge(t, func(context.Context, request) (response, error) { return response{StatusCode: 200}, nil })
	l.admission.requests = requestsMax
	body := &ended{Reader: bytes.NewReader(bytes.Repeat([]byte("a"), 9<<20))}
	resp, _ := send(t, http.MethodPost, url+"/hooks/a", nil, body)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || !body.whole.Load() {
		t.Errorf("%d %v, written to its end: %v", resp.StatusCode, resp.Header, body.whole.Load())
	}
}

// ended notes that it was read to its end.
type ended struct {
	io.Reader
	whole atomic.Bool
}

func (e *ended) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if err == io.EOF {
		e.whole.Store(true)
	}
	return n, err
}

func TestAdmissionCountsBytes(t *testing.T) {
	t.Parallel()
	var a admission
	var leave []func()
	for {
		l, ok := a.enter(-1) // unknown: counted as the largest
		if !ok {
			break
		}
		leave = append(leave, l)
	}
	if want := requestsBytesMax / bodyBytesMax; len(leave) != want {
		t.Errorf("%d bodies of unknown size were let in, want %d", len(leave), want)
	}
	for _, l := range leave {
		l()
	}
	if a.requests != 0 || a.bytes != 0 {
		t.Errorf("left over: %d requests, %d bytes", a.requests, a.bytes)
	}
	if _, ok := a.enter(1 << 62); !ok {
		t.Error("a body that claims to be huge counts as more than the largest one that is read")
	}
}
