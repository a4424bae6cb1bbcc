package expr

import (
	"fmt"
	"strings"

	"holdfast/internal/local/dynamo/attr"
)

// Step is one part of a document path: a name, or a list index.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
}

// Path leads to an attribute or into one. Its first step is a name.
type Path []Step

// String is the path as DynamoDB's messages show it.
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.Name
		if s.IsIndex {
			parts[i] = fmt.Sprintf("[%d]", s.Index)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Find is the value the path leads to; nil when there is none.
func (p Path) Find(it attr.Item) *attr.Value {
	v := it.Get(p[0].Name)
	for _, s := range p[1:] {
		if v = s.into(v); v == nil {
			return nil
		}
	}
	return v
}

func (s Step) into(v *attr.Value) *attr.Value {
	switch {
	case v == nil:
		return nil
	case s.IsIndex && v.Kind == attr.KindList && s.Index < len(v.List):
		return &v.List[s.Index]
	case !s.IsIndex && v.Kind == attr.KindMap:
		return v.Map.Get(s.Name)
	}
	return nil
}

func (p Path) equal(other Path) bool {
	if len(p) != len(other) {
		return false
	}
	for i := range p {
		if p[i] != other[i] {
			return false
		}
	}
	return true
}

// compare orders paths so that, of two in one list, the earlier element comes first.
func (p Path) compare(other Path) int {
	for i := range min(len(p), len(other)) {
		if c := strings.Compare(p[i].Name, other[i].Name); c != 0 {
			return c
		}
		if c := p[i].Index - other[i].Index; c != 0 {
			return c
		}
	}
	return len(p) - len(other)
}

// clash reports two paths of one expression of which one lies within the other, or that disagree on what lies there.
func clash(paths []Path) error {
	for i, p := range paths {
		for _, other := range paths[:i] {
			if err := clashing(other, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func clashing(one, two Path) error {
	for i := range min(len(one), len(two)) {
		if one[i].IsIndex != two[i].IsIndex {
			return fail("Two document paths conflict with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", one, two)
		}
		if one[i] != two[i] {
			return nil
		}
	}
	return fail("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", one, two)
}
