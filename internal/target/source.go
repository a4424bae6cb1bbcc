package target

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/syntax"
)

const (
	profileBytesMax = 256 << 10
	faultsMax       = 20 // reported at once
	nodeDepthMax    = 24
)

// Fault is one mistake in a profile file, where it is.
type Fault struct {
	File      string
	Line, Col int
	Text      string
}

func (f *Fault) Error() string { return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Text) }

// source collects the faults of one file, so that a person sees all of them at once.
type source struct {
	file   string
	faults []error
}

func (s *source) fault(n *yaml.Node, format string, args ...any) {
	if len(s.faults) < faultsMax {
		s.faults = append(s.faults, &Fault{s.file, max(n.Line, 1), max(n.Column, 1), fmt.Sprintf(format, args...)})
	}
}

// keysOf lists what each kind of object may say. The JSON Schema for editors says the same (see its test).
func keysOf(kind string) []string {
	keys := map[string]string{
		"profile":     "profile version title summary contract destination auth content request answers protection lookup feed retry recovery rate timeout",
		"destination": "base_url account api_version",
		"auth":        "kind secret header token_url client_id refresh_token scope doc checked grade",
		"field":       "name type required max",
		"call":        "method path query headers body doc checked grade",
		"rule":        "status where outcome reference reason stored_error retry doc checked grade",
		"condition":   "json header equals one_of exists",
		"protection":  "kind key natural window other_body stored concurrent",
		"key":         "header json doc checked grade",
		"natural":     "value made_from doc checked grade",
		"window":      "for margin doc checked grade",
		"statement":   "says doc checked grade",
		"lookup":      "call list found absent conflict visible complete every max",
		"found":       "status where mark mark_word reference doc checked grade",
		"seen":        "status where doc checked grade",
		"visible":     "after doc checked grade",
		"complete":    "says when total doc checked grade",
		"feed":        "event joins proves doc checked grade",
		"retry":       "attempts first factor max",
		"recovery":    "order replays quiet",
		"rate":        "requests per doc checked grade",
	}
	return strings.Fields(keys[kind])
}

// object is one mapping of the file, of a known kind.
type object struct {
	s    *source
	kind string
	node *yaml.Node
	at   map[string]*yaml.Node
}

func (s *source) object(n *yaml.Node, kind string) object {
	o := object{s: s, kind: kind, node: n, at: map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode {
		s.fault(n, "%s must be a mapping with some of: %s", kind, strings.Join(keysOf(kind), ", "))
		return o
	}
	allowed := keysOf(kind)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !slices.Contains(allowed, key.Value) {
			s.fault(key, "unknown key %q in %s (allowed: %s)", key.Value, kind, strings.Join(allowed, ", "))
			continue
		}
		o.at[key.Value] = value
	}
	return o
}

func (o object) has(key string) bool { return o.at[key] != nil }

func (o object) missing(key string) {
	if o.node.Kind == yaml.MappingNode {
		o.s.fault(o.node, "%s needs %q", o.kind, key)
	}
}

// text reads a required scalar; optional gives "" when it is left out.
func (o object) text(key string) string {
	if !o.has(key) {
		o.missing(key)
		return ""
	}
	v := o.optional(key)
	if v == "" && o.at[key].Kind == yaml.ScalarNode {
		o.s.fault(o.at[key], "%s must not be empty", key)
	}
	return v
}

func (o object) optional(key string) string {
	n := o.at[key]
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		o.s.fault(n, "%s must be a text", key)
		return ""
	}
	return strings.TrimSpace(n.Value)
}

func (o object) matching(key string, shape *regexp.Regexp, what string) string {
	v := o.text(key)
	if v != "" && !shape.MatchString(v) {
		o.s.fault(o.at[key], "%s %q must be %s", key, v, what)
	}
	return v
}

func (o object) oneOf(key string, allowed ...string) string {
	v := o.text(key)
	if v != "" && !slices.Contains(allowed, v) {
		o.s.fault(o.at[key], "%s %q is not known (allowed: %s)", key, v, strings.Join(allowed, ", "))
	}
	return v
}

