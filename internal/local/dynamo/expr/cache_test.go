package expr_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
)

// A kept expression is checked and evaluated as one that is parsed anew, whatever came before it.
func TestCacheChangesNothing(t *testing.T) {
	t.Parallel()
	number, text := attr.Number("1"), attr.String("x")
	cache := expr.NewCache()
	for i, c := range []struct {
		text   string
		name   string
		values []attr.Value
	}{
		{"#a > :v0", "a", []attr.Value{number}},
		{"#a > :v0", "b", []attr.Value{number}},
		{"#a > :v0", "a", []attr.Value{attr.Number("0")}},
		{"#a > :v0", "a", []attr.Value{{Kind: attr.KindBool}}},
		{"#a > :v0", "a", []attr.Value{number, text}}, // one is unused
		{"#a BETWEEN :v0 AND :v1", "a", []attr.Value{attr.Number("0"), attr.Number("2")}},
		{"#a BETWEEN :v0 AND :v1", "a", []attr.Value{attr.Number("2"), attr.Number("0")}},
		{"attribute_type(#a, :v0)", "a", []attr.Value{attr.String("N")}},
		{"attribute_type(#a, :v0)", "a", []attr.Value{text}},
		{"#a > :v0 AND", "a", []attr.Value{number}},
	} {
		for range 2 {
			want, got := evaluated(nil, c.text, c.name, c.values), evaluated(cache, c.text, c.name, c.values)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("case %d: parsed -, kept +\n%s", i, d)
			}
		}
	}
}

// More expressions than the cache keeps are still all right.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := expr.NewCache()
	for i := range 2000 {
		if got := evaluated(cache, fmt.Sprintf("#a = :v0 AND l[%d] <> :v0", i), "a", []attr.Value{attr.Number("1")}); got != "true <nil>" {
			t.Fatal(i, got)
		}
	}
}

func evaluated(cache *expr.Cache, text, name string, values []attr.Value) string {
	s := &expr.Scope{Names: []expr.Alias{{Key: "#a", Name: name}}}
	for i, v := range values {
		s.Values = append(s.Values, expr.Binding{Key: fmt.Sprintf(":v%d", i), Value: v})
	}
	c, err := cache.Condition(text, s)
	if err != nil {
		return err.Error()
	}
	it := attr.Item{{Name: "a", Value: attr.Number("1")}}
	return fmt.Sprintf("%v %v", c.Match(it, s), s.CheckUsed())
}
