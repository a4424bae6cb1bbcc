package simtarget

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// exchange is one request, read to its end.
type exchange struct {
	method string
	path   string
	query  url.Values
	header http.Header
	raw    []byte
	json   any // decoded body; nil when it is not JSON
	route  *Route
	conn   int
	id     string // of the request, once an answer named it

	field *ast.Field // top-level GraphQL field, when the body is a GraphQL request
	args  any        // its arguments
}

var errBodyTooLarge = errors.New("the request body is too large")

// readExchange reads a request to its end.
func (t *target) readExchange(req *http.Request) (*exchange, error) {
	raw, err := readBody(req)
	if err != nil {
		return nil, err
	}
	x := &exchange{method: req.Method, path: req.URL.Path, header: req.Header, raw: raw}
	if req.URL.RawQuery != "" {
		x.query = req.URL.Query()
	}
	x.json = decodeJSON(raw)
	if t.spec.documents != nil {
		x.readGraphQL(t.spec.documents)
	}
	return x, nil
}

func readBody(req *http.Request) ([]byte, error) {
	var body bytes.Buffer
	if n := req.ContentLength; n > 0 && n <= requestBytesMax {
		body.Grow(int(n) + bytes.MinRead) // so that reading to the end makes no second buffer
	}
	if _, err := body.ReadFrom(io.LimitReader(req.Body, requestBytesMax+1)); err != nil {
		return nil, err
	}
	if body.Len() > requestBytesMax {
		return nil, errBodyTooLarge
	}
	return body.Bytes(), nil
}

// decodeJSON keeps every digit of a number; what is not exactly one JSON value is nil.
func decodeJSON(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil
	}
	return v
}

// digest identifies what a key was used for: method, address and exact bytes.
func (x *exchange) digest() string {
	h := sha256.New()
	for _, part := range []string{x.method, x.path, x.query.Encode()} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(x.raw)
	return hex.EncodeToString(h.Sum(nil))
}

// matches compares the request with a route.
func (x *exchange) matches(r *Route) bool {
	if x.method != r.Method || !r.at(x.path) || r.Query != "" && !x.query.Has(r.Query) {
		return false
	}
	return r.GraphQL == "" || x.field != nil && x.field.Name == r.GraphQL
}

// param returns the text that stands in the path where the route has the parameter.
func (x *exchange) param(name string) (string, bool) {
	if x.route == nil {
		return "", false
	}
	rest := x.path
	for _, step := range x.route.steps {
		got, after, _ := strings.Cut(rest, "/")
		if len(step) == len(name)+2 && step[0] == '{' && step[1:len(step)-1] == name {
			return got, true
		}
		rest = after
	}
	return "", false
}

// at is true when the route's path, with any non-empty text for its parameters, is the request's.
func (r *Route) at(path string) bool {
	for i, step := range r.steps {
		got, rest, more := strings.Cut(path, "/")
		if more != (i < len(r.steps)-1) || got != step && (got == "" || !strings.HasPrefix(step, "{")) {
			return false
		}
		path = rest
	}
	return true
}

// bodyDigest is the SHA-256 of the body as it came.
func (x *exchange) bodyDigest() string {
	sum := sha256.Sum256(x.raw)
	return hex.EncodeToString(sum[:])
}
