package target

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/internal/operation"
)

// The marks of the two kinds of hole. They are made of characters that stand for themselves in JSON, in a path,
// in a query and in a header, so that a mark is found again wherever it was put.
const (
	markStart    = "~~holdfast."
	markKey      = "~~holdfast.key~~"
	markRefStart = "~~holdfast.reference."
	markEnd      = "~~"

	referenceBytesMax = 256
	keyBytesMax       = 100 // Loops and others allow no more
)

var (
	markShape     = regexp.MustCompile(`~~holdfast\.(?:key|reference\.([a-z][a-z0-9_]{0,63}))~~`)
	keyShape      = regexp.MustCompile(`^[A-Za-z0-9_-]{8,100}$`)
	errMarkInName = errors.New("the name of an object's member has the text of a hole in it")
)

// Hole is a place in a request that is filled at the first claim. Stage is "" for the key.
type Hole struct {
	Stage string
}

// HoleReference is the text that stands for the reference of an earlier stage until that stage is confirmed.
// Only the flow's own templates may put it into content; see ContainsMark for what came from outside.
func HoleReference(stage string) string { return markRefStart + stage + markEnd }

// ContainsMark says that a value from outside (an event's data) has the text of a hole in it. Whoever builds
// content refuses such a value: it would be replaced by something nobody approved.
func ContainsMark(v any) bool {
	switch v := v.(type) {
	case string:
		return containsMark(v)
	case []any:
		return slices.ContainsFunc(v, ContainsMark)
	case []string:
		return slices.ContainsFunc(v, containsMark)
	case map[string]any:
		for name, item := range v {
			if containsMark(name) || ContainsMark(item) {
				return true
			}
		}
	}
	return false
}

func containsMark(s string) bool { return strings.Contains(s, markStart) }

// checkContentMarks lets only well-formed reference holes through; the key's place is the profile's alone.
func checkContentMarks(s string) error {
	rest := markShape.ReplaceAllStringFunc(s, func(m string) string {
		if m == markKey {
			return m
		}
		return ""
	})
	if containsMark(rest) {
		return fmt.Errorf("has the text %q in it, which is kept for holes: change that text, or use ${stage.reference} in the flow", markStart)
	}
	return nil
}

// Key is the value sent under the target's key: the operation's id, and from the first generation that a person
// opened on, the generation behind it.
func Key(op operation.ID, generation int) string {
	if generation <= 0 {
		return string(op)
	}
	return fmt.Sprintf("%s-g%d", op, generation)
}

// Holes lists what is still open in a request, each once, the key first.
func Holes(r Request) []Hole {
	seen := map[Hole]bool{}
	var out []Hole
	for _, text := range r.texts() {
		for _, m := range markShape.FindAllStringSubmatch(text, -1) {
			if h := (Hole{Stage: m[1]}); !seen[h] {
				seen[h] = true
				out = append(out, h)
			}
		}
	}
	slices.SortFunc(out, func(a, b Hole) int { return strings.Compare(a.Stage, b.Stage) })
	return out
}

func (r Request) texts() []string {
	out := []string{r.URL, string(r.Body)}
	for _, h := range r.Headers {
		out = append(out, h.Value)
	}
	return out
}

// Fill puts the key and the references of earlier stages into their holes, each escaped for its place. The same
// arguments give the same bytes. A hole without its value is an error: nothing may be sent with a hole in it.
func Fill(r Request, key string, refs map[string]operation.Reference) (Request, error) {
	values := map[string]string{}
	for _, h := range Holes(r) {
		v, err := holeValue(h, key, refs)
		if err != nil {
			return Request{}, err
		}
		values[h.Stage] = v
	}
	return r.filled(values)
}

func holeValue(h Hole, key string, refs map[string]operation.Reference) (string, error) {
	if h.Stage == "" {
		if !keyShape.MatchString(key) {
			return "", fmt.Errorf("the key must be 8 to %d letters, digits, '-' or '_'", keyBytesMax)
		}
		return key, nil
	}
	v, ok := refs[h.Stage]
	if !ok {
		return "", fmt.Errorf("stage %q has no reference yet: it must be confirmed before this operation is sent", h.Stage)
	}
	if err := CheckReference(v); err != nil {
		return "", fmt.Errorf("reference of stage %q: %w", h.Stage, err)
	}
	return string(v), nil
}

// CheckReference says whether a text can be kept as a target's reference: 1 to 256 bytes of visible ASCII.
func CheckReference(ref operation.Reference) error {
	if ref == "" || len(ref) > referenceBytesMax {
		return fmt.Errorf("has %d bytes, allowed are 1 to %d", len(ref), referenceBytesMax)
	}
	for _, c := range []byte(ref) {
		if c <= ' ' || c > '~' {
			return errors.New("has characters other than visible ASCII")
		}
	}
	if containsMark(string(ref)) {
		return errors.New("has the text of a hole in it")
	}
	return nil
}

func (r Request) filled(values map[string]string) (Request, error) {
	out := r
	var err error
	if out.URL, err = fillAddress(r.URL, values); err != nil {
		return Request{}, err
	}
	if r.Body != nil {
		if out.Body, err = fillBody(r.Body, values); err != nil {
			return Request{}, err
		}
	}
	out.Headers = slices.Clone(r.Headers)
	for i := range out.Headers {
		out.Headers[i].Value = fillText(out.Headers[i].Value, values, func(s string) string { return s })
	}
	return out, out.check()
}

func fillAddress(address string, values map[string]string) (string, error) {
	path, query, hasQuery := strings.Cut(address, "?")
	for _, m := range markShape.FindAllStringSubmatch(path, -1) {
		if err := checkPathValue(values[m[1]]); err != nil {
			return "", fmt.Errorf("reference of stage %q: %w", m[1], err)
		}
	}
	path = fillText(path, values, url.PathEscape)
	if !hasQuery {
		return path, nil
	}
	return path + "?" + fillText(query, values, url.QueryEscape), nil
}

// checkPathValue refuses what could lead a request to another resource than the one that was approved.
func checkPathValue(s string) error {
	if s == "" || s == "." || s == ".." || strings.ContainsAny(s, `/\%`) {
		return errors.New(`cannot stand in an address: it is empty, a dot segment, or has '/', '\' or '%' in it`)
	}
	return nil
}

func fillBody(body []byte, values map[string]string) ([]byte, error) {
	var failed error
	out := markShape.ReplaceAllFunc(body, func(m []byte) []byte {
		quoted, err := jsontext.AppendQuote(nil, values[string(markShape.FindSubmatch(m)[1])])
		if err != nil {
			failed = err
			return m
		}
		return bytes.TrimSuffix(bytes.TrimPrefix(quoted, []byte(`"`)), []byte(`"`))
	})
	return out, failed
}

func fillText(s string, values map[string]string, escape func(string) string) string {
	return markShape.ReplaceAllStringFunc(s, func(m string) string {
		return escape(values[markShape.FindStringSubmatch(m)[1]])
	})
}
