// Package conformance says what the product needs of a DynamoDB endpoint, and asks any endpoint for it.
//
// It promises that every check is about behaviour that AWS documents, so that it can be put to this repository's own
// server, to another stand-in, and to DynamoDB itself. It never asks for more than DynamoDB gives: where a read of an
// index may be late, the check waits for the endpoint rather than for a time.
package conformance

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// Options size the suite.
type Options struct {
	// Seed replays the random checks. Zero: a new one, which is printed.
	Seed uint64
	// Rivals is how many callers race. Zero: 1,000.
	Rivals int
	// Rounds is how many random expressions are tried. Zero: 300.
	Rounds int
	// Prefix begins the names of the tables that are made, and deleted afterwards. Empty: "conformance".
	Prefix string
}

const (
	rivalsDefault = 1000
	roundsDefault = 300
	tableWait     = time.Minute // for a table to be there
)

func (o Options) withDefaults() Options {
	if o.Seed == 0 {
		o.Seed = NewSeed()
	}
	if o.Rivals == 0 {
		o.Rivals = rivalsDefault
	}
	if o.Rounds == 0 {
		o.Rounds = roundsDefault
	}
	if o.Prefix == "" {
		o.Prefix = "conformance"
	}
	return o
}

// NewSeed is a seed that was not used before.
func NewSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// suite is one run against one endpoint.
type suite struct {
	db API
	o  Options
}

// Run asks the endpoint behind the client. It makes tables of its own and deletes them.
func Run(t *testing.T, client API, o Options) {
	s := &suite{db: client, o: o.withDefaults()}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"conditions", conditions},
		{"updates", updates},
		{"returns", returns},
		{"values", values},
		{"limits", limits},
		{"keys", keys},
		{"projections", projections},
		{"indexes", indexes},
		{"paging", paging},
		{"segments", segments},
		{"batches", batches},
		{"transactions", transactions},
		{"tokens", tokens},
		{"capacity", capacity},
		{"tables", tables},
		{"messages", messages},
		{"refusals", refusals},
		{"builder", builder},
		{"races", races},
		{"random", randomUpdates},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, s)
		})
	}
}

// table makes a table with keys pk and sk, and the indexes every check uses; it is deleted afterwards.
// Index "all" has gpk and gsk and holds everything; "keys" has gpk and holds keys; "some" has gpk, gn and holds extra.
func (s *suite) table(t *testing.T, name string, sortKind types.ScalarAttributeType) *string {
	t.Helper()
	full := aws.String(s.o.Prefix + "." + name)
	in := &dynamodb.CreateTableInput{
		TableName: full, BillingMode: types.BillingModePayPerRequest, KeySchema: keySchema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("all"), KeySchema: keySchema("gpk", "gsk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
			{IndexName: aws.String("keys"), KeySchema: keySchema("gpk", ""), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
			{IndexName: aws.String("some"), KeySchema: keySchema("gpk", "gn"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"extra"}}},
		},
	}
	for name, kind := range map[string]types.ScalarAttributeType{"pk": "S", "sk": sortKind, "gpk": "S", "gsk": "S", "gn": "N"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind})
	}
	s.create(t, in)
	return full
}

func keySchema(hash, sort string) []types.KeySchemaElement {
	k := []types.KeySchemaElement{{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}}
	if sort != "" {
		k = append(k, types.KeySchemaElement{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange})
	}
	return k
}

// create makes a table anew and waits for it.
func (s *suite) create(t *testing.T, in *dynamodb.CreateTableInput) {
	t.Helper()
	describe := &dynamodb.DescribeTableInput{TableName: in.TableName}
	if s.drop(in.TableName) == nil {
		gone := dynamodb.NewTableNotExistsWaiter(s.db, func(o *dynamodb.TableNotExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
		})
		if err := gone.Wait(context.Background(), describe, tableWait); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.CreateTable(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	there := dynamodb.NewTableExistsWaiter(s.db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	})
	if err := there.Wait(context.Background(), describe, tableWait); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.drop(in.TableName) })
}

func (s *suite) drop(name *string) error {
	_, err := s.db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: name})
	return err
}

func (s *suite) put(t *testing.T, table *string, m object) {
	t.Helper()
	if _, err := s.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: of(m)}); err != nil {
		t.Fatalf("put %v: %v", m, err)
	}
}

func (s *suite) get(t *testing.T, table *string, pk, sk any) item {
	t.Helper()
	out, err := s.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: table, Key: of(object{"pk": pk, "sk": sk}), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

// code is the name of an API error, "" for none.
func code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	}
	return "not an API error: " + err.Error()
}

// message is the text of an API error.
func message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorMessage()
	}
	return ""
}

// aliases defines #x as x for every alias in the expressions; nil when there is none.
func aliases(expressions ...string) map[string]string {
	var out map[string]string
	for _, e := range expressions {
		for {
			_, rest, found := strings.Cut(e, "#")
			if !found {
				break
			}
			end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_", r) })
			if end < 0 {
				end = len(rest)
			}
			if out == nil {
				out = map[string]string{}
			}
			out["#"+rest[:end]] = rest[:end]
			e = rest
		}
	}
	return out
}

// optional is nil for an empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// bound is nil when there are no values: an empty map is an error.
func bound(values object) item {
	if len(values) == 0 {
		return nil
	}
	return of(values)
}

// same reports a difference between what is wanted and what came.
func same(t *testing.T, what, want, got string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		differs(t, what, "want -, got +:\n"+d)
	}
}

// differs reports a difference under a name that stays the same from run to run, so that a list can explain it.
func differs(t *testing.T, what, detail string) {
	t.Helper()
	_, name, _ := strings.Cut(t.Name(), "/")
	t.Errorf("DIFFERENCE %s: %s\n%s", name, what, detail)
}
