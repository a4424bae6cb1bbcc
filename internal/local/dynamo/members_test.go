package dynamo

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// typedBy reads an input of each operation and part that has members of its own.
func typedBy() map[string]func() (any, func() error) {
	return map[string]func() (any, func() error){
		"GetItem":            typedWith(typedGet),
		"PutItem":            typedWith(typedPut),
		"UpdateItem":         typedWith(typedUpdate),
		"DeleteItem":         typedWith(typedDelete),
		"Query":              typedWith(typedQuery),
		"Scan":               typedWith(typedScan),
		"BatchGetItem":       typedWith(typedBatchGet),
		"BatchWriteItem":     typedWith(typedBatchWrite),
		"TransactWriteItems": typedWith(typedTransactWrite),
		"TransactGetItems":   typedWith(typedTransactGet),
		"CreateTable":        typedWith(typedCreate),
		"ListTables":         typedWith(typedList),
		"UpdateTimeToLive":   typedWith(typedTTL),
		"Keys": typedWith(func(in *types.KeysAndAttributes) (*request, error) {
			return typedBatchGet(&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"tab": *in}})
		}),
		"CreateTable index": typedWith(func(in *types.GlobalSecondaryIndex) (*request, error) {
			return typedCreate(&dynamodb.CreateTableInput{GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{*in}})
		}),
	}
}

func typedWith[I any](read func(*I) (*request, error)) func() (any, func() error) {
	return func() (any, func() error) {
		in := new(I)
		return in, func() error {
			_, err := read(in)
			return err
		}
	}
}

// refusedAlways are members of CreateTable that are known by name, and refused by it; indexMembers are an index's own.
const (
	refusedAlways = "TableClass StreamSpecification SSESpecification Tags"
	indexMembers  = "IndexName KeySchema Projection ProvisionedThroughput"
)

// Every member of every input is either taken, or refused by its name: a release of the SDK with new members must not
// have them ignored.
func TestTypedMembersAreTakenOrRefused(t *testing.T) {
	t.Parallel()
	for op, input := range typedBy() {
		in, _ := input()
		for i := range reflect.TypeOf(in).Elem().NumField() {
			in, read := input()
			field := reflect.TypeOf(in).Elem().Field(i)
			if !field.IsExported() {
				continue
			}
			reflect.ValueOf(in).Elem().Field(i).Set(sample(field.Type))
			err := read()
			taken := takes(op, field.Name) && !hasWord(refusedAlways, field.Name) || op == "CreateTable index" && hasWord(indexMembers, field.Name)
			refused := err != nil && strings.Contains(err.Error(), field.Name) && strings.Contains(err.Error(), "not take")
			if taken == refused {
				t.Errorf("%s with %s: %v; the wire takes it: %v", op, field.Name, err, taken)
			}
		}
	}
}

// sample is a value that is not the type's zero value.
func sample(t reflect.Type) reflect.Value {
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.New(t.Elem())
	case reflect.Map:
		return reflect.MakeMap(t)
	case reflect.Slice:
		return reflect.MakeSlice(t, 1, 1)
	case reflect.String:
		return reflect.ValueOf("NONE").Convert(t)
	}
	return reflect.Zero(t)
}
