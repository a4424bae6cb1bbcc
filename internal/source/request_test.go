package source_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/source"
)

// shape builds one gateway's event around a request.
type shape func(path string, header http.Header, body string, base64 bool) map[string]any

func single(header http.Header) map[string]string {
	joined := map[string]string{}
	for name, values := range header {
		joined[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return joined
}

func payload2(path string, header http.Header, body string, base64 bool) map[string]any {
	return map[string]any{
		"version": "2.0", "routeKey": "POST /hooks/{source}", "rawPath": path, "rawQueryString": "",
		"headers":        single(header),
		"requestContext": map[string]any{"http": map[string]any{"method": "POST", "path": path}, "stage": "$default"},
		"pathParameters": map[string]string{"source": path[strings.LastIndex(path, "/")+1:]},
		"body":           body, "isBase64Encoded": base64,
	}
}

func functionURL(path string, header http.Header, body string, base64 bool) map[string]any {
	e := payload2(path, header, body, base64)
	delete(e, "pathParameters")
	e["routeKey"] = "$default"
	return e
}

func payload1(path string, header http.Header, body string, base64 bool) map[string]any {
	return map[string]any{
		"resource": "/hooks/{source}", "path": "/prod" + path, "httpMethod": "POST",
		"headers": single(header), "multiValueHeaders": header, "pathParameters": nil,
		"requestContext": map[string]any{"httpMethod": "POST", "stage": "prod"},
		"body":           body, "isBase64Encoded": base64,
	}
}

func loadBalancer(path string, header http.Header, body string, base64 bool) map[string]any {
	return map[string]any{
		"requestContext": map[string]any{"elb": map[string]any{"targetGroupArn": "arn:aws:elasticloadbalancing:x"}},
		"httpMethod":     "POST", "path": path, "headers": single(header), "body": body, "isBase64Encoded": base64,
	}
}

func shapes() map[string]shape {
	return map[string]shape{"HTTP API": payload2, "function URL": functionURL, "REST API": payload1, "load balancer": loadBalancer}
}

func encode(t testing.TB, event map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Right: every shape gives identical bytes and passes; the flag with a body that is no base64 gives 400.
func TestCaseB041_EveryEventShapeGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"plain":   `{"type":"order.paid","u":"https:\/\/x\/a","t":"A\u0026B","n":1.0}`,
		"emoji":   `{"type":"order.paid","t":"😀 ` + "\u2028" + ` é"}`,
		"NUL":     "{\"type\":\"order.paid\"}\x00",
		"newline": "{\"type\":\"order.paid\"}\r\n",
	}
	for shapeName, build := range shapes() {
		for bodyName, body := range bodies {
			for _, base64 := range []bool{false, true} {
				sent := body
				if base64 {
					sent = b64(body)
				}
				header := hook{source: "standard", id: "msg_1", body: body}.headers(t)
				req, err := source.DecodeEvent(encode(t, build("/hooks/standard", header, sent, base64)))
				if err != nil {
					t.Errorf("%s, %s, base64 %v: %v", shapeName, bodyName, base64, err)
					continue
				}
				if diff := cmp.Diff(body, string(req.Body())); diff != "" || req.Source != "standard" || req.Method != "POST" {
					t.Errorf("%s, %s, base64 %v: source %q method %q body:\n%s", shapeName, bodyName, base64, req.Source, req.Method, diff)
				}
				_, err = testSet(t).Receive(t.Context(), req, testNow)
				if bodyName == "NUL" {
					// Genuine bytes, but no JSON: refused by the parser, so the signature was right.
					wantRefusal(t, err, http.StatusBadRequest, source.ReasonJSON)
				} else if err != nil {
					t.Errorf("%s, %s, base64 %v: refused: %v", shapeName, bodyName, base64, err)
				}
			}
		}
		for _, broken := range []string{"{}", "####", "e30", "e30=\n!", "e31="} {
			_, err := source.DecodeEvent(encode(t, build("/hooks/standard", nil, broken, true)))
			wantRefusal(t, err, http.StatusBadRequest, source.ReasonEncoding)
		}
	}
}

func TestR13_EventsThatAreNoRequestSayWhatToFix(t *testing.T) {
	t.Parallel()
	parsed := payload2("/hooks/standard", nil, "", false)
	parsed["body"] = map[string]any{"type": "order.paid"}
	for name, c := range map[string]struct {
		raw  string
		want string
	}{
		"no JSON":        {"hello", "check what invokes it"},
		"other event":    {`{"Records":[]}`, "names no HTTP method"},
		"number as body": {`{"httpMethod":"POST","path":"/hooks/x","body":7}`, "remove the mapping template"},
		"parsed body":    {string(encode(t, parsed)), "remove the mapping template"},
		"lone surrogate": {`{"httpMethod":"POST","path":"/hooks/x","body":"\ud800"}`, "read exactly"},
		"bad UTF-8":      {"{\"httpMethod\":\"POST\",\"body\":\"\xff\"}", "read exactly"},
	} {
		_, err := source.DecodeEvent([]byte(c.raw))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
			continue
		}
		if status, message := source.StatusOf(err); status != http.StatusServiceUnavailable || strings.Contains(message, c.want) {
			t.Errorf("%s: the sender hears %d %q; a malfunction is a 503 without its details", name, status, message)
		}
	}
	_, err := source.DecodeEvent(make([]byte, source.EventBytesMax+1))
	wantRefusal(t, err, http.StatusRequestEntityTooLarge, source.ReasonTooLarge)
}

