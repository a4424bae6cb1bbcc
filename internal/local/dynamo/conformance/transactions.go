package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// transact makes the writes, and answers how it went: "", an error's code, or the codes of the reasons with their items.
func (s *suite) transact(token string, writes ...types.TransactWriteItem) string {
	_, err := s.db.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: writes, ClientRequestToken: optional(token)})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return code(err)
	}
	var reasons []string
	for _, r := range cancelled.CancellationReasons {
		one := aws.ToString(r.Code)
		if r.Item != nil {
			one += show(r.Item)
		}
		reasons = append(reasons, one)
	}
	return strings.Join(reasons, " ")
}

func transactions(t *testing.T, s *suite) {
	table := s.table(t, "transactions", "S")
	key := func(pk string) item { return of(object{"pk": pk, "sk": "x"}) }
	s.put(t, table, object{"pk": "a", "sk": "x", "v": "old"})
	put := func(pk string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: table, Item: key(pk)}}
	}
	absent, allOld := aws.String("attribute_not_exists(pk)"), types.ReturnValuesOnConditionCheckFailureAllOld
	v := of(object{":v": 1})
	failing := map[string]types.TransactWriteItem{
		"Put":            {Put: &types.Put{TableName: table, Item: key("a"), ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: allOld}},
		"Update":         {Update: &types.Update{TableName: table, Key: key("a"), UpdateExpression: aws.String("SET w = :v"), ExpressionAttributeValues: v, ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: allOld}},
		"Delete":         {Delete: &types.Delete{TableName: table, Key: key("a"), ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: allOld}},
		"ConditionCheck": {ConditionCheck: &types.ConditionCheck{TableName: table, Key: key("a"), ConditionExpression: absent, ReturnValuesOnConditionCheckFailure: allOld}},
	}
	for name, w := range failing {
		same(t, name+" fails", `None ConditionalCheckFailed{pk:"a" sk:"x" v:"old"} None`, s.transact("", put("n1"), w, put("n2")))
		same(t, "nothing is written when "+name+" fails", "none none", show(s.get(t, table, "n1", "x"))+" "+show(s.get(t, table, "n2", "x")))
	}
	same(t, "two fail", "ConditionalCheckFailed ConditionalCheckFailed", s.transact("",
		types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key("a"), ConditionExpression: absent}},
		types.TransactWriteItem{Delete: &types.Delete{TableName: table, Key: key("gone"), ConditionExpression: aws.String("attribute_exists(pk)")}}))
	same(t, "an update that cannot be", "None ValidationError", s.transact("", put("n1"),
		types.TransactWriteItem{Update: &types.Update{TableName: table, Key: key("a"), UpdateExpression: aws.String("ADD v :v"), ExpressionAttributeValues: v}}))
	same(t, "all four succeed", "", s.transact("", put("n1"),
		types.TransactWriteItem{Update: &types.Update{TableName: table, Key: key("a"), UpdateExpression: aws.String("SET w = :v"), ExpressionAttributeValues: v}},
		types.TransactWriteItem{Delete: &types.Delete{TableName: table, Key: key("gone")}},
		types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key("never"), ConditionExpression: absent}}))
	same(t, "what they wrote", `{pk:"a" sk:"x" v:"old" w:1}{pk:"n1" sk:"x"}`, show(s.get(t, table, "a", "x"))+show(s.get(t, table, "n1", "x")))
	transactionRefusals(t, s, table, put)
	atomicity(t, s, table)
}

func transactionRefusals(t *testing.T, s *suite, table *string, put func(string) types.TransactWriteItem) {
	same(t, "one item twice", bad, s.transact("", put("twice"), put("twice")))
	many := make([]types.TransactWriteItem, 101)
	for i := range many {
		many[i] = put("many" + strconv.Itoa(i))
	}
	same(t, "101 writes", bad, s.transact("", many...))
	same(t, "100 writes", "", s.transact("", many[:100]...))
	same(t, "no writes", bad, s.transact("", many[:0]...))
	same(t, "a table that is not there", "ResourceNotFoundException", s.transact("", types.TransactWriteItem{Put: &types.Put{TableName: aws.String(*table + ".nope"), Item: of(object{"pk": "a", "sk": "x"})}}))
	same(t, "a syntax error", bad, s.transact("", put("syntax"), types.TransactWriteItem{Put: &types.Put{TableName: table, Item: of(object{"pk": "a", "sk": "x"}), ConditionExpression: aws.String("pk =")}}))
}

