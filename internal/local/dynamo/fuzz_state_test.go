package dynamo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fuzztest"
	"holdfast/internal/local/dynamo"
)

// requestBound is what one request may allocate, in bytes.
var requestBound = fuzztest.Bound{Base: 32 << 20, PerByte: 1 << 10}

// No state change on error: whatever a request asks for, a refusal leaves the table and its items as they were.
//
//fuzz:slow
func FuzzRefusalChangesNothing(f *testing.F) {
	const item = `{"pk":{"S":"a"},"n":{"N":"1"},"l":{"L":[{"N":"1"}]},"ss":{"SS":["x"]}}`
	for _, seed := range [][2]string{
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)"}`}, {"PutItem", `{"TableName":"tab","Item":{"pk":{"S":""}}}`}, {"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"b"},"n":{"N":"1e999"}}}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n = n + :v REMOVE l[0]","ConditionExpression":"n > :v","ExpressionAttributeValues":{":v":{"N":"1"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"ADD ss :v SET n = :w","ExpressionAttributeValues":{":v":{"N":"1"},":w":{"S":"x"}}}`}, {"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"new"}},"UpdateExpression":"SET a.b = :v","ExpressionAttributeValues":{":v":{"N":"1"}}}`},
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"ConditionExpression":"size(l) > :v","ExpressionAttributeValues":{":v":{"N":"5"}}}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"b"}}}},{"ConditionCheck":{"TableName":"tab","Key":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)"}}]}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"b"}}}},{"Delete":{"TableName":"tab","Key":{"pk":{"S":"b"}}}}]}`}, {"BatchWriteItem", `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"c"}}}},{"PutRequest":{"Item":{"pk":{"N":"1"}}}}]}}`},
		{"DeleteTable", `{"TableName":"other"}`}, {"UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"","Enabled":true}}`}, {"CreateTable", createT}, {"PutItem", `{"TableName":"tab","Item":` + strings.Repeat(`{"a":{"M":`, 40) + `{}` + strings.Repeat(`}}`, 40) + `}`},
	} {
		f.Add(seed[0], seed[1])
	}
	server, err := dynamo.Open(dynamo.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = server.Close() })
	fresh := func() string {
		for _, one := range [][2]string{{"DeleteTable", `{"TableName":"tab"}`}, {"CreateTable", createT}, {"PutItem", `{"TableName":"tab","Item":` + item + `}`}} {
			post(server, one[0], one[1]) // the first of them fails at first
		}
		return stands(server)
	}
	before := fresh()
	f.Fuzz(func(t *testing.T, op, body string) {
		if len(body) > 64<<10 || op == "CreateTable" && !strings.Contains(body, `"tab"`) {
			return
		}
		var status int
		fuzztest.Bounded(t, requestBound, len(body), func() { status, _ = post(server, op, body) })
		after := stands(server)
		if status != 200 && after != before {
			t.Fatalf("%s %s is answered with %d, and changes:\n%s", op, body, status, cmp.Diff(before, after))
		}
		if after != before {
			before = fresh()
		}
	})
}

// stands is everything that one can see of the server.
func stands(server *dynamo.Server) string {
	var all strings.Builder
	for _, one := range [][2]string{{"ListTables", `{}`}, {"DescribeTable", `{"TableName":"tab"}`}, {"DescribeTimeToLive", `{"TableName":"tab"}`}, {"Scan", `{"TableName":"tab"}`}} {
		_, answer := post(server, one[0], one[1])
		all.WriteString(answer + "\n")
	}
	return all.String()
}
