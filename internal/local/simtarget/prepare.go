package simtarget

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// place is where a stored scalar can be looked up: one pointer, or everything below one.
type place struct {
	at    string
	steps []string
}

// prepare works out at load what every request would otherwise work out again.
func (s *Spec) prepare() {
	s.places = map[string][]place{}
	for i := range s.Routes {
		r := &s.Routes[i]
		for _, sel := range r.selectors() {
			s.lookedUp(sel.In, sel.Field)
		}
		if r.Effect != nil && r.Effect.Natural != nil {
			s.lookedUp(r.Effect.In, r.Effect.Natural.Field)
		}
		if r.GraphQL != "" && s.documents == nil {
			s.documents = &documents{parsed: map[string]*ast.QueryDocument{}}
		}
	}
}

func (r *Route) selectors() (all []Selector) {
	for _, rej := range r.Rejects {
		if rej.Absent != nil {
			all = append(all, *rej.Absent)
		}
	}
	switch {
	case r.Get != nil:
		all = append(all, r.Get.By)
	case r.List != nil:
		all = append(all, r.List.By)
	case r.Archive != nil:
		all = append(all, r.Archive.By)
	}
	return all
}

// lookedUp adds a place; of a pointer with expressions the fixed steps in front are one.
func (s *Spec) lookedUp(in string, pointer Template) {
	p := place{}
	switch n := pointer.node.(type) {
	case constant:
		p.at = textOf(n.v)
	case joined:
		p.at = textOf(n[0].(constant).v) // compileText begins with the text in front of the first expression
		p.at = p.at[:max(0, strings.LastIndex(p.at, "/"))]
	}
	if p.at != "" {
		p.steps = stepsOf(p.at)
	}
	same := func(other place) bool { return other.at == p.at }
	if !slices.ContainsFunc(s.places[in], same) {
		s.places[in] = append(s.places[in], p)
	}
}