func TestRouteNamesTheSource(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/hooks/shopify": "shopify", "/prod/hooks/shopify": "shopify", "/hooks/shopify/": "shopify",
		"/hooks/": "", "/hooks": "", "/other/shopify": "", "/hooks/a/b": "", "": "", "/": "",
	} {
		if got := source.NewRequest("POST", path, nil, nil).Source; got != want {
			t.Errorf("path %q names source %q, want %q", path, got, want)
		}
	}
}

// A header sent twice reaches us as a list or joined with a comma; both are the same ambiguity.
func TestR10_RepeatedIDHeaderIsHeldInEveryShape(t *testing.T) {
	t.Parallel()
	h := hook{source: "shopify", id: "E1", body: `{"id":7}`}
	for name, build := range shapes() {
		header := h.headers(t)
		header.Add("X-Shopify-Event-Id", "E2")
		req, err := source.DecodeEvent(encode(t, build("/hooks/shopify", header, h.body, false)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n, err := testSet(t).Receive(t.Context(), req, testNow)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []source.Gap{{Part: "event id", Problem: "header.X-Shopify-Event-Id is given more than once"}}
		if diff := cmp.Diff(want, n.Identity().Incomplete); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Genuine but too large is a fact that is recorded and held; not genuine is refused whatever its size.
func TestR09_OversizeIsVerifiedAndHandedOverUnparsed(t *testing.T) {
	t.Parallel()
	body := `{"type":"` + strings.Repeat("x", source.BodyBytesMax) + `"}`
	h := hook{source: "standard", id: "msg_1", body: body}
	n := h.receive(t)
	if !n.Oversize() || n.Document().Value() != nil || string(n.Body()) != body {
		t.Errorf("oversize %v, parsed %v, %d bytes; want all bytes, unparsed", n.Oversize(), n.Document().Value() != nil, len(n.Body()))
	}
	want := []source.Gap{{Part: "topic", Problem: "body.type is missing"}}
	if diff := cmp.Diff(want, n.Identity().Incomplete); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if first, again := eventID(t, n.Identity()), eventID(t, h.identity(t)); first != again {
		t.Errorf("the same bytes got two ids, %s and %s", first, again)
	}
	h.header = map[string]string{"Webhook-Signature": "v1," + b64("forged")}
	_, err := testSet(t).Receive(t.Context(), h.request(t), testNow)
	wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)
	fits := hook{source: "standard", id: "msg_1", body: `{"type":"` + strings.Repeat("x", source.BodyBytesMax-11) + `"}`}
	if n := fits.receive(t); n.Oversize() {
		t.Errorf("a body of %d bytes is called oversize", len(n.Body()))
	}
}
