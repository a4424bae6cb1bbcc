package expr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
)

const fuzzItem = `{"pk":{"S":"p"},"a":{"N":"1"},"l":{"L":[{"N":"1"},{"S":"x"}]},"m":{"M":{"k":{"SS":["a","b"]}}}}`

func scope() *expr.Scope {
	return &expr.Scope{
		Names: []expr.Alias{{Key: "#a", Name: "a"}, {Key: "#m", Name: "m"}},
		Values: []expr.Binding{
			{Key: ":n", Value: attr.Number("1")}, {Key: ":s", Value: attr.String("x")},
			{Key: ":l", Value: attr.Value{Kind: attr.KindList, List: []attr.Value{attr.Number("2")}}},
			{Key: ":ss", Value: attr.Value{Kind: attr.KindStringSet, Set: []string{"a"}}},
		},
	}
}

func item(t *testing.T) attr.Item {
	it, err := attr.ParseItem([]byte(fuzzItem))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// FuzzCondition: no text makes the parser or the evaluation panic.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		"a = :n", "#a BETWEEN :n AND :n", "NOT (attribute_exists(m.k) OR size(l) > :n) AND l[0] IN (:n, :s)",
		"begins_with(pk, :s)", "contains(#m.k, :s)", "attribute_type(a, :s)", "((a = :n))", "a = = :n", "", "(", "size(", ":n", "a[", "#", "a.b.c[0][1] <> l[1]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := scope()
		if c, err := expr.ParseCondition(text, s); err == nil {
			c.Match(item(t), s)
			c.Match(nil, s)
			c.Paths()
			if terms, err := c.KeyTerms(s); err == nil && len(terms) == 0 {
				t.Fatalf("%q has no terms", text)
			}
		}
		if p, err := expr.ParseProjection(text, scope()); err == nil {
			p.Of(item(t))
		}
	})
}

// FuzzUpdate: no text makes the parser or the update panic, and the item it starts from stays as it was.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		"SET a = :n", "SET a = a + :n, l[9] = :s REMOVE m.k", "ADD a :n, m.k :ss DELETE m.k :ss", "SET l = list_append(l, :l)",
		"SET b = if_not_exists(b, :n) - :n", "REMOVE l[0], l[1]", "SET", "SET a = (a + :n)", "SET a.b[0] = :n", "SET SET = SET", "", "DELETE m.k :ss SET #a = :n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := scope()
		u, err := expr.ParseUpdate(text, s)
		if err != nil {
			return
		}
		old := item(t)
		for _, start := range []attr.Item{old, nil} {
			if next, err := u.Apply(start, s); err == nil {
				attr.AppendItem(nil, next)
			}
		}
		if got := string(attr.AppendItem(nil, old)); got != fuzzItem {
			t.Fatalf("%q changed the item it read to %s", text, got)
		}
		if d := cmp.Diff(scope().Values, s.Values, cmpopts.IgnoreUnexported(expr.Binding{})); d != "" {
			t.Fatalf("%q changed the values it was given: %s", text, d)
		}
	})
}
