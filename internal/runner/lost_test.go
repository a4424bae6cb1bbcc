package runner_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/app/apptest"
	"holdfast/internal/operation"
)

// A run whose event, or whose event's body, is not in the ledger (a restored table lost it) is put to its owner.
func TestR07_ARunWithoutItsEventIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, sk := range map[string]string{"the event": "ev", "the body": "payload"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ev, run := b.event(goodBody)
			if sk == "payload" {
				sk = "payload#" + string(ev.Payload) + "#0"
			}
			_, err := b.Dynamo.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.Ledger.Table, Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "ev#" + string(ev.ID)}, "sk": &types.AttributeValueMemberS{Value: sk},
			}})
			apptest.Must(t, err)
			b.plan(run.ID)
			if got := b.runIs(run.ID, operation.RunHeld, operation.ReasonEventMissing); got.Question == nil {
				t.Error("nobody is asked")
			}
		})
	}
}
