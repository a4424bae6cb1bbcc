package target

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/operation"
)

const (
	requestScheme   = "holdfast-request/1" // first in every encoding; another layout gets another number
	requestBytesMax = valueBytesMax + 1<<16
	partsMin        = 10 // of an encoding without headers
	headersMax      = 32
	urlBytesMax     = 4096
	headerBytesMax  = 4096
)

var (
	methods     = []string{"DELETE", "PATCH", "POST", "PUT"}
	headerName  = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	headerValue = regexp.MustCompile(`^$|^[!-~]([ -~]*[!-~])?$`)
	// reservedHeaders frame the request, carry secrets, or ask for something that the engine does not do.
	reservedHeaders = []string{"Accept-Encoding", "Authorization", "Connection", "Content-Length", "Cookie", "Expect", "Host",
		"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
)

// Header is one non-secret header field in its canonical spelling.
type Header struct {
	Name  string
	Value string
}

// Request is content as it will be sent and where to: what a person approves and what is hashed (R5).
// It never holds a secret. It may have holes (see Holes) until it is filled.
type Request struct {
	Target     string // profile name
	Operation  string // the operation's id
	Method     string
	Base       string // the destination's base address, without a final slash
	URL        string // the whole address; begins with Base
	Account    string // which account of the target; "" when the profile has none
	APIVersion string
	Headers    []Header // sorted by name
	Body       []byte   // verbatim; nil when the request has none
}

// Encode gives the one canonical form: length-prefixed parts in a fixed order.
func (r Request) Encode() []byte {
	parts := []string{requestScheme, r.Target, r.Operation, r.Method, r.Base, r.URL, r.Account, r.APIVersion, strconv.Itoa(len(r.Headers))}
	for _, h := range r.Headers {
		parts = append(parts, h.Name, h.Value)
	}
	var out bytes.Buffer
	for _, p := range append(parts, string(r.Body)) {
		fmt.Fprintf(&out, "%d:%s\n", len(p), p)
	}
	return out.Bytes()
}

// Digest is the SHA-256 of Encode.
func (r Request) Digest() operation.Digest {
	sum := sha256.Sum256(r.Encode())
	return operation.Digest(hex.EncodeToString(sum[:]))
}

// Decode reads what Encode wrote and nothing else.
func Decode(encoded []byte) (Request, error) {
	if len(encoded) > requestBytesMax {
		return Request{}, fmt.Errorf("stored request has %d bytes, allowed are %d", len(encoded), requestBytesMax)
	}
	parts, err := splitParts(encoded)
	if err != nil {
		return Request{}, fmt.Errorf("stored request: %w", err)
	}
	if parts[0] != requestScheme {
		return Request{}, fmt.Errorf("stored request has another layout than %s: read it with the release that wrote it", requestScheme)
	}
	if len(parts) < partsMin {
		return Request{}, errors.New("stored request is cut off")
	}
	r := Request{Target: parts[1], Operation: parts[2], Method: parts[3], Base: parts[4], URL: parts[5],
		Account: parts[6], APIVersion: parts[7]}
	rest := parts[partsMin-1 : len(parts)-1]
	for i := 0; i+1 < len(rest); i += 2 {
		r.Headers = append(r.Headers, Header{rest[i], rest[i+1]})
	}
	if body := parts[len(parts)-1]; body != "" {
		r.Body = []byte(body)
	}
	if !bytes.Equal(r.Encode(), encoded) {
		return Request{}, errors.New("stored request is not in its canonical form: it was changed after it was written")
	}
	return r, r.check()
}

func splitParts(b []byte) ([]string, error) {
	var out []string
	for len(b) > 0 && len(out) <= 2*headersMax+partsMin {
		head, rest, found := bytes.Cut(b, []byte(":"))
		n, err := strconv.Atoi(string(head))
		if !found || err != nil || n < 0 || n >= len(rest) || rest[n] != '\n' {
			return nil, fmt.Errorf("part %d has no valid length", len(out)+1)
		}
		out = append(out, string(rest[:n]))
		b = rest[n+1:]
	}
	if len(out) == 0 || len(b) > 0 {
		return nil, errors.New("it is empty or has too many parts")
	}
	return out, nil
}

// check refuses a request that could not be written exactly as it stands.
func (r Request) check() error {
	if !slices.Contains(methods, r.Method) {
		return fmt.Errorf("method %q is not allowed (allowed: %s)", r.Method, strings.Join(methods, ", "))
	}
	if err := checkAddress(r.Base, r.URL); err != nil {
		return err
	}
	if len(r.Body) > valueBytesMax || len(r.Headers) > headersMax {
		return fmt.Errorf("a body over %d bytes or more than %d headers", valueBytesMax, headersMax)
	}
	for i, h := range r.Headers {
		if err := checkHeader(h); err != nil {
			return err
		}
		if i > 0 && r.Headers[i-1].Name >= h.Name {
			return errors.New("headers are not sorted, or one is there twice")
		}
	}
	return nil
}

func checkHeader(h Header) error {
	if !headerName.MatchString(h.Name) || textproto.CanonicalMIMEHeaderKey(h.Name) != h.Name {
		return fmt.Errorf("header name %q is not in its canonical spelling", h.Name)
	}
	if slices.Contains(reservedHeaders, h.Name) {
		return fmt.Errorf("header %s is written by the engine and cannot be part of the content", h.Name)
	}
	if len(h.Value) > headerBytesMax || !headerValue.MatchString(h.Value) {
		return fmt.Errorf("the value of header %s is longer than %d bytes or has characters that a header cannot carry", h.Name, headerBytesMax)
	}
	return nil
}

func checkAddress(base, address string) error {
	if err := checkBase(base); err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(address, base)
	if !ok || !strings.HasPrefix(rest, "/") || len(address) > urlBytesMax {
		return fmt.Errorf("the address does not lie under its base address, or is longer than %d bytes", urlBytesMax)
	}
	u, err := url.Parse(address)
	if err != nil || u.String() != address || u.Fragment != "" {
		return errors.New("the address is not in the form in which it would be sent")
	}
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		if segment == "." || segment == ".." {
			return errors.New("the address climbs out of its path with a dot segment")
		}
	}
	return nil
}
