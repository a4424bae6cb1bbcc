package expr

import (
	"slices"
	"strings"

	"holdfast/internal/local/dynamo/attr"
)

// Alias is one entry of ExpressionAttributeNames.
type Alias struct {
	Key, Name string
	used      bool
}

// Binding is one entry of ExpressionAttributeValues.
type Binding struct {
	Key   string
	Value attr.Value
	used  bool
}

// Scope resolves the placeholders of one request's expressions and remembers which were used. What was parsed in one
// scope can be evaluated in another with the same placeholders.
type Scope struct {
	Names  []Alias
	Values []Binding
}

// Sort brings the placeholders into the order of their spelling, so that nothing depends on how they came.
func (s *Scope) Sort() {
	if !slices.IsSortedFunc(s.Names, func(a, b Alias) int { return strings.Compare(a.Key, b.Key) }) {
		slices.SortStableFunc(s.Names, func(a, b Alias) int { return strings.Compare(a.Key, b.Key) })
	}
	if !slices.IsSortedFunc(s.Values, func(a, b Binding) int { return strings.Compare(a.Key, b.Key) }) {
		slices.SortStableFunc(s.Values, func(a, b Binding) int { return strings.Compare(a.Key, b.Key) })
	}
}

// name is the place of a name's placeholder, -1 when there is none.
func (s *Scope) name(key string) int {
	return slices.IndexFunc(s.Names, func(a Alias) bool { return a.Key == key })
}

// value is the place of a value's placeholder, -1 when there is none.
func (s *Scope) value(key string) int {
	return slices.IndexFunc(s.Values, func(b Binding) bool { return b.Key == key })
}

// CheckKeys checks the spelling of the placeholders.
func (s *Scope) CheckKeys() error {
	for i := range s.Names {
		if !placeholder(s.Names[i].Key, '#') {
			return fail(`ExpressionAttributeNames contains invalid key: Syntax error; key: "%s"`, s.Names[i].Key)
		}
	}
	for i := range s.Values {
		if !placeholder(s.Values[i].Key, ':') {
			return fail(`ExpressionAttributeValues contains invalid key: Syntax error; key: "%s"`, s.Values[i].Key)
		}
	}
	return nil
}

func placeholder(key string, sign byte) bool {
	return len(key) > 1 && key[0] == sign && skip(key, 1, isWord) == len(key)
}

// CheckUsed reports placeholders that no expression of the request used.
func (s *Scope) CheckUsed() error {
	var unused []string
	for i := range s.Names {
		if !s.Names[i].used {
			unused = append(unused, s.Names[i].Key)
		}
	}
	if len(unused) > 0 {
		return fail("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", strings.Join(unused, ", "))
	}
	for i := range s.Values {
		if !s.Values[i].used {
			unused = append(unused, s.Values[i].Key)
		}
	}
	if len(unused) > 0 {
		return fail("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", strings.Join(unused, ", "))
	}
	return nil
}
