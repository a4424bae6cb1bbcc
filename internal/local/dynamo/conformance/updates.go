package conformance

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// updateCases say what an update makes of the item {c:8 d:1.5 f:"x" l:["a" "b" "c"] m:{a:1 in:{b:2}} ss:(x y) ns:(1 2)}.
// want lists what is different afterwards, "-name" for what is gone; an error's code for a refusal.
var updateCases = []struct {
	expr   string
	values object
	want   string
}{
	{"SET a = :v", object{":v": "new"}, `a:"new"`},
	{"SET a = :v, f = :v", object{":v": 1}, "a:1 f:1"},
	{"set a = :v remove f", object{":v": 1}, "a:1 -f"},
	{"SET c = c + :v", object{":v": 3}, "c:11"},
	{"SET c = c - :v", object{":v": number("0.5")}, "c:7.5"},
	{"SET c = :v - c", object{":v": 1}, "c:-7"},
	{"SET a = c + d", nil, "a:9.5"},
	{"SET c = c + :v", object{":v": number("1e20")}, "c:100000000000000000008"},
	{"SET c = c + :v", object{":v": number("1e40")}, bad},
	{"SET a = :x + :y", object{":x": number("0.1"), ":y": number("0.2")}, "a:0.3"},
	{"SET a = if_not_exists(a, :z) + :v", object{":z": 0, ":v": 1}, "a:1"},
	{"SET c = if_not_exists(c, :z) + :v", object{":z": 0, ":v": 1}, "c:9"},
	{"SET a = if_not_exists(nope, f)", nil, `a:"x"`},
	{"SET l = list_append(l, :v)", object{":v": list{"d"}}, `l:["a" "b" "c" "d"]`},
	{"SET l = list_append(:v, l)", object{":v": list{"d"}}, `l:["d" "a" "b" "c"]`},
	{"SET l = list_append(l, l)", nil, `l:["a" "b" "c" "a" "b" "c"]`},
	{"SET a = list_append(if_not_exists(a, :e), :v)", object{":e": list{}, ":v": list{1}}, "a:[1]"},
	{"SET l[1] = :v", object{":v": 0}, `l:["a" 0 "c"]`},
	{"SET l[9] = :v", object{":v": 0}, `l:["a" "b" "c" 0]`},
	{"SET l[9] = :v, l[5] = :w", object{":v": 9, ":w": 5}, `l:["a" "b" "c" 5 9]`},
	{"REMOVE l[0]", nil, `l:["b" "c"]`},
	{"REMOVE l[0], l[2]", nil, `l:["b"]`},
	{"REMOVE l[2], l[0]", nil, `l:["b"]`},
	{"REMOVE l[7]", nil, ""},
	{"SET l[0] = :v REMOVE l[1]", object{":v": "A"}, `l:["A" "c"]`},
	{"REMOVE nope", nil, ""},
	{"REMOVE m.a", nil, "m:{in:{b:2}}"},
	{"REMOVE m.nope", nil, ""},
	{"SET m.b = :v", object{":v": 2}, "m:{a:1 b:2 in:{b:2}}"},
	{"SET m.#in.#b = :v", object{":v": 3}, "m:{a:1 in:{b:3}}"},
	{"SET m.a = m.#in.b, m.#in.b = m.a", nil, "m:{a:2 in:{b:1}}"},
	{"SET a = c, c = :v", object{":v": 0}, "a:8 c:0"},
	{"SET c = d, d = c", nil, "c:1.5 d:8"},
	{"ADD c :v", object{":v": number("-8")}, "c:0"},
	{"ADD a :v", object{":v": 4}, "a:4"},
	{"ADD m.a :v", object{":v": 1}, "m:{a:2 in:{b:2}}"},
	{"ADD ss :v", object{":v": stringSet{"y", "z"}}, "ss:SS(x y z)"},
	{"ADD a :v", object{":v": stringSet{"y"}}, "a:SS(y)"},
	{"ADD ns :v", object{":v": numberSet{"2.0", "3"}}, "ns:NS(1 2 3)"},
	{"DELETE ss :v", object{":v": stringSet{"x", "q"}}, "ss:SS(y)"},
	{"DELETE ss :v", object{":v": stringSet{"x", "y"}}, "-ss"},
	{"DELETE a :v", object{":v": stringSet{"x"}}, ""},
	{"SET a = :v ADD c :v DELETE ss :x REMOVE f", object{":v": 1, ":x": stringSet{"x"}}, "a:1 c:9 -f ss:SS(y)"},
	{"SET a = :v", object{":v": object{"k": list{null{}, true, []byte{255}}}}, "a:{k:[null true Bff]}"},

	{"SET missing.b = :v", object{":v": 2}, bad},
	{"SET f.b = :v", object{":v": 2}, bad},
	{"SET l.b = :v", object{":v": 2}, bad},
	{"SET m[0] = :v", object{":v": 2}, bad},
	{"SET a = nope", nil, bad},
	{"SET f = f + :v", object{":v": 1}, bad},
	{"SET a = c + :v", object{":v": "1"}, bad},
	{"SET a = list_append(l, :v)", object{":v": 1}, bad},
	{"SET a = list_append(c, :v)", object{":v": list{1}}, bad},
	{"ADD f :v", object{":v": 1}, bad},
	{"ADD c :v", object{":v": stringSet{"1"}}, bad},
	{"ADD a :v", object{":v": "1"}, bad},
	{"ADD l :v", object{":v": list{1}}, bad},
	{"DELETE c :v", object{":v": 1}, bad},
	{"DELETE ss :v", object{":v": numberSet{"1"}}, bad},
	{"SET pk = :v", object{":v": "other"}, bad},
	{"REMOVE sk", nil, bad},
	{"SET a = :v, a = :v", object{":v": 1}, bad},
	{"SET m = :v, m.a = :v", object{":v": 1}, bad},
	{"SET m.a = :v REMOVE m", object{":v": 1}, bad},
	{"SET l[0] = :v, l.a = :v", object{":v": 1}, bad},
	{"SET a = :v SET b = :v", object{":v": 1}, bad},
	{"SET a = :v,", object{":v": 1}, bad},
	{"SET a :v", object{":v": 1}, bad},
	{"SET a = :v * :v", object{":v": 1}, bad},
	{"SET a = size(l)", nil, bad},
	{"ADD c c", nil, bad},
	{"PUT a = :v", object{":v": 1}, bad},
	{"SET gpk = :v", object{":v": 1}, bad},
	{"SET gpk = :v", object{":v": ""}, bad},
}

