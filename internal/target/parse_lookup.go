package target

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/operation"
)

func (o object) lookup() *Lookup {
	l, ok := o.child("lookup", "lookup")
	if !ok {
		return nil
	}
	out := &Lookup{List: l.pointer("list"), Every: l.duration("every", time.Second, waitMax), Max: l.number("max", 1, lookupsMax)}
	if c, ok := l.child("call", "call"); ok {
		out.Call = c.call([]string{"GET", "POST"}, []string{"operation", "account", "api_version", "request:/…"})
	} else {
		l.missing("call")
	}
	out.Found, out.Absent, out.Conflict = l.foundRules("found", "found"), l.foundRules("absent", "seen"), l.foundRules("conflict", "seen")
	if len(out.Found) == 0 {
		l.missing("found")
	}
	for i, r := range out.Absent {
		if !hasShape(r.Where) {
			l.s.fault(l.list("absent")[i], "an absent rule needs the target's own shape in where (a json condition): a proxy's 404 page proves nothing")
		}
	}
	if v, ok := l.child("visible", "visible"); ok {
		out.Visible = &Visible{After: v.duration("after", time.Millisecond, waitMax), Claim: v.claim()}
	}
	if c, ok := l.child("complete", "complete"); ok {
		out.Complete = &Complete{Statement{Says: c.text("says"), Claim: c.claim()}, c.conditions("when"), c.pointer("total")}
		if out.Complete.Total != "" && out.List == "" {
			c.s.fault(c.node, "total needs list: it says how many items there are in all")
		}
	}
	return out
}

func (o object) foundRules(key, kind string) []FoundRule {
	var out []FoundRule
	for _, n := range o.bounded(key, rulesMax) {
		r := o.s.object(n, kind)
		rule := FoundRule{Status: r.statuses(), Where: r.conditions("where"), Claim: r.claim()}
		if kind == "found" {
			rule.Mark, rule.MarkWord, rule.Reference = r.pointer("mark"), r.flag("mark_word"), r.pointers("reference")
			if rule.Mark == "" || len(rule.Reference) == 0 {
				r.s.fault(n, "a found rule needs mark (where our operation's id stands) and reference (where the target's own id stands)")
			}
		}
		if len(rule.Status.classes) > 0 {
			r.s.fault(n, "a lookup rule names each status, never a class")
		}
		out = append(out, rule)
	}
	return out
}

// check looks at what no section can see alone.
func (o object) check(p *Profile) {
	o.checkContract(p)
	o.checkKeyPlace(p)
	if p.Recovery.Order == operation.OrderReplay && p.Policy(Options{}).Protection == operation.ProtectionNone {
		o.s.fault(o.at["recovery"], "order replay needs a documented key, or a natural key that is made from our own id: nothing else lets a request be repeated")
	}
	if p.Recovery.Order == operation.OrderReplay && p.Recovery.Replays == 0 {
		o.s.fault(o.at["recovery"], "order replay needs at least one replay")
	}
	if p.Protection.Kind == operation.ProtectionNatural && p.Protection.From == NaturalOperation && !p.Request.uses("operation") {
		o.s.fault(o.at["request"], "a natural key made from the operation needs ${operation} in the request")
	}
}

func (o object) checkContract(p *Profile) {
	var usesContract func(n *yaml.Node) bool
	usesContract = func(n *yaml.Node) bool {
		for i, c := range n.Content {
			if usesContract(c) || n.Kind == yaml.MappingNode && i%2 == 0 && c.Value == "doc" && n.Content[i+1].Value == "contract" {
				return true
			}
		}
		return false
	}
	if p.Contract == "" && usesContract(o.node) {
		o.missing("contract")
	}
}

// checkKeyPlace makes sure that a key in the body lands on a place that the template leaves for it.
func (o object) checkKeyPlace(p *Profile) {
	if p.Protection.KeyJSON == "" {
		return
	}
	at := p.Request.Body
	for token := range strings.SplitSeq(string(p.Protection.KeyJSON)[1:], "/") {
		at = at.member(unescape.Replace(token))
	}
	if at == nil || at.kind != treeText {
		o.s.fault(o.at["protection"], "the request's body has no text at %s for the key to stand in", p.Protection.KeyJSON)
		return
	}
	at.text = &text{{name: "key"}}
}

func (t *tree) member(name string) *tree {
	if t == nil || t.kind != treeObject {
		return nil
	}
	for i, n := range t.names {
		if n == name {
			return t.items[i]
		}
	}
	return nil
}

// uses says whether a template has a placeholder of this name anywhere.
func (c *Call) uses(name string) bool {
	found := c.Path.uses(name) || c.Body.uses(name)
	for _, p := range append(append([]pair(nil), c.Query...), c.Headers...) {
		found = found || p.value.uses(name)
	}
	return found
}

func (t text) uses(name string) bool {
	for _, p := range t {
		if p.name == name {
			return true
		}
	}
	return false
}

func (t *tree) uses(name string) bool {
	if t == nil {
		return false
	}
	if t.kind == treeText && t.text.uses(name) {
		return true
	}
	for _, i := range t.items {
		if i.uses(name) {
			return true
		}
	}
	return false
}
