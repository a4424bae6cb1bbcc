package conformance

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	yes = ""
	no  = "ConditionalCheckFailedException"
	bad = "ValidationException"
)

var subject = object{
	"pk": "c", "sk": "x", "n": 5, "s": "hello", "b": []byte{1, 2}, "t": true, "z": null{}, "l": list{"a", 1, list{2}},
	"m": object{"k": 1, "deep": object{"k": "v"}}, "ss": stringSet{"x", "y"}, "ns": numberSet{"1", "2"}, "empty": "", "el": list{},
}

var conditionCases = []struct {
	expr   string
	values object
	want   string
}{
	{"attribute_exists(n)", nil, yes},
	{"attribute_exists(nope)", nil, no},
	{"attribute_not_exists(nope)", nil, yes},
	{"attribute_not_exists(m.k)", nil, no},
	{"attribute_exists(m.deep.k)", nil, yes},
	{"attribute_exists(l[2][0])", nil, yes},
	{"attribute_exists(l[3])", nil, no},
	{"attribute_exists(s.k)", nil, no},
	{"attribute_exists(z)", nil, yes},
	{"n = :v", object{":v": number("5.0")}, yes},
	{"n = :v", object{":v": number("5e0")}, yes},
	{"n = :v", object{":v": "5"}, no},
	{"n <> :v", object{":v": "5"}, yes},
	{"n <> :v", object{":v": 5}, no},
	{"nope <> :v", object{":v": 5}, yes},
	{"nope = :v", object{":v": 5}, no},
	{"nope < :v", object{":v": 5}, no},
	{"n < :v", object{":v": number("5.0000000000000000000000000000000000001")}, yes},
	{"n > :v", object{":v": number("-1e100")}, yes},
	{"n >= :v", object{":v": 5}, yes},
	{"n <= :v", object{":v": 4}, no},
	{"n > :v", object{":v": "4"}, no},
	{"s > :v", object{":v": "Zzz"}, yes},
	{"s < :v", object{":v": "hello!"}, yes},
	{"b = :v", object{":v": []byte{1, 2}}, yes},
	{"b < :v", object{":v": []byte{1, 3}}, yes},
	{"t = :v", object{":v": true}, yes},
	{"z = :v", object{":v": null{}}, yes},
	{"l = :v", object{":v": list{"a", 1, list{2}}}, yes},
	{"l = :v", object{":v": list{"a", 1, list{3}}}, no},
	{"m = :v", object{":v": object{"deep": object{"k": "v"}, "k": 1}}, yes},
	{"ss = :v", object{":v": stringSet{"y", "x"}}, yes},
	{"ns = :v", object{":v": numberSet{"2.0", "1.0"}}, yes},
	{"n BETWEEN :a AND :b", object{":a": 5, ":b": 5}, yes},
	{"n BETWEEN :a AND :b", object{":a": 6, ":b": 9}, no},
	{"n BETWEEN :a AND :b", object{":a": 9, ":b": 6}, bad},
	{"s BETWEEN :a AND :b", object{":a": 1, ":b": 2}, no},
	{"n between :a and :b", object{":a": 1, ":b": 9}, yes},
	{"n IN (:a)", object{":a": 5}, yes},
	{"n IN (:a, :b)", object{":a": 4, ":b": "5"}, no},
	{"nope IN (:a)", object{":a": 4}, no},
	{"s IN (:a, :b, :c)", object{":a": 4, ":b": "hello", ":c": true}, yes},
	{"begins_with(s, :v)", object{":v": "hel"}, yes},
	{"begins_with(s, :v)", object{":v": ""}, yes},
	{"begins_with(b, :v)", object{":v": []byte{1}}, yes},
	{"begins_with(s, :v)", object{":v": 1}, bad},
	{"begins_with(n, :v)", object{":v": "5"}, no},
	{"contains(s, :v)", object{":v": "ell"}, yes},
	{"contains(ss, :v)", object{":v": "x"}, yes},
	{"contains(ss, :v)", object{":v": 1}, no},
	{"contains(ns, :v)", object{":v": number("2.00")}, yes},
	{"contains(l, :v)", object{":v": 1}, yes},
	{"contains(l, :v)", object{":v": list{2}}, yes},
	{"contains(n, :v)", object{":v": 5}, no},
	{"attribute_type(n, :v)", object{":v": "N"}, yes},
	{"attribute_type(z, :v)", object{":v": "NULL"}, yes},
	{"attribute_type(l, :v)", object{":v": "SS"}, no},
	{"attribute_type(l, :v)", object{":v": "List"}, bad},
	{"size(s) = :v", object{":v": 5}, yes},
	{"size(ss) >= :v", object{":v": 2}, yes},
	{"size(m) = :v", object{":v": 2}, yes},
	{"size(l) < :v", object{":v": 3}, no},
	{"size(b) = :v", object{":v": 2}, yes},
	{"size(#empty) = :v", object{":v": 0}, yes},
	{"size(el) = :v", object{":v": 0}, yes},
	{"size(nope) = :v", object{":v": 0}, no},
	{":v = n", object{":v": 5}, yes},
	{":v < n", object{":v": 4}, yes},
	{"m.k = :v", object{":v": 1}, yes},
	{"#m.#deep.#k = :v", object{":v": "v"}, yes},
	{"l[1] = m.k", nil, yes},
	{"NOT n = :v", object{":v": 5}, no},
	{"NOT (n = :v)", object{":v": 6}, yes},
	{"NOT attribute_exists(nope) AND n = :v", object{":v": 5}, yes},
	{"n = :a OR n = :b AND s = :c", object{":a": 5, ":b": 1, ":c": "x"}, yes},
	{"(n = :a OR n = :b) AND s = :c", object{":a": 5, ":b": 1, ":c": "x"}, no},
	{"((n = :a))", object{":a": 5}, bad},
	{"n = :a AND", object{":a": 5}, bad},
	{"n == :a", object{":a": 5}, bad},
	{"n != :a", object{":a": 5}, bad},
	{"n = 5", nil, bad},
	{"n", nil, bad},
	{"size(n)", nil, bad},
	{"attribute_exists(:v)", object{":v": 5}, bad},
	{"attribute_exists(n, s)", nil, bad},
	{"exists(n)", nil, bad},
	{"n = attribute_exists(n)", nil, bad},
	{"n = n", nil, bad},
	{"n = :undefined", nil, bad},
	{"#undefined_ = :v", object{":v": 1}, no},
	{"status = :v", object{":v": 1}, bad},
	{"n = :v", object{":v": 5, ":unused": 1}, bad},
	{"l[99999999999999999999] = :v", object{":v": 1}, bad},
	{"l[-1] = :v", object{":v": 1}, bad},
	{"n = :v OR s[0] = :v", object{":v": 5}, yes},
}

// conditions puts each condition to one item, by an update that changes nothing else.
func conditions(t *testing.T, s *suite) {
	table := s.table(t, "conditions", "S")
	s.put(t, table, subject)
	for _, c := range conditionCases {
		t.Run(c.expr+" "+show(of(c.values)), func(t *testing.T) {
			_, err := s.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
				TableName: table, Key: of(object{"pk": "c", "sk": "x"}), ConditionExpression: aws.String("(" + c.expr + ") AND attribute_not_exists(pk)"),
				ExpressionAttributeNames: aliases(c.expr), ExpressionAttributeValues: bound(c.values),
			})
			_, plain := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{
				TableName: table, Item: of(subject), ConditionExpression: aws.String(c.expr),
				ExpressionAttributeNames: aliases(c.expr), ExpressionAttributeValues: bound(c.values),
			})
			same(t, "alone", c.want, code(plain))
			wantDelete := no // never true
			if c.want == bad {
				wantDelete = bad
			}
			same(t, "in a conjunction", wantDelete, code(err))
		})
	}
}