func updates(t *testing.T, s *suite) {
	table := s.table(t, "updates", "S")
	before := object{"c": 8, "d": number("1.5"), "f": "x", "l": list{"a", "b", "c"}, "m": object{"a": 1, "in": object{"b": 2}}, "ss": stringSet{"x", "y"}, "ns": numberSet{"1", "2"}}
	for _, c := range updateCases {
		t.Run(c.expr+" "+show(of(c.values)), func(t *testing.T) {
			key := object{"pk": c.expr, "sk": show(of(c.values))}
			whole := of(before)
			for k, v := range key {
				whole[k] = value(v)
			}
			if _, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: whole}); err != nil {
				t.Fatal(err)
			}
			_, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
				TableName: table, Key: of(key), UpdateExpression: aws.String(c.expr),
				ExpressionAttributeNames: aliases(c.expr), ExpressionAttributeValues: bound(c.values),
			})
			after := s.get(t, table, key["pk"], key["sk"])
			got := changed(whole, after)
			if err != nil {
				same(t, "what a refused update changes", "", got)
				got = code(err)
			}
			same(t, "what it makes", c.want, got)
		})
	}
	missingItem(t, s, table)
}

// changed lists what is different in the new item, in the order of the names.
func changed(before, after item) string {
	var parts []string
	all := item{}
	for _, it := range []item{before, after} {
		for k, v := range it {
			all[k] = v
		}
	}
	for _, name := range sortedNames(all) {
		was, is := showValue(before[name]), showValue(after[name])
		switch {
		case was == is:
		case is == "absent":
			parts = append(parts, "-"+name)
		default:
			parts = append(parts, name+":"+is)
		}
	}
	return strings.Join(parts, " ")
}

// missingItem: an update makes the item unless it is refused, and a delete of nothing succeeds.
func missingItem(t *testing.T, s *suite, table *string) {
	t.Run("an update makes a missing item", func(t *testing.T) {
		key := of(object{"pk": "new", "sk": "x"})
		out, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: table, Key: key, UpdateExpression: aws.String("SET a = if_not_exists(a, :v) REMOVE b"),
			ExpressionAttributeValues: of(object{":v": 1}), ReturnValues: types.ReturnValueAllNew,
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the item", `{a:1 pk:"new" sk:"x"}`, show(out.Attributes))
	})
	t.Run("an update without expression makes the item", func(t *testing.T) {
		if _, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{TableName: table, Key: of(object{"pk": "bare", "sk": "x"})}); err != nil {
			t.Fatal(err)
		}
		same(t, "the item", `{pk:"bare" sk:"x"}`, show(s.get(t, table, "bare", "x")))
	})
	t.Run("a delete of nothing succeeds", func(t *testing.T) {
		if _, err := s.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: table, Key: of(object{"pk": "never", "sk": "x"})}); err != nil {
			t.Fatal(err)
		}
	})
}