func (o object) flag(key string) bool {
	n := o.at[key]
	if n == nil {
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		o.s.fault(n, "%s must be true or false", key)
	}
	return n.Value == "true"
}

func (o object) number(key string, low, high int) int {
	if !o.has(key) {
		o.missing(key)
		return low
	}
	v, err := strconv.Atoi(o.at[key].Value)
	if err != nil || v < low || v > high {
		o.s.fault(o.at[key], "%s must be a whole number from %d to %d", key, low, high)
	}
	return v
}

func (o object) duration(key string, low, high time.Duration) time.Duration {
	if !o.has(key) {
		o.missing(key)
		return low
	}
	v, err := time.ParseDuration(o.at[key].Value)
	if err != nil || v < low || v > high {
		o.s.fault(o.at[key], "%s must be a duration with its unit from %s to %s, such as 30s, 5m or 24h", key, low, high)
	}
	return v
}

func (o object) list(key string) []*yaml.Node {
	n := o.at[key]
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.s.fault(n, "%s must be a list", key)
		return nil
	}
	return n.Content
}

// child reads a nested mapping when it is there.
func (o object) child(key, kind string) (object, bool) {
	if !o.has(key) {
		return object{}, false
	}
	return o.s.object(o.at[key], kind), true
}

var (
	docShape  = regexp.MustCompile(`^(https://\S+|contract)$`)
	dateShape = regexp.MustCompile(`^20[2-9][0-9]-[01][0-9]-[0-3][0-9]$`)
)

// claim reads where a statement comes from. Without a page, a date and a grade the profile does not load.
func (o object) claim() Claim {
	c := Claim{
		Doc:     o.matching("doc", docShape, `an https address of a documentation page, or "contract" for this profile's own contract`),
		Checked: o.matching("checked", dateShape, "the date on which the page was read, as 2026-11-29"),
		Grade:   o.text("grade"),
	}
	if _, err := time.Parse(time.DateOnly, c.Checked); err != nil && dateShape.MatchString(c.Checked) {
		o.s.fault(o.at["checked"], "checked %q is no date", c.Checked)
	}
	switch c.Grade {
	case "A", "B", "C", "":
	case "U":
		o.s.fault(o.at["grade"], "grade U is unverified, and what is unverified must be treated as absent: leave this statement out of the profile")
	default:
		o.s.fault(o.at["grade"], "grade %q is not known (allowed: A, B, C)", c.Grade)
	}
	return c
}

func (s *source) root(src []byte) *yaml.Node {
	if len(src) > profileBytesMax {
		s.fault(&yaml.Node{}, "the file has %d bytes, allowed are %d", len(src), profileBytesMax)
		return nil
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(src)))
	err := decoder.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) != 1:
		s.fault(&yaml.Node{}, "the file is empty; a profile begins with its name, such as `profile: my-service`")
		return nil
	case err != nil:
		line, problem := syntax.Fault(src, err)
		s.fault(&yaml.Node{Line: line}, "this is not YAML: %s", problem)
		return nil
	}
	if decoder.Decode(&yaml.Node{}) == nil {
		s.fault(&doc, "the file has more than one YAML document")
		return nil
	}
	s.plain(doc.Content[0], 0)
	if len(s.faults) > 0 {
		return nil
	}
	return doc.Content[0]
}

// plain refuses what makes a file mean something else than it shows: aliases, merges, own tags, deep nesting.
func (s *source) plain(n *yaml.Node, depth int) {
	switch {
	case depth > nodeDepthMax:
		s.fault(n, "nested deeper than %d levels", nodeDepthMax)
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge":
		s.fault(n, "anchors, aliases and merges are not allowed: write the value out")
		return
	case n.Kind == yaml.ScalarNode && !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp"}, n.Tag):
		s.fault(n, "tag %s is not allowed", n.Tag)
	}
	names := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if c.Kind != yaml.ScalarNode || names[c.Value] {
				s.fault(c, "key %q is there twice, or is no text", c.Value)
			}
			names[c.Value] = true
		}
		s.plain(c, depth+1)
	}
}

func (s *source) err() error { return errors.Join(s.faults...) }
