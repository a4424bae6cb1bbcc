package expr

import (
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

// Scope resolves the placeholders of one request's expressions and remembers which were used.
type Scope struct {
	Names  []Alias
	Values []Binding
}

func (s *Scope) name(key string) (string, bool) {
	for i := range s.Names {
		if s.Names[i].Key == key {
			s.Names[i].used = true
			return s.Names[i].Name, true
		}
	}
	return "", false
}

func (s *Scope) value(key string) *attr.Value {
	for i := range s.Values {
		if s.Values[i].Key == key {
			s.Values[i].used = true
			return &s.Values[i].Value
		}
	}
	return nil
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
