package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// values come back as they went in, numbers in their one spelling.
func values(t *testing.T, s *suite) {
	table := s.table(t, "values", "S")
	rich := object{
		"pk": "rich", "sk": "x", "s": "žluťoučký 🐎 \u2028 <&> \" \\ / \x01 \n", "empty": "", "b": []byte{0, 255, 1}, "nob": []byte{},
		"t": true, "f": false, "z": null{}, "ss": stringSet{"", "b"}, "ns": numberSet{"1", "-2.5"}, "bs": binarySet{{1}, {0, 2}},
		"l": list{}, "m": object{}, "deep": list{list{object{"a": list{null{}, object{}}}}}, "name with spaces.and[dots]": 1,
	}
	s.put(t, table, rich)
	same(t, "an item of every type", show(of(rich)), show(s.get(t, table, "rich", "x")))
	for _, c := range []struct{ in, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.0", "0"}, {"1.0", "1"}, {"007", "7"}, {"1e3", "1000"}, {"1E+3", "1000"}, {"1e-3", "0.001"}, {"-1.50", "-1.5"}, {".5", "0.5"},
		{"12345678901234567890123456789012345678", "12345678901234567890123456789012345678"},
		{"0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"},
		{"1e125", "1" + strings.Repeat("0", 125)}, {"1e-130", "0." + strings.Repeat("0", 129) + "1"},
		{"9007199254740993", "9007199254740993"}, {"123456789012345678901234567890123456789000", "!"},
		{"123456789012345678901234567890123456789", "!"}, {"1e126", "!"}, {"1e-131", "!"}, {"", "!"}, {"abc", "!"}, {"1e", "!"}, {"--1", "!"}, {"0x10", "!"}, {"NaN", "!"}, {"Infinity", "!"}, {"1_000", "!"},
	} {
		t.Run("number "+c.in, func(t *testing.T) { numberCase(t, s, table, c.in, c.want) })
	}
}

func numberCase(t *testing.T, s *suite, table *string, in, want string) {
	_, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: of(object{"pk": "number", "sk": in, "n": number(in)})})
	if want == "!" {
		same(t, "put of "+in, bad, code(err))
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, in, want, showValue(s.get(t, table, "number", in)["n"]))
}

// limits are DynamoDB's documented ones.
func limits(t *testing.T, s *suite) {
	table := s.table(t, "limits", "S")
	put := func(m object) string {
		_, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: of(m)})
		return code(err)
	}
	const frame = len("pk") + len("p") + len("sk") + len("x") + len("v")
	same(t, "an item of exactly 400 KB", yes, put(object{"pk": "p", "sk": "x", "v": strings.Repeat("x", 400*1024-frame)}))
	same(t, "an item of 400 KB and a byte", bad, put(object{"pk": "p", "sk": "x", "v": strings.Repeat("x", 400*1024-frame+1)}))
	_, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: table, Key: of(object{"pk": "p", "sk": "x"}), UpdateExpression: aws.String("SET w = :w"), ExpressionAttributeValues: of(object{":w": "y"}),
	})
	same(t, "an update beyond 400 KB", bad, code(err))
	same(t, "a partition key of 2,048 bytes", yes, put(object{"pk": strings.Repeat("k", 2048), "sk": "x"}))
	same(t, "a partition key of 2,049 bytes", bad, put(object{"pk": strings.Repeat("k", 2049), "sk": "x"}))
	same(t, "a sort key of 1,024 bytes", yes, put(object{"pk": "p", "sk": strings.Repeat("k", 1024)}))
	same(t, "a sort key of 1,025 bytes", bad, put(object{"pk": "p", "sk": strings.Repeat("k", 1025)}))
	same(t, "an empty partition key", bad, put(object{"pk": "", "sk": "x"}))
	same(t, "an empty sort key", bad, put(object{"pk": "p", "sk": ""}))
	same(t, "no sort key", bad, put(object{"pk": "p"}))
	same(t, "a number for a string key", bad, put(object{"pk": 1, "sk": "x"}))
	same(t, "a number for a string key of an index", bad, put(object{"pk": "p", "sk": "x", "gpk": 1}))
	same(t, "an empty key of an index", bad, put(object{"pk": "p", "sk": "x", "gpk": ""}))
	same(t, "an empty set", bad, put(object{"pk": "p", "sk": "x", "v": stringSet{}}))
	same(t, "a set with a member twice", bad, put(object{"pk": "p", "sk": "x", "v": stringSet{"a", "a"}}))
	same(t, "a number set with one number in two spellings", bad, put(object{"pk": "p", "sk": "x", "v": numberSet{"1", "1.0"}}))
	same(t, "32 levels", yes, put(object{"pk": "p", "sk": "x", "v": nested(32)}))
	same(t, "33 levels", bad, put(object{"pk": "p", "sk": "x", "v": nested(33)}))
	expressionLimits(t, s, table)
}