// atomicity moves units between two counters while readers add them up.
func atomicity(t *testing.T, s *suite, table *string) {
	const units, movers = 100, 4
	key := func(pk string) item { return of(object{"pk": pk, "sk": "x"}) }
	s.put(t, table, object{"pk": "from", "sk": "x", "n": units})
	s.put(t, table, object{"pk": "to", "sk": "x", "n": 0})
	add := func(pk string, by int, cond *string) types.TransactWriteItem {
		values := object{":d": by}
		if cond != nil {
			values[":one"] = 1
		}
		return types.TransactWriteItem{Update: &types.Update{TableName: table, Key: key(pk), UpdateExpression: aws.String("ADD n :d"), ConditionExpression: cond, ExpressionAttributeValues: of(values)}}
	}
	var moved, torn, reads atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			out, err := s.db.TransactGetItems(context.Background(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: table, Key: key("from")}}, {Get: &types.Get{TableName: table, Key: key("to")}},
			}})
			if err != nil {
				continue // a conflict with a transaction is an answer, not a torn read
			}
			reads.Add(1)
			if count(out.Responses[0].Item)+count(out.Responses[1].Item) != units {
				torn.Add(1)
			}
		}
	})
	var all sync.WaitGroup
	for range movers {
		all.Go(func() {
			for range units / 2 { // twice as many as there are units
				if s.transact("", add("from", -1, aws.String("n >= :one")), add("to", 1, nil)) == "" {
					moved.Add(1)
				}
			}
		})
	}
	all.Wait()
	close(done)
	wg.Wait()
	from, to := count(s.get(t, table, "from", "x")), count(s.get(t, table, "to", "x"))
	if from+to != units || to != int(moved.Load()) || torn.Load() != 0 {
		differs(t, "a transaction is seen whole", fmt.Sprintf("%d and %d after %d moves; %d of %d reads torn", from, to, moved.Load(), torn.Load(), reads.Load()))
	}
}

func count(it item) int {
	n, _ := strconv.Atoi(showValue(it["n"]))
	return n
}

// tokens: one transaction under one token is made once.
func tokens(t *testing.T, s *suite) {
	table := s.table(t, "tokens", "S")
	token := fmt.Sprintf("token-%x", NewSeed())
	add := func(by int) types.TransactWriteItem {
		return types.TransactWriteItem{Update: &types.Update{
			TableName: table, Key: of(object{"pk": "a", "sk": "x"}), UpdateExpression: aws.String("ADD n :d, #m :e"),
			ExpressionAttributeNames:  map[string]string{"#m": "m"},
			ExpressionAttributeValues: of(object{":d": by, ":e": 1}),
		}}
	}
	for range 5 {
		same(t, "the same request under one token", "", s.transact(token, add(1)))
	}
	same(t, "made once", `{m:1 n:1 pk:"a" sk:"x"}`, show(s.get(t, table, "a", "x")))
	same(t, "another request under the token", "IdempotentParameterMismatchException", s.transact(token, add(2)))
	same(t, "another token", "", s.transact(token+"b", add(1)))
	same(t, "made again", `{m:2 n:2 pk:"a" sk:"x"}`, show(s.get(t, table, "a", "x")))
	failing := types.TransactWriteItem{Put: &types.Put{TableName: table, Item: of(object{"pk": "b", "sk": "x"}), ConditionExpression: aws.String("attribute_exists(pk)")}}
	same(t, "a cancelled one", "ConditionalCheckFailed", s.transact(token+"c", failing))
	s.put(t, table, object{"pk": "b", "sk": "x"})
	same(t, "is tried anew", "", s.transact(token+"c", failing))
}
