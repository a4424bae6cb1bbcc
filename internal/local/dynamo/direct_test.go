package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/conformance"
)

var (
	_ ledger.API      = (*dynamo.Direct)(nil)
	_ conformance.API = (*dynamo.Direct)(nil)
)

// inMemory is a server in memory with the table "tab".
func inMemory(t *testing.T, o dynamo.Options) (*dynamo.Server, *dynamo.Direct) {
	t.Helper()
	o.Memory = true
	server := withTable(t, o)
	return server, server.Direct()
}

func put(t *testing.T, db *dynamo.Direct, pk string, n int) {
	t.Helper()
	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("tab"), Item: map[string]types.AttributeValue{"pk": str(pk), "n": num(n)}})
	if err != nil {
		t.Fatal(err)
	}
}

// listed is all that is in the table, in a short form.
func listed(t *testing.T, db conformance.API) string {
	t.Helper()
	out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("tab")})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, it := range out.Items {
		all = append(all, it["pk"].(*types.AttributeValueMemberS).Value+"="+it["n"].(*types.AttributeValueMemberN).Value)
	}
	return strings.Join(all, " ")
}

// A mark brings back items, tables and tokens as they were, as often as asked for.
func TestMarkAndReturn(t *testing.T) {
	t.Parallel()
	server, db := inMemory(t, dynamo.Options{})
	for i := range 100 {
		put(t, db, fmt.Sprintf("k%d", i), i)
	}
	early, mark := listed(t, db), server.Mark()
	for range 2 {
		put(t, db, "k7", 700)
		if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("tab"), Key: map[string]types.AttributeValue{"pk": str("k8")}}); err != nil {
			t.Fatal(err)
		}
		raw(t, server, "CreateTable", strings.Replace(createT, `"tab"`, `"later"`, 1))
		if listed(t, db) == early {
			t.Error("nothing changed")
		}
		if err := server.Return(mark); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(early, listed(t, db)); d != "" {
			t.Errorf("after the return: %s", d)
		}
		if _, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("later")}); err == nil {
			t.Error("a table made after the mark is still there")
		}
	}
	if err := server.Return(dynamo.Mark{}); err == nil {
		t.Error("returned to no mark")
	}
	if file := withTable(t, dynamo.Options{}); file.Return(file.Mark()) == nil {
		t.Error("a server with a file returned to a mark")
	}
	if _, err := dynamo.Open(dynamo.Options{Memory: true, Dir: t.TempDir()}); err == nil {
		t.Error("a server in memory took a directory")
	}
}

// OnWrite sees every change of an item with both of its sides, in order, and nothing else.
func TestOnWrite(t *testing.T) {
	t.Parallel()
	for _, memory := range []bool{true, false} {
		var told []string
		server := withTable(t, dynamo.Options{Memory: memory, OnWrite: func(table string, old, now attr.Item) {
			told = append(told, fmt.Sprintf("%s %s -> %s", table, attr.AppendItem(nil, old), attr.AppendItem(nil, now)))
		}})
		db := server.Direct()
		put(t, db, "a", 1)
		put(t, db, "a", 2)
		key := map[string]types.AttributeValue{"pk": str("a")}
		never := aws.String("attribute_not_exists(pk)")
		if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("tab"), Key: key, ConditionExpression: never}); err == nil {
			t.Error("the condition held")
		}
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Delete: &types.Delete{TableName: aws.String("tab"), Key: key}},
			{Delete: &types.Delete{TableName: aws.String("tab"), Key: map[string]types.AttributeValue{"pk": str("absent")}}},
			{ConditionCheck: &types.ConditionCheck{TableName: aws.String("tab"), Key: map[string]types.AttributeValue{"pk": str("b")}, ConditionExpression: never}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{`tab {} -> {"n":{"N":"1"},"pk":{"S":"a"}}`, `tab {"n":{"N":"1"},"pk":{"S":"a"}} -> {"n":{"N":"2"},"pk":{"S":"a"}}`, `tab {"n":{"N":"2"},"pk":{"S":"a"}} -> {}`}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("memory %v: want -, got +\n%s", memory, d)
		}
	}
}

