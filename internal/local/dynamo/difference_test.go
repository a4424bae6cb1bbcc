package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/dynamo/conformance"
)

// differenceRounds is how many random requests are made at each pair of servers.
const differenceRounds = 3000

// The same random requests through the SDK's client over a file and through Direct over either store give the same
// answers and the same refusals, to the letter.
func TestDirectAnswersAsTheClient(t *testing.T) {
	t.Parallel()
	seed := conformance.NewSeed()
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, memory := range []bool{true, false} {
		t.Run(fmt.Sprintf("memory=%v", memory), func(t *testing.T) {
			t.Parallel()
			t.Logf("replay with HOLDFAST_SEED=%d", seed)
			client := inProcess(openServer(t, dynamo.Options{}))
			direct := openServer(t, dynamo.Options{Memory: memory}).Direct()
			for _, db := range []conformance.API{client, direct} {
				if _, err := db.CreateTable(t.Context(), benchInput()); err != nil {
					t.Fatal(err)
				}
			}
			g := &random{rand.New(rand.NewPCG(seed, 0))}
			refused := 0
			for i := range differenceRounds {
				ask := g.request()
				want, got := ask(client), ask(direct)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("request %d: client -, direct +\n%s", i, d)
				}
				if len(want) > 0 && want[0] == '!' {
					refused++
				}
			}
			if refused == 0 || refused > differenceRounds*3/4 {
				t.Errorf("%d of %d were refused", refused, differenceRounds)
			}
		})
	}
}

// random makes requests over a few keys, most of them valid.
type random struct{ *rand.Rand }

func (g *random) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g *random) key() map[string]types.AttributeValue {
	if g.IntN(40) == 0 {
		return map[string]types.AttributeValue{"pk": str(g.pick("", "p0")), "sk": num(1)}
	}
	return map[string]types.AttributeValue{"pk": str(g.pick("p0", "p1")), "sk": str(g.pick("a", "b", "c", "d"))}
}

func (g *random) value(depth int) types.AttributeValue {
	switch g.IntN(11 - 4*depth) {
	case 0:
		return &types.AttributeValueMemberB{Value: []byte(g.pick("", "b", "\x00\xff"))}
	case 1:
		return &types.AttributeValueMemberBOOL{Value: g.IntN(2) == 0}
	case 2:
		return &types.AttributeValueMemberNULL{Value: g.IntN(10) > 0}
	case 3, 4:
		return str(g.pick("", "x", "xy", "ü", "bad\xff", "<&>\u2028"))
	case 5, 6:
		return &types.AttributeValueMemberN{Value: g.pick("0", "-0", "1", "1.50", "1e3", "-7", "0.001", "1e200", "none")}
	case 7:
		return &types.AttributeValueMemberSS{Value: []string{"a", "b", "a"}[:g.IntN(4)]}
	case 8:
		return &types.AttributeValueMemberNS{Value: []string{"1", "2", "1.0"}[:g.IntN(4)]}
	case 9:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{g.value(1), g.value(1)}[:g.IntN(3)]}
	}
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"k": g.value(1), "n": num(g.IntN(3))}}
}

func (g *random) item() map[string]types.AttributeValue {
	it := g.key()
	for _, name := range []string{"a", "b", "n", "m"} {
		if g.IntN(2) == 0 {
			it[name] = g.value(0)
			break // one that may be wrong: of two wrong ones, the client's map order decides which is named
		}
	}
	if g.IntN(3) > 0 {
		it["shard"], it["due"] = str(g.pick("1", "2")), str(g.pick("2026", "2027", "2028"))
	}
	it["n"] = num(g.IntN(5))
	return it
}

// condition is an expression, with the names and values that it uses.
func (g *random) condition() (*string, map[string]string, map[string]types.AttributeValue) {
	switch g.IntN(9) {
	case 0:
		return aws.String("attribute_not_exists(pk)"), nil, nil
	case 1:
		return aws.String("#n >= :n"), map[string]string{"#n": "n"}, map[string]types.AttributeValue{":n": num(g.IntN(4))}
	case 2:
		return aws.String("n BETWEEN :low AND :high"), nil, map[string]types.AttributeValue{":low": num(1), ":high": num(g.IntN(4))}
	case 3:
		return aws.String("attribute_type(a, :t) OR size(m) > :n"), nil, map[string]types.AttributeValue{":t": str(g.pick("S", "L", "?")), ":n": num(1)}
	case 4:
		return aws.String("contains(a, :v) AND NOT b = :v"), nil, map[string]types.AttributeValue{":v": g.value(0)}
	case 5:
		return aws.String(g.pick("", "size", "a = :absent", "status = n", "n = n")), map[string]string{"#unused": "x", "#other": "y"}, nil
	}
	return nil, nil, nil
}

func (g *random) onFailure() types.ReturnValuesOnConditionCheckFailure {
	return types.ReturnValuesOnConditionCheckFailure(g.pick("", "NONE", "ALL_OLD", "ALL_OLD"))
}

func (g *random) capacity() types.ReturnConsumedCapacity {
	return types.ReturnConsumedCapacity(g.pick("", "NONE", "TOTAL", "INDEXES"))
}

