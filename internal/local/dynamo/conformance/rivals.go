package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// builder: what the SDK's expression builder makes is understood.
func builder(t *testing.T, s *suite) {
	table := s.table(t, "builder", "S")
	s.put(t, table, object{"pk": "b", "sk": "1", "n": 1, "list": list{1, 2}, "name": "x", "gpk": "g", "gsk": "1"})
	cond := expression.AttributeExists(expression.Name("pk")).
		And(expression.Name("n").Between(expression.Value(0), expression.Value(5)), expression.Name("name").In(expression.Value("x"), expression.Value("y"))).
		And(expression.Not(expression.Name("gone").AttributeExists().Or(expression.Name("list").Size().Equal(expression.Value(0))))).
		And(expression.Name("list[0]").Equal(expression.Value(1)), expression.Contains(expression.Name("name"), "x"), expression.BeginsWith(expression.Name("gsk"), "1"))
	update := expression.Set(expression.Name("n"), expression.Name("n").Plus(expression.Value(1))).
		Set(expression.Name("made"), expression.IfNotExists(expression.Name("made"), expression.Value("now"))).
		Set(expression.Name("list"), expression.Name("list").ListAppend(expression.Value([]int{3}))).
		Remove(expression.Name("name")).Add(expression.Name("adds"), expression.Value(2)).
		Delete(expression.Name("tags"), expression.Value(&types.AttributeValueMemberSS{Value: []string{"a"}}))
	built, err := expression.NewBuilder().WithCondition(cond).WithUpdate(update).Build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: table, Key: of(object{"pk": "b", "sk": "1"}), ReturnValues: types.ReturnValueAllNew,
		ConditionExpression: built.Condition(), UpdateExpression: built.Update(), ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values(),
	})
	if err != nil {
		t.Fatalf("%v\ncondition %s\nupdate %s", err, *built.Condition(), *built.Update())
	}
	same(t, "what it made", `{adds:2 gpk:"g" gsk:"1" list:[1 2 3] made:"now" n:2 pk:"b" sk:"1"}`, show(out.Attributes))
	builtQuery(t, s, table)
}

func builtQuery(t *testing.T, s *suite, table *string) {
	built, err := expression.NewBuilder().
		WithKeyCondition(expression.Key("gpk").Equal(expression.Value("g")).And(expression.Key("gsk").BeginsWith("1"))).
		WithFilter(expression.Name("n").GreaterThanEqual(expression.Value(2))).
		WithProjection(expression.NamesList(expression.Name("pk"), expression.Name("list[2]"))).Build()
	if err != nil {
		t.Fatal(err)
	}
	settles(t, "a built query", `{list:[3] pk:"b"}`, func() string {
		q, err := s.db.Query(context.Background(), &dynamodb.QueryInput{
			TableName: table, IndexName: aws.String("all"), KeyConditionExpression: built.KeyCondition(), FilterExpression: built.Filter(),
			ProjectionExpression: built.Projection(), ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values(),
		})
		if err != nil {
			return err.Error()
		}
		return showAll(q.Items)
	})
}

// races: of any number of rivals exactly one wins, and no addition is lost.
func races(t *testing.T, s *suite) {
	table := s.table(t, "races", "S")
	t.Run("one conditional put wins", func(t *testing.T) {
		var won, lost atomic.Int64
		s.rivals(t, func(i int) error {
			_, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{
				TableName: table, Item: of(object{"pk": "claim", "sk": "x", "owner": i}), ConditionExpression: aws.String("attribute_not_exists(pk)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			var failed *types.ConditionalCheckFailedException
			switch {
			case err == nil:
				won.Add(1)
			case errors.As(err, &failed) && failed.Item["owner"] != nil:
				lost.Add(1)
			default:
				return err
			}
			return nil
		})
		if won.Load() != 1 || lost.Load() != int64(s.o.Rivals-1) {
			differs(t, "one wins, the others see it", fmt.Sprintf("%d won and %d lost of %d", won.Load(), lost.Load(), s.o.Rivals))
		}
	})
	t.Run("no addition is lost", func(t *testing.T) {
		s.rivals(t, func(int) error {
			_, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
				TableName: table, Key: of(object{"pk": "sum", "sk": "x"}), UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: of(object{":one": 1}),
			})
			return err
		})
		if got := count(s.get(t, table, "sum", "x")); got != s.o.Rivals {
			differs(t, "the sum", fmt.Sprintf("%d after %d additions", got, s.o.Rivals))
		}
	})
}

// rivals calls from all goroutines at once.
func (s *suite) rivals(t *testing.T, call func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	gate := make(chan struct{})
	for i := range s.o.Rivals {
		wg.Go(func() {
			<-gate
			if err := call(i); err != nil {
				failed.Store(&err)
			}
		})
	}
	close(gate)
	wg.Wait()
	if err := failed.Load(); err != nil {
		differs(t, "every rival gets a proper answer", (*err).Error())
	}
}
