package dynamo_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/dynamo/conformance"
)

// BenchmarkWays measures the calls of a ledger one after another, over each store, through the SDK's client and
// without it. A million items are made in memory only.
func BenchmarkWays(b *testing.B) {
	for _, way := range []struct {
		name   string
		memory bool
		api    func(*dynamo.Server) conformance.API
		sizes  []int
	}{
		{"client-file", false, inProcessAPI, []int{10_000}},
		{"client-memory", true, inProcessAPI, []int{10_000}},
		{"direct-file", false, directAPI, []int{10_000}},
		{"direct-memory", true, directAPI, []int{10_000, 1_000_000}},
	} {
		for _, size := range way.sizes {
			b.Run(fmt.Sprintf("%s/%d", way.name, size), func(b *testing.B) {
				server := openServer(b, dynamo.Options{Memory: way.memory})
				fill := &operations{db: server.Direct(), size: size, revs: make([]int, size)}
				fill.make(b)
				fill.db = way.api(server)
				fill.measure(b)
			})
		}
	}
}

func inProcessAPI(server *dynamo.Server) conformance.API { return inProcess(server) }
func directAPI(server *dynamo.Server) conformance.API    { return server.Direct() }

// operations is a table of operations as the ledger has them: a document of 3 KB and what conditions need.
type operations struct {
	db    conformance.API
	size  int
	revs  []int
	next  int
	added int
}

const operationBytes = 3 << 10

var document = strings.Repeat("x", operationBytes)

func (o *operations) make(b *testing.B) {
	if _, err := o.db.CreateTable(context.Background(), benchInput()); err != nil {
		b.Fatal(err)
	}
	for i := range o.size {
		if err := o.put("op#op_"+strconv.Itoa(i), i); err != nil {
			b.Fatal(err)
		}
		o.revs[i] = 1
	}
}

func (o *operations) put(pk string, i int) error {
	item := attributes(1, i)
	item["pk"], item["sk"] = str(pk), str("operation")
	_, err := o.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: benchTable, Item: item,
		ConditionExpression: aws.String("attribute_not_exists(pk)")})
	return err
}

func attributes(rev, i int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"v": num(1), "kind": str("operation"), "doc": str(document), "rev": num(rev), "epoch": num(1),
		"status": str("in_flight"), "inbox": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		"write_id_" + strconv.Itoa(rev%4): str("w-0123456789abcdef-" + strconv.Itoa(rev)), "owner": str("ops-lead@example.com"),
		"flow": str("campaign-follow-up"), "shard": str(strconv.Itoa(i % 8)), "due": str(fmt.Sprintf("2026-11-28T%08d", i))}
}

// one is another operation each time, all over the table.
func (o *operations) one() int {
	o.next++
	return o.next * 7919 % o.size
}

func (o *operations) key(i int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": str("op#op_" + strconv.Itoa(i)), "sk": str("operation")}
}

func (o *operations) measure(b *testing.B) {
	for _, c := range []struct {
		name string
		call func() error
	}{{"get", o.get}, {"update", o.update}, {"query", o.query}, {"transact", o.transact}, {"put", o.add}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			runtime.GC() // what filling the table left behind is not the call's cost
			before := processorTime(b)
			for b.Loop() {
				if err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime is what this process has used so far, in nanoseconds: unlike the time of day it does not grow while
// others use the machine.
func processorTime(b *testing.B) int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

func (o *operations) get() error {
	_, err := o.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: benchTable, Key: o.key(o.one()), ConsistentRead: aws.Bool(true)})
	return err
}

// changed are the parts of an update as the ledger writes it.
func (o *operations) changed(i int) (update string, names map[string]string, values map[string]types.AttributeValue) {
	values = map[string]types.AttributeValue{":seen": num(o.revs[i]), ":epoch": num(1), ":confirmed": str("confirmed")}
	o.revs[i]++
	set := attributes(o.revs[i], i)
	names = map[string]string{"#question": "question"}
	for name, v := range set {
		names["#"+name], values[":"+name] = name, v
	}
	return updates[o.revs[i]%4], names, values
}

// updates are the update's text for each slot of the ring of write ids.
var updates = func() (all [4]string) {
	for slot := range all {
		var set []string
		for _, name := range []string{"doc", "due", "epoch", "flow", "inbox", "kind", "owner", "rev", "shard", "status", "v", "write_id_" + strconv.Itoa(slot)} {
			set = append(set, "#"+name+" = :"+name)
		}
		all[slot] = "SET " + strings.Join(set, ", ") + " REMOVE #question"
	}
	return all
}()

const notFinal = "rev = :seen AND epoch <= :epoch AND #status <> :confirmed"

func (o *operations) update() error {
	i := o.one()
	update, names, values := o.changed(i)
	_, err := o.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{TableName: benchTable, Key: o.key(i), UpdateExpression: &update,
		ConditionExpression: aws.String(notFinal), ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	return err
}

func (o *operations) query() error {
	_, err := o.db.Query(context.Background(), &dynamodb.QueryInput{
		TableName: benchTable, IndexName: aws.String("due"), Limit: aws.Int32(10), KeyConditionExpression: aws.String("#s = :s AND due <= :d"),
		ExpressionAttributeNames:  map[string]string{"#s": "shard"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":s": str(strconv.Itoa(o.one() % 8)), ":d": str("2027")},
	})
	return err
}

func (o *operations) transact() error {
	in := &dynamodb.TransactWriteItemsInput{}
	for range 3 {
		i := o.one()
		update, names, values := o.changed(i)
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{TableName: benchTable, Key: o.key(i),
			UpdateExpression: &update, ConditionExpression: aws.String(notFinal), ExpressionAttributeNames: names, ExpressionAttributeValues: values}})
	}
	_, err := o.db.TransactWriteItems(context.Background(), in)
	return err
}

func (o *operations) add() error {
	o.added++
	return o.put("op#new_"+strconv.Itoa(o.added), o.added)
}
