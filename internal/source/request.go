package source

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/textproto"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// BodyBytesMax is the largest body that is parsed and run, in bytes. A larger genuine one is held.
	BodyBytesMax = 1 << 20
	// EventBytesMax is the largest gateway event that is looked at, in bytes; Lambda itself allows less.
	EventBytesMax = 12 << 20
	// HeaderBytesMax is the longest header value that is used, in bytes.
	HeaderBytesMax = 8 << 10
)

// Request is one HTTP request as it was received: whatever the gateway did to the body has been undone.
type Request struct {
	Method string
	Path   string
	Source string // the route parameter: the name of the source that is addressed
	Header Header
	body   []byte
}

// NewRequest is a request that did not come through a gateway event. The body is kept, not copied.
func NewRequest(method, requestPath string, header http.Header, body []byte) Request {
	r := Request{Method: method, Path: requestPath, Source: routeSource(requestPath), Header: Header{}, body: body}
	for name, values := range header {
		r.Header.add(name, values...)
	}
	return r
}

// Body is the exact bytes received.
func (r Request) Body() []byte { return r.body }

// Oversize says that the body is larger than BodyBytesMax.
func (r Request) Oversize() bool { return len(r.body) > BodyBytesMax }

// Header is a request's headers by canonical name, so that look-up ignores case.
type Header map[string][]string

func (h Header) add(name string, values ...string) {
	name = textproto.CanonicalMIMEHeaderKey(name)
	h[name] = append(h[name], values...)
	slices.Sort(h[name])
}

// values gives what was sent under the name, without the white space that HTTP allows around a value.
func (h Header) values(name string) []string {
	found := h[textproto.CanonicalMIMEHeaderKey(name)]
	trimmed := make([]string, len(found))
	for i, v := range found {
		trimmed[i] = strings.Trim(v, " \t")
	}
	return trimmed
}

// one is the only value under the name. Several values, or one too long to use, are not one.
func (h Header) one(name string) (value string, ok bool) {
	found := h.values(name)
	if len(found) != 1 || found[0] == "" || len(found[0]) > HeaderBytesMax {
		return "", false
	}
	return found[0], true
}

func (h Header) has(name string) bool { return len(h[textproto.CanonicalMIMEHeaderKey(name)]) > 0 }

// gatewayEvent covers HTTP APIs and function URLs (payload 2.0), REST APIs and HTTP APIs with payload 1.0, and
// load balancers: the shapes agree wherever they use the same name.
type gatewayEvent struct {
	RawPath           string              `json:"rawPath"`
	Path              string              `json:"path"`
	HTTPMethod        string              `json:"httpMethod"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	PathParameters    map[string]string   `json:"pathParameters"`
	Body              jsontext.Value      `json:"body"`
	IsBase64Encoded   bool                `json:"isBase64Encoded"`
	RequestContext    struct {
		HTTP struct {
			Method string `json:"method"`
			Path   string `json:"path"`
		} `json:"http"`
	} `json:"requestContext"`
}

// DecodeEvent reads a Lambda event of any HTTP shape. A *Refusal is the sender's fault (base64 that is none, a
// body beyond EventBytesMax); any other error means that the function was not invoked by a gateway as configured.
func DecodeEvent(raw []byte) (Request, error) {
	if len(raw) > EventBytesMax {
		return Request{}, refuse(http.StatusRequestEntityTooLarge, ReasonTooLarge, "the request is larger than %d MiB; send less at once", EventBytesMax>>20)
	}
	var e gatewayEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return Request{}, fmt.Errorf("the function's event is not an HTTP event that can be read exactly (%d bytes); check what invokes it", len(raw))
	}
	r := Request{Method: e.RequestContext.HTTP.Method, Path: e.RawPath, Header: e.header()}
	if r.Method == "" {
		r.Method, r.Path = e.HTTPMethod, e.Path
	}
	if r.Method == "" {
		return Request{}, fmt.Errorf("the function's event names no HTTP method; invoke it through the HTTP API, a REST API, a function URL or a load balancer")
	}
	r.Source = e.PathParameters["source"]
	if r.Source == "" {
		r.Source = routeSource(r.Path)
	}
	var err error
	r.body, err = e.bytes()
	return r, err
}

// header prefers the multi-value form, which is the complete one where both are given.
func (e gatewayEvent) header() Header {
	h := Header{}
	for name, values := range e.MultiValueHeaders {
		h.add(name, values...)
	}
	if len(h) > 0 {
		return h
	}
	for name, value := range e.Headers {
		h.add(name, value)
	}
	return h
}

func (e gatewayEvent) bytes() ([]byte, error) {
	if len(e.Body) == 0 || e.Body.Kind() == 'n' {
		return nil, nil
	}
	if e.Body.Kind() != '"' {
		return nil, fmt.Errorf("the gateway handed over a body that it had already parsed, so no signature can be checked; remove the mapping template from the route")
	}
	text, err := jsontext.AppendUnquote(nil, e.Body)
	if err != nil {
		return nil, fmt.Errorf("the gateway's body is not readable text; let it hand bodies over as base64")
	}
	if !e.IsBase64Encoded {
		return text, nil
	}
	body, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, ReasonEncoding, "the body is marked as base64 and is not valid base64; send it again unchanged")
	}
	return body, nil
}

// routeSource is the segment after /hooks/, also behind a stage or base path.
func routeSource(requestPath string) string {
	before, name := path.Split(strings.TrimSuffix(requestPath, "/"))
	if !strings.HasSuffix(before, "/hooks/") {
		return ""
	}
	return name
}
