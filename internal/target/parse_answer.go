package target

import (
	"encoding/json"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/operation"
)

var (
	reasonShape  = regexp.MustCompile(`^[a-z][a-z0-9 _-]{0,79}$`)
	pointerShape = regexp.MustCompile(`^(/([^/~]|~0|~1)+)+$`)
	classShape   = regexp.MustCompile(`^[1-5]xx$`)
)

// call reads a request template; names are the placeholders it may use.
func (o object) call(allowed, names []string) Call {
	c := Call{Method: o.oneOf("method", allowed...), Claim: o.claim()}
	c.Path = o.template("path", names)
	if p := o.optional("path"); p != "" && (!strings.HasPrefix(p, "/") || strings.ContainsAny(p, "?#")) {
		o.s.fault(o.at["path"], "path must begin with / and have no query; use query for that")
	}
	c.Query = o.pairs("query", names)
	c.Headers = o.pairs("headers", []string{"operation", "account", "api_version"})
	for _, h := range c.Headers {
		if err := checkHeader(Header{Name: textproto.CanonicalMIMEHeaderKey(h.name)}); err != nil {
			o.s.fault(o.at["headers"], "%s", err)
		}
	}
	if n := o.at["body"]; n != nil {
		c.Body = o.s.tree(n, names)
	}
	return c
}

func (o object) template(key string, names []string) text {
	t, err := parseText(o.text(key), names)
	if err != nil {
		o.s.fault(o.at[key], "%s: %s", key, err)
	}
	return t
}

func (o object) pairs(key string, names []string) []pair {
	n := o.at[key]
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		o.s.fault(n, "%s must be a mapping of names to texts", key)
		return nil
	}
	var out []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		t, err := parseText(n.Content[i+1].Value, names)
		if err != nil || n.Content[i+1].Kind != yaml.ScalarNode {
			o.s.fault(n.Content[i+1], "%s %s must be a text: %v", key, n.Content[i].Value, err)
		}
		out = append(out, pair{n.Content[i].Value, t})
	}
	return out
}

func (s *source) tree(n *yaml.Node, names []string) *tree {
	switch n.Kind {
	case yaml.MappingNode:
		out := &tree{kind: treeObject}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out.names = append(out.names, n.Content[i].Value)
			out.items = append(out.items, s.tree(n.Content[i+1], names))
		}
		return out
	case yaml.SequenceNode:
		out := &tree{kind: treeList}
		for _, c := range n.Content {
			out.items = append(out.items, s.tree(c, names))
		}
		return out
	}
	return s.leaf(n, names)
}

func (s *source) leaf(n *yaml.Node, names []string) *tree {
	if n.Tag == "!!str" || n.Tag == "!!timestamp" {
		t, err := parseText(n.Value, names)
		if err != nil {
			s.fault(n, "%s", err)
		}
		return &tree{kind: treeText, text: &t}
	}
	if !json.Valid([]byte(n.Value)) {
		s.fault(n, "%q is written as YAML but not as JSON; write it as JSON does, or quote it as a text", n.Value)
	}
	return &tree{kind: treeRaw, raw: n.Value}
}

func (o object) rules() []Rule {
	var out []Rule
	for _, n := range o.bounded("answers", rulesMax) {
		r := o.s.object(n, "rule")
		rule := Rule{
			Status: r.statuses(), Where: r.conditions("where"), Reference: r.pointers("reference"),
			Outcome:     RuleOutcome(r.oneOf("outcome", string(RuleExecuted), string(RuleNotExecuted), string(RuleUnknown), string(RuleConflict))),
			Reason:      r.matching("reason", reasonShape, "a few lower-case words"),
			StoredError: r.flag("stored_error"), Retry: r.flag("retry"), Claim: r.claim(),
		}
		r.checkRule(rule)
		out = append(out, rule)
	}
	if len(out) == 0 {
		o.missing("answers")
	}
	return out
}

// checkRule holds the line between proof and doubt: what proves something names its statuses one by one, what
// proves success has a reference, and what proves that nothing happened has the target's own error shape.
func (o object) checkRule(r Rule) {
	proves := r.Outcome == RuleExecuted || r.Outcome == RuleNotExecuted
	if proves && len(r.Status.classes) > 0 {
		o.s.fault(o.at["status"], "an outcome that proves something names each status, such as [400, 422], never a class such as 4xx")
	}
	if (r.Outcome == RuleExecuted) != (len(r.Reference) > 0) {
		o.s.fault(o.node, "an executed rule, and only that, needs a reference: where the target's own id of the effect stands in the answer")
	}
	if r.Outcome == RuleNotExecuted && !hasShape(r.Where) {
		o.s.fault(o.node, "a not_executed rule needs the target's own error shape in where (a json condition): a proxy's page with the same status proves nothing")
	}
	if r.Outcome == RuleExecuted && (r.StoredError || r.Retry) {
		o.s.fault(o.node, "an executed rule has neither stored_error nor retry")
	}
}

