package ledger_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
	"holdfast/internal/operation"
)

// Records that release 1 wrote. They are never edited: a change that cannot read them needs a new schema version.
const recordsV1 = "testdata/records-v1"

// TestR13_RecordsOfRelease1 reads each stored record and writes its noun again: no field may be lost or change.
func TestR13_RecordsOfRelease1(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recordsV1, "*.json"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d records, %v", len(files), err)
	}
	c := client(t)
	table := fmt.Sprintf("records-v1-%d", os.Getpid())
	ledgertest.MakeTable(t, c, table)
	l := ledger.New(ledger.Options{Client: c, Table: table, Clock: clock.New(), Fold: ledgertest.Fold})
	docs := map[string]string{}
	for _, file := range files {
		it := readItem(t, file)
		docs[strings.TrimSuffix(filepath.Base(file), ".json")] = textIn(it, "doc")
		if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	readsSame(t, docs["operation"], func() (any, error) { return l.Operation(t.Context(), "op_v1") })
	readsSame(t, docs["event"], func() (any, error) { return l.Event(t.Context(), "ev_v1") })
	readsSame(t, docs["run"], func() (any, error) { return l.Run(t.Context(), "run_v1") })
	readsSame(t, docs["link"], func() (any, error) { return l.Link(t.Context(), "k3m9v1") })
	readsSame(t, docs["stack"], func() (any, error) { return l.Stack(t.Context()) })
	if plan, err := l.Plan(t.Context(), "run_v1"); err != nil || string(plan) != `{"flow":"campaign-follow-up"}` {
		t.Errorf("plan: %q, %v", plan, err)
	}
	op, err := l.Operation(t.Context(), "op_v1")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := l.Content(t.Context(), op.ID, op.Content); err != nil || string(content) != "POST /tasks" {
		t.Errorf("content: %q, %v", content, err)
	}
	op, err = l.Operation(t.Context(), "op_inbox_v1")
	if err != nil || op.Status != operation.StatusConfirmed || op.Reference != "7714" {
		t.Errorf("the outcome in an inbox: %s %q, %v", op.Status, op.Reference, err)
	}
}

func readsSame(t *testing.T, doc string, read func() (any, error)) {
	t.Helper()
	v, err := read()
	if err != nil {
		t.Error(err)
		return
	}
	now, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
		return
	}
	if diff := cmp.Diff(fields(t, doc), fields(t, string(now))); diff != "" {
		t.Errorf("read and written again (-release 1 +now):\n%s", diff)
	}
}

func fields(t *testing.T, doc string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(doc), &m); err != nil {
		t.Fatalf("%v in %q", err, doc)
	}
	return m
}

func textIn(it map[string]types.AttributeValue, name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// stored is one attribute in DynamoDB's own JSON.
type stored struct {
	S *string           `json:",omitempty"`
	N *string           `json:",omitempty"`
	B []byte            `json:",omitempty"`
	M map[string]stored `json:",omitempty"`
}

func readItem(t *testing.T, file string) map[string]types.AttributeValue {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]stored
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return values(m)
}

func values(m map[string]stored) map[string]types.AttributeValue {
	out := map[string]types.AttributeValue{}
	for name, v := range m {
		switch {
		case v.S != nil:
			out[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			out[name] = &types.AttributeValueMemberN{Value: *v.N}
		case v.B != nil:
			out[name] = &types.AttributeValueMemberB{Value: v.B}
		default:
			out[name] = &types.AttributeValueMemberM{Value: values(v.M)}
		}
	}
	return out
}