func nested(levels int) any {
	var v any = "leaf"
	for range levels {
		v = list{v}
	}
	return v
}

func expressionLimits(t *testing.T, s *suite, table *string) {
	condition := func(expr string) string {
		_, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: of(object{"pk": "e", "sk": "x"}), ConditionExpression: &expr, ExpressionAttributeValues: of(object{":v": 1})})
		return code(err)
	}
	long := "nope <> :v AND " + strings.Repeat("n", 4096-len("nope <> :v AND ")-len(" <> :v")) + " <> :v"
	same(t, "an expression of 4,096 bytes", yes, condition(long))
	same(t, "an expression of 4,097 bytes", bad, condition(" "+long))
	in := func(n int) string {
		values := object{}
		expr := "n IN ("
		for i := range n {
			if i > 0 {
				expr += ","
			}
			expr += fmt.Sprintf(":v%d", i)
			values[fmt.Sprintf(":v%d", i)] = i
		}
		_, err := s.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: table, Key: of(object{"pk": "in", "sk": "x"}), ConditionExpression: aws.String(expr + ")"), ExpressionAttributeValues: of(values)})
		return code(err)
	}
	same(t, "100 operands of IN", no, in(100))
	same(t, "101 operands of IN", bad, in(101))
}

// projections ask for parts of an item.
func projections(t *testing.T, s *suite) {
	table := s.table(t, "projections", "S")
	s.put(t, table, object{"pk": "p", "sk": "x", "a": 1, "l": list{"a", "b", object{"k": 1, "o": 2}}, "m": object{"k": object{"d": 1, "e": 2}, "o": 2}})
	for _, c := range []struct{ expr, want string }{
		{"a", "{a:1}"},
		{"pk, a", `{a:1 pk:"p"}`},
		{"nope", "{}"},
		{"l[1]", `{l:["b"]}`},
		{"l[2].k, l[0]", `{l:["a" {k:1}]}`},
		{"m.k.d", "{m:{k:{d:1}}}"},
		{"m.k.d, m.o", "{m:{k:{d:1} o:2}}"},
		{"#m.#k", "{m:{k:{d:1 e:2}}}"},
		{"m.nope", "{}"},
		{"l[9]", "{}"},
		{"a.k", "{}"},
		{"a, a", bad},
		{"m, m.k", bad},
		{"a,", bad},
		{"", bad},
		{"status", bad},
		{"pk.x", bad},
	} {
		t.Run(c.expr, func(t *testing.T) {
			out, err := s.db.GetItem(context.Background(), &dynamodb.GetItemInput{
				TableName: table, Key: of(object{"pk": "p", "sk": "x"}), ProjectionExpression: aws.String(c.expr), ExpressionAttributeNames: aliases(c.expr),
			})
			if err != nil {
				same(t, "its refusal", c.want, code(err))
				return
			}
			got := show(out.Item)
			if len(out.Item) == 0 {
				got = "{}"
			}
			same(t, c.expr, c.want, got)
		})
	}
}
