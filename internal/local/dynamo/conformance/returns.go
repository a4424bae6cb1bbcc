package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// returns asks for each kind of ReturnValues, and for the item that made a condition fail.
func returns(t *testing.T, s *suite) {
	table := s.table(t, "returns", "S")
	update := func(pk, expr string, values object, rv types.ReturnValue) string {
		out, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: table, Key: of(object{"pk": pk, "sk": "x"}), UpdateExpression: aws.String(expr),
			ExpressionAttributeValues: bound(values), ReturnValues: rv,
		})
		if err != nil {
			return code(err)
		}
		return show(out.Attributes)
	}
	s.put(t, table, object{"pk": "u", "sk": "x", "a": 1, "m": object{"k": 1, "o": 2}, "l": list{"a", "b"}})
	expr, values := "SET a = :v, m.k = :v, l[1] = :v, b = :v REMOVE gone", object{":v": 9}
	same(t, "UPDATED_OLD", `{a:1 l:["b"] m:{k:1}}`, update("u", expr, values, types.ReturnValueUpdatedOld))
	same(t, "UPDATED_NEW", `{a:9 b:9 l:[9] m:{k:9}}`, update("u", expr, values, types.ReturnValueUpdatedNew))
	same(t, "ALL_OLD", `{a:9 b:9 l:["a" 9] m:{k:9 o:2} pk:"u" sk:"x"}`, update("u", "SET a = :v", values, types.ReturnValueAllOld))
	same(t, "ALL_NEW", `{a:9 b:9 l:["a" 9] m:{k:9 o:2} pk:"u" sk:"x"}`, update("u", "SET a = :v", values, types.ReturnValueAllNew))
	same(t, "NONE", "none", update("u", "SET a = :v", values, types.ReturnValueNone))
	same(t, "UPDATED_NEW of a removed attribute", "none", update("u", "REMOVE b", nil, types.ReturnValueUpdatedNew))
	same(t, "ALL_OLD of a new item", "none", update("v", "SET a = :v", values, types.ReturnValueAllOld))
	returnsOfPutAndDelete(t, s, table)
	returnsOnFailure(t, s, table)
}

func returnsOfPutAndDelete(t *testing.T, s *suite, table *string) {
	put := func(rv types.ReturnValue) string {
		out, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: of(object{"pk": "p", "sk": "x", "a": 1}), ReturnValues: rv})
		if err != nil {
			return code(err)
		}
		return show(out.Attributes)
	}
	same(t, "put of a new item, ALL_OLD", "none", put(types.ReturnValueAllOld))
	same(t, "put of an old item, ALL_OLD", `{a:1 pk:"p" sk:"x"}`, put(types.ReturnValueAllOld))
	same(t, "put, NONE", "none", put(types.ReturnValueNone))
	same(t, "put, ALL_NEW", bad, put(types.ReturnValueAllNew))
	out, err := s.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: table, Key: of(object{"pk": "p", "sk": "x"}), ReturnValues: types.ReturnValueAllOld})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "delete, ALL_OLD", `{a:1 pk:"p" sk:"x"}`, show(out.Attributes))
	same(t, "the deleted item", "none", show(s.get(t, table, "p", "x")))
}

func returnsOnFailure(t *testing.T, s *suite, table *string) {
	s.put(t, table, object{"pk": "f", "sk": "x", "a": 1})
	never, allOld := aws.String("attribute_not_exists(pk) AND attribute_exists(pk)"), types.ReturnValuesOnConditionCheckFailureAllOld
	for _, pk := range []string{"f", "absent"} {
		key := of(object{"pk": pk, "sk": "x"})
		want := map[string]string{"f": `{a:1 pk:"f" sk:"x"}`, "absent": "none"}[pk]
		_, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: key, ConditionExpression: never, ReturnValuesOnConditionCheckFailure: allOld})
		same(t, "put, condition fails on "+pk, want, failedItem(err))
		_, err = s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{TableName: table, Key: key, UpdateExpression: aws.String("REMOVE a"), ConditionExpression: never, ReturnValuesOnConditionCheckFailure: allOld})
		same(t, "update, condition fails on "+pk, want, failedItem(err))
		_, err = s.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: table, Key: key, ConditionExpression: never, ReturnValuesOnConditionCheckFailure: allOld})
		same(t, "delete, condition fails on "+pk, want, failedItem(err))
		_, err = s.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: table, Key: key, ConditionExpression: never})
		same(t, "delete, condition fails on "+pk+", item not asked for", "none", failedItem(err))
	}
	same(t, "the item after failed conditions", `{a:1 pk:"f" sk:"x"}`, show(s.get(t, table, "f", "x")))
}

func failedItem(err error) string {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return "not a failed condition: " + code(err)
	}
	return show(failed.Item)
}