func hasShape(list []Condition) bool {
	for _, c := range list {
		if c.JSON != "" && (c.Exists == nil || *c.Exists) {
			return true
		}
	}
	return false
}

func (o object) statuses() statuses {
	var out statuses
	if !o.has("status") {
		o.missing("status")
	}
	for _, n := range o.list("status") {
		code, err := strconv.Atoi(n.Value)
		switch {
		case classShape.MatchString(n.Value):
			out.classes = append(out.classes, int(n.Value[0]-'0'))
		case err == nil && code >= 200 && code <= 599:
			out.codes = append(out.codes, code)
		default:
			o.s.fault(n, "status %q must be 200 to 599, or a class such as 5xx", n.Value)
		}
	}
	return out
}

func (o object) conditions(key string) []Condition {
	var out []Condition
	for _, n := range o.bounded(key, rulesMax) {
		c := o.s.object(n, "condition")
		out = append(out, c.condition())
	}
	return out
}

func (o object) condition() Condition {
	out := Condition{JSON: o.pointer("json"), Header: textproto.CanonicalMIMEHeaderKey(o.optional("header"))}
	if o.has("json") == o.has("header") {
		o.s.fault(o.node, "a condition looks at json or at header, at one of them")
	}
	tests := 0
	if o.has("equals") {
		tests++
		out.Equals = []string{o.text("equals")}
	}
	if o.has("one_of") {
		tests++
		for _, n := range o.list("one_of") {
			out.Equals = append(out.Equals, n.Value)
		}
	}
	if o.has("exists") {
		tests++
		exists := o.flag("exists")
		out.Exists = &exists
	}
	if tests != 1 {
		o.s.fault(o.node, "a condition has exactly one of: equals, one_of, exists")
	}
	return out
}

func (o object) pointer(key string) pointer {
	v := o.optional(key)
	if v != "" && !pointerShape.MatchString(v) {
		o.s.fault(o.at[key], "%s must be a JSON Pointer such as /results/0/id", key)
		return ""
	}
	return pointer(v)
}

// pointers reads one pointer, or a list of them.
func (o object) pointers(key string) []pointer {
	n := o.at[key]
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return []pointer{o.pointer(key)}
	}
	var out []pointer
	for _, c := range n.Content {
		if !pointerShape.MatchString(c.Value) {
			o.s.fault(c, "%s must be a JSON Pointer such as /results/0/id", key)
			continue
		}
		out = append(out, pointer(c.Value))
	}
	return out
}

func (o object) protection() Protection {
	p, ok := o.child("protection", "protection")
	if !ok {
		o.missing("protection")
		return Protection{}
	}
	var out Protection
	kind := p.oneOf("kind", "none", "key", "natural_key")
	switch kind {
	case "key":
		out.Kind = operation.ProtectionKey
	case "natural_key":
		out.Kind = operation.ProtectionNatural
	}
	p.key(&out, kind == "key")
	p.natural(&out, kind == "natural_key")
	out.OtherBody, out.Stored, out.Concurrent = p.statement("other_body"), p.statement("stored"), p.statement("concurrent")
	return out
}

func (o object) key(out *Protection, needed bool) {
	key, hasKey := o.child("key", "key")
	window, hasWindow := o.child("window", "window")
	if hasKey != needed || hasWindow != needed {
		o.s.fault(o.node, "protection of kind key, and only that, has both key (where the key goes) and window (how long it is remembered)")
		return
	}
	if !needed {
		return
	}
	out.KeyHeader, out.KeyJSON, out.KeyClaim = textproto.CanonicalMIMEHeaderKey(key.optional("header")), key.pointer("json"), key.claim()
	if (out.KeyHeader == "") == (out.KeyJSON == "") {
		key.s.fault(key.node, "the key goes into a header or into json, into one of them")
	}
	out.Window, out.Margin = window.duration("for", time.Minute, 400*24*time.Hour), window.duration("margin", time.Second, waitMax)
	if out.Margin >= out.Window {
		window.s.fault(window.node, "the margin leaves nothing of the window")
	}
	out.WindowAt = window.claim()
}

func (o object) natural(out *Protection, needed bool) {
	n, has := o.child("natural", "natural")
	if has != needed {
		o.s.fault(o.node, "protection of kind natural_key, and only that, has natural: which value is unique, and what it is made from")
	}
	if !has {
		return
	}
	out.Natural, out.NaturalAt = n.text("value"), n.claim()
	out.From = NaturalFrom(n.oneOf("made_from", string(NaturalOperation), string(NaturalReference), string(NaturalContent)))
}

func (o object) statement(key string) *Statement {
	c, ok := o.child(key, "statement")
	if !ok {
		return nil
	}
	return &Statement{Says: c.text("says"), Claim: c.claim()}
}
