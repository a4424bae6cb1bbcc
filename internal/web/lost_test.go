package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/operation"
)

// An operation whose run a restored table lost is still shown to the person who is asked about it, and can be decided.
func TestR07_AnOperationOfALostRunCanBeDecided(t *testing.T) {
	t.Parallel()
	b, i := held(t)
	_, err := b.Client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.Ledger.Table, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "run#" + string(b.Run.ID)}, "sk": &types.AttributeValueMemberS{Value: "run"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	page := b.get(i)
	for _, want := range []string{"What happened?", "lost with a restored table", "Not in the ledger", "campaign-follow-up", "crm_task"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	status, _ := b.post(i, form(t, page, "answer"), "answer", "exists", "reference", "7714", "code", i.Code)
	if op := b.Op("op_crm_task"); status != http.StatusOK || op.Status != operation.StatusConfirmed {
		t.Errorf("%d, and the operation is %s; want confirmed", status, op.Status)
	}
}
