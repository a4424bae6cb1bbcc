package dynamo_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/local/dynamo"
)

// callersPerCore makes about 32 callers on two cores.
const callersPerCore = 16

var benchTable = aws.String("bench")

func BenchmarkGetItem(b *testing.B) {
	everyWay(b, func(db *dynamodb.Client, size, i int) error {
		_, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{
			TableName: benchTable, Key: benchKey(i * 7919 % size), ConsistentRead: aws.Bool(true),
		})
		return err
	})
}

func BenchmarkUpdateItemConditional(b *testing.B) {
	everyWay(b, func(db *dynamodb.Client, size, i int) error {
		_, err := db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: benchTable, Key: benchKey(i * 7919 % size),
			UpdateExpression:         aws.String("SET #s = :s, due = :d ADD revision :one"),
			ConditionExpression:      aws.String("attribute_exists(pk) AND revision >= :zero"),
			ExpressionAttributeNames: map[string]string{"#s": "status"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":s": str("ready"), ":d": str(fmt.Sprintf("2026-11-29T%08d", i)), ":one": num(1), ":zero": num(0),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
}

func BenchmarkQueryIndex(b *testing.B) {
	everyWay(b, func(db *dynamodb.Client, _, i int) error {
		_, err := db.Query(context.Background(), &dynamodb.QueryInput{
			TableName: benchTable, IndexName: aws.String("due"), Limit: aws.Int32(10),
			KeyConditionExpression:    aws.String("#s = :s AND due <= :d"),
			ExpressionAttributeNames:  map[string]string{"#s": "shard"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":s": str(strconv.Itoa(i % 8)), ":d": str("2027")},
		})
		return err
	})
}

// everyWay measures the call in-process and over HTTP, at several sizes of the table.
func everyWay(b *testing.B, call func(db *dynamodb.Client, size, i int) error) {
	for _, way := range []string{"inprocess", "http"} {
		for _, size := range []int{100, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", way, size), func(b *testing.B) {
				measured(b, benchClient(b, way, size), size, call)
			})
		}
	}
}

func measured(b *testing.B, db *dynamodb.Client, size int, call func(db *dynamodb.Client, size, i int) error) {
	var next atomic.Int64
	b.SetParallelism(callersPerCore)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(db, size, int(next.Add(1))); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func benchClient(b *testing.B, way string, size int) *dynamodb.Client {
	server := openServer(b, dynamo.Options{})
	db := inProcess(server)
	if way == "http" {
		web := httptest.NewServer(server)
		b.Cleanup(web.Close)
		db = overHTTP(web.URL)
	}
	makeBenchTable(b, db)
	for i := 0; i < size; i += 25 {
		fillBench(b, db, i, min(size, i+25))
	}
	return db
}

func makeBenchTable(b *testing.B, db *dynamodb.Client) {
	if _, err := db.CreateTable(context.Background(), benchInput()); err != nil {
		b.Fatal(err)
	}
}

func benchInput() *dynamodb.CreateTableInput {
	key := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	in := &dynamodb.CreateTableInput{
		TableName: benchTable, BillingMode: types.BillingModePayPerRequest, KeySchema: key("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("due"), KeySchema: key("shard", "due"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
	for _, name := range []string{"pk", "sk", "shard", "due"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS})
	}
	return in
}

func fillBench(b *testing.B, db *dynamodb.Client, from, to int) {
	var puts []types.WriteRequest
	for i := from; i < to; i++ {
		item := benchKey(i)
		item["shard"], item["due"] = str(strconv.Itoa(i%8)), str(fmt.Sprintf("2026-11-28T%08d", i))
		item["status"], item["revision"] = str("proposed"), num(1)
		item["story"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"at": str("at_0123456789abcdef"), "outcome": str("unknown")}},
			str("evidence of some length, as an operation's story has it, with ids and times in it 2026-11-29T15:52:36.000Z"),
		}}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*benchTable: puts}}
	if _, err := db.BatchWriteItem(context.Background(), in); err != nil {
		b.Fatal(err)
	}
}

func benchKey(i int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": str("op_" + strconv.Itoa(i)), "sk": str("operation")}
}
