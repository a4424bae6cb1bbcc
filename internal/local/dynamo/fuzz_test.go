package dynamo_test

import (
	"strings"
	"testing"

	"holdfast/internal/local/dynamo"
)

// FuzzRequest: no operation and no body makes the server panic or answer anything but JSON.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][2]string{
		{"CreateTable", createT},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)"}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET a = :v","ExpressionAttributeValues":{":v":{"N":"1"}},"ReturnValues":"UPDATED_NEW"}`},
		{"Query", `{"TableName":"tab","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"ExclusiveStartKey":{"pk":{"S":"a"}},"Limit":1}`},
		{"Scan", `{"TableName":"tab","Segment":0,"TotalSegments":1}`},
		{"BatchGetItem", `{"RequestItems":{"tab":{"Keys":[{"pk":{"S":"a"}}]}}}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"}}}}],"ClientRequestToken":"t"}`},
		{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"tab","Key":{"pk":{"S":"a"}}}}]}`},
		{"UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"t","Enabled":true}}`},
		{"DeleteItem", `{}`}, {"ListTables", `{"Limit":0}`}, {"DescribeTable", `[]`}, {"GetItem", ``},
	} {
		f.Add(seed[0], seed[1])
	}
	server, err := dynamo.Open(dynamo.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = server.Close() })
	post(server, "CreateTable", createT)
	f.Fuzz(func(t *testing.T, op, body string) {
		status, answer := post(server, op, body)
		if !strings.HasPrefix(answer, "{") || !strings.HasSuffix(answer, "}") || status != 200 && status != 400 {
			t.Fatalf("%s %q: %d %s", op, body, status, answer)
		}
	})
}