// request is a random call with its answer spelled out; a refusal begins with an exclamation mark.
func (g *random) request() func(conformance.API) string {
	ctx := context.Background()
	switch g.IntN(9) {
	case 0, 1:
		in := g.putInput()
		return func(db conformance.API) string { return spelled(db.PutItem(ctx, in)) }
	case 2, 3:
		in := g.updateInput()
		return func(db conformance.API) string { return spelled(db.UpdateItem(ctx, in)) }
	case 4:
		in := &dynamodb.DeleteItemInput{TableName: benchTable, Key: g.key(), ReturnValues: types.ReturnValue(g.pick("", "ALL_OLD", "ALL_NEW")), ReturnConsumedCapacity: g.capacity()}
		in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.condition()
		return func(db conformance.API) string { return spelled(db.DeleteItem(ctx, in)) }
	case 5:
		in := &dynamodb.GetItemInput{TableName: aws.String(g.pick("bench", "bench", "absent", "x")), Key: g.key(), ReturnConsumedCapacity: g.capacity(),
			ConsistentRead: aws.Bool(g.IntN(2) == 0)}
		if g.IntN(2) == 0 {
			in.ProjectionExpression, in.ExpressionAttributeNames = aws.String(g.pick("a, #m.k", "#m", "a")), map[string]string{"#m": "m"}
		}
		return func(db conformance.API) string { return spelled(db.GetItem(ctx, in)) }
	case 6:
		in := g.queryInput()
		return func(db conformance.API) string { return spelled(db.Query(ctx, in)) }
	case 7:
		in := &dynamodb.ScanInput{TableName: benchTable, Limit: aws.Int32(int32(g.IntN(6))), ReturnConsumedCapacity: g.capacity(), Select: types.Select(g.pick("", "COUNT"))}
		in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.condition()
		return func(db conformance.API) string { return spelled(db.Scan(ctx, in)) }
	}
	in := g.transactInput()
	return func(db conformance.API) string { return spelled(db.TransactWriteItems(ctx, in)) }
}

func (g *random) putInput() *dynamodb.PutItemInput {
	in := &dynamodb.PutItemInput{TableName: benchTable, Item: g.item(), ReturnValues: types.ReturnValue(g.pick("", "ALL_OLD", "UPDATED_NEW")),
		ReturnConsumedCapacity: g.capacity(), ReturnValuesOnConditionCheckFailure: g.onFailure()}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.condition()
	return in
}

func (g *random) updateInput() *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{TableName: benchTable, Key: g.key(), ReturnConsumedCapacity: g.capacity(), ReturnValuesOnConditionCheckFailure: g.onFailure(),
		ReturnValues: types.ReturnValue(g.pick("", "NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"))}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.condition()
	in.UpdateExpression = aws.String(g.pick("SET a = :u", "ADD n :u", "SET m.k = :u REMOVE b", "DELETE a :u", "SET due = :u", "SET pk = :u",
		"SET a = if_not_exists(a, :u), b = a", "SET n = n + :u"))
	values := map[string]types.AttributeValue{":u": g.value(0)}
	for name, v := range in.ExpressionAttributeValues {
		if _, known := v.(*types.AttributeValueMemberN); !known {
			v = str("x") // so that only one value can be wrong
		}
		values[name] = v
	}
	in.ExpressionAttributeValues = values
	return in
}

func (g *random) queryInput() *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{TableName: benchTable, KeyConditionExpression: aws.String("pk = :p"), ScanIndexForward: aws.Bool(g.IntN(2) == 0),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": str("p0")}, ReturnConsumedCapacity: g.capacity()}
	if g.IntN(2) == 0 {
		in.IndexName, in.KeyConditionExpression = aws.String("due"), aws.String("shard = :p AND due "+g.pick("<=", ">", "=")+" :d")
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":p": str("1"), ":d": str("2027")}
	}
	if g.IntN(3) == 0 {
		in.Limit = aws.Int32(int32(g.IntN(4)))
	}
	if g.IntN(4) == 0 {
		in.ExclusiveStartKey = map[string]types.AttributeValue{"pk": str("p0"), "sk": str(g.pick("a", "b", "c"))}
	}
	return in
}

func (g *random) transactInput() *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: g.capacity(), ClientRequestToken: aws.String("t" + strconv.Itoa(g.IntN(1000)))}
	for range 1 + g.IntN(3) {
		condition, names, values := g.condition()
		key := g.key()
		one := types.TransactWriteItem{}
		switch g.IntN(3) {
		case 0:
			one.Put = &types.Put{TableName: benchTable, Item: g.item(), ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: g.onFailure()}
		case 1:
			one.Delete = &types.Delete{TableName: benchTable, Key: key, ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: g.onFailure()}
		default:
			one.Update = &types.Update{TableName: benchTable, Key: key, UpdateExpression: aws.String("SET b = :b"), ExpressionAttributeValues: map[string]types.AttributeValue{":b": num(g.IntN(9))}}
		}
		in.TransactItems = append(in.TransactItems, one)
	}
	return in
}

// spelled is an answer or a refusal in full.
func spelled[O any](out *O, err error) string {
	var api smithy.APIError
	var condition *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		return shown(out)
	case errors.As(err, &condition):
		return "!" + shown(condition)
	case errors.As(err, &cancelled):
		return "!" + shown(cancelled)
	case errors.As(err, &api):
		message, _, several := strings.Cut(api.ErrorMessage(), "contains invalid value: ")
		if several { // of several wrong values the one that is met first is named, and a map has no order
			message += "contains invalid value"
		}
		return fmt.Sprintf("!%T %s %s", api, api.ErrorCode(), message)
	}
	return "!!" + err.Error()
}

// shown is one spelling for equal values: maps are in the order of their names; metadata is left out.
func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var loose map[string]any
	if err := json.Unmarshal(b, &loose); err != nil {
		return err.Error()
	}
	delete(loose, "ResultMetadata")
	b, err = json.Marshal(loose)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