// Around a call through Direct there is the input, and the same faults can be made.
func TestAroundDirect(t *testing.T) {
	t.Parallel()
	lost := errors.New("the connection was lost")
	var fault func(next func() dynamo.Reply) dynamo.Reply
	var calls []string
	_, db := inMemory(t, dynamo.Options{Around: func(call dynamo.Call, next func() dynamo.Reply) dynamo.Reply {
		if call.Input == nil {
			return next()
		}
		calls = append(calls, fmt.Sprintf("%s %v %T %v", call.Op, call.Tables, call.Input, call.Body == nil))
		return fault(next)
	}})
	try := func(pk string, f func(next func() dynamo.Reply) dynamo.Reply) error {
		fault = f
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("tab"), ConditionExpression: aws.String("attribute_not_exists(pk)"),
			Item: map[string]types.AttributeValue{"pk": str(pk), "n": num(1)}})
		return err
	}
	pass := func(next func() dynamo.Reply) dynamo.Reply { return next() }
	if err := try("a", pass); err != nil {
		t.Error(err)
	}
	var failed *types.ConditionalCheckFailedException
	if err := try("a", pass); !errors.As(err, &failed) {
		t.Errorf("got %v", err)
	}
	if err := try("before", func(func() dynamo.Reply) dynamo.Reply { return dynamo.Reply{Err: lost} }); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	if err := try("after", func(next func() dynamo.Reply) dynamo.Reply { next(); return dynamo.Reply{Err: lost} }); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	var busy *types.TransactionConflictException
	if err := try("busy", func(func() dynamo.Reply) dynamo.Reply {
		return dynamo.Reply{Status: 400, Body: []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"scripted"}`)}
	}); !errors.As(err, &busy) || busy.ErrorMessage() != "scripted" {
		t.Errorf("got %v", err)
	}
	if err := try("made up", func(func() dynamo.Reply) dynamo.Reply { return dynamo.Reply{Status: 200, Body: []byte("{}")} }); err == nil {
		t.Error("an answer was made up")
	}
	fault = pass
	if d := cmp.Diff("after=1 a=1", listed(t, db)); d != "" {
		t.Error(d)
	}
	if calls[0] != "PutItem [tab] *dynamodb.PutItemInput true" {
		t.Error(calls[0])
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.ListTables(ended, &dynamodb.ListTablesInput{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// What a caller does to what it gave or got changes nothing that is stored.
func TestDirectSharesNothing(t *testing.T) {
	t.Parallel()
	_, db := inMemory(t, dynamo.Options{})
	blob := []byte("blob")
	inner := map[string]types.AttributeValue{"b": &types.AttributeValueMemberB{Value: blob}}
	set := []string{"x", "y"}
	given := map[string]types.AttributeValue{"pk": str("a"), "n": num(1), "m": &types.AttributeValueMemberM{Value: inner}, "s": &types.AttributeValueMemberSS{Value: set}}
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("tab"), Item: given}); err != nil {
		t.Fatal(err)
	}
	read := func() map[string]types.AttributeValue {
		out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("tab"), Key: map[string]types.AttributeValue{"pk": str("a")}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item
	}
	want, got := fmt.Sprint(shown(read())), read()
	blob[0], set[0] = 'X', "changed"
	delete(inner, "b")
	got["m"].(*types.AttributeValueMemberM).Value["b"].(*types.AttributeValueMemberB).Value[0] = 'X'
	got["s"].(*types.AttributeValueMemberSS).Value[1] = "changed"
	got["n"].(*types.AttributeValueMemberN).Value = "2"
	if d := cmp.Diff(want, fmt.Sprint(shown(read()))); d != "" {
		t.Error(d)
	}
}
