package dynamo

import (
	"errors"
	"strings"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
)

// request is one decoded call, or one part of a batch or a transaction. Absent members are zero.
type request struct {
	op    string
	table string
	index string

	item, key, start          attr.Item
	hasItem, hasKey, hasStart bool
	scope                     expr.Scope
	hasNames, hasValues       bool

	condition, update, projection, filter, keyCondition *string

	returnValues, returnOnFailure, returnCapacity, selects, token string

	consistent, backwards   bool
	limit                   int64
	hasLimit                bool
	segment, segments       int64
	hasSegment, hasSegments bool
	parts                   []*request
	list                    listRequest
	definition              *definition
	ttlAttribute            string
	ttlEnabled, hasTTL      bool
	hasParts                bool
}

// listRequest is what ListTables is asked.
type listRequest struct{ after string }

// members are the members each operation takes. All others are refused by name.
var members = map[string]string{
	"GetItem":            "TableName Key ConsistentRead ProjectionExpression ExpressionAttributeNames ReturnConsumedCapacity",
	"PutItem":            "TableName Item " + writeMembers,
	"DeleteItem":         "TableName Key " + writeMembers,
	"UpdateItem":         "TableName Key UpdateExpression " + writeMembers,
	"Query":              "KeyConditionExpression ScanIndexForward " + readMembers,
	"Scan":               "Segment TotalSegments " + readMembers,
	"BatchGetItem":       "RequestItems ReturnConsumedCapacity",
	"BatchWriteItem":     "RequestItems ReturnConsumedCapacity ReturnItemCollectionMetrics",
	"TransactWriteItems": "TransactItems ClientRequestToken ReturnConsumedCapacity ReturnItemCollectionMetrics",
	"TransactGetItems":   "TransactItems ReturnConsumedCapacity",
	"CreateTable": "TableName AttributeDefinitions KeySchema GlobalSecondaryIndexes BillingMode ProvisionedThroughput" +
		" DeletionProtectionEnabled TableClass StreamSpecification SSESpecification Tags",
	"DescribeTable":      "TableName",
	"DeleteTable":        "TableName",
	"ListTables":         "ExclusiveStartTableName Limit",
	"UpdateTimeToLive":   "TableName TimeToLiveSpecification",
	"DescribeTimeToLive": "TableName",

	"Put":            "TableName Item " + conditionMembers,
	"Update":         "TableName Key UpdateExpression " + conditionMembers,
	"Delete":         "TableName Key " + conditionMembers,
	"ConditionCheck": "TableName Key " + conditionMembers,
	"Get":            "TableName Key ProjectionExpression ExpressionAttributeNames",
	"PutRequest":     "Item",
	"DeleteRequest":  "Key",
	"Keys":           "Keys ConsistentRead ProjectionExpression ExpressionAttributeNames",
}

const (
	conditionMembers = "ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValuesOnConditionCheckFailure"
	writeMembers     = conditionMembers + " ReturnValues ReturnConsumedCapacity ReturnItemCollectionMetrics"
	readMembers      = "TableName IndexName ConsistentRead FilterExpression ProjectionExpression ExpressionAttributeNames" +
		" ExpressionAttributeValues Limit ExclusiveStartKey Select ReturnConsumedCapacity"
)

// legacy members were replaced by expressions years ago.
const legacy = " AttributesToGet AttributeUpdates Expected ConditionalOperator QueryFilter ScanFilter KeyConditions "

// takes says whether the operation has a member of that name.
func takes(op, member string) bool { return hasWord(members[op], member) }

func hasWord(words, word string) bool {
	for len(words) > 0 {
		var first string
		first, words, _ = strings.Cut(words, " ")
		if first == word {
			return true
		}
	}
	return false
}

func refusedMember(op, name string) error {
	if strings.Contains(legacy, " "+name+" ") {
		return invalid("%s is a legacy parameter and this local server does not take it in %s: use the expression parameters", name, op)
	}
	return invalid("This local server does not take the parameter %s in %s", name, op)
}

// decode reads a request of the operation.
func decode(op string, body []byte) (*request, error) {
	q := &request{op: op}
	r := attr.NewReader(body)
	if err := q.read(r); err != nil {
		return q, err
	}
	q.sort()
	return q, r.End()
}

func (q *request) read(r *attr.Reader) error {
	return r.Object(func(name string) error {
		if !takes(q.op, name) {
			return refusedMember(q.op, name)
		}
		return q.member(r, name)
	})
}

func (q *request) member(r *attr.Reader, name string) error {
	if s := q.textMember(name); s != nil {
		return readText(r, s)
	}
	if e := q.expressionMember(name); e != nil {
		return readOptional(r, e)
	}
	if n, has := q.numberMember(name); n != nil {
		*has = true
		return readInt(r, n)
	}
	switch name {
	case "Key":
		q.hasKey = true
		return readItem(r, &q.key)
	case "Item":
		q.hasItem = true
		return readItem(r, &q.item)
	case "ExclusiveStartKey":
		q.hasStart = true
		return readItem(r, &q.start)
	case "ConsistentRead":
		return readBool(r, &q.consistent)
	case "ScanIndexForward":
		err := readBool(r, &q.backwards)
		q.backwards = !q.backwards
		return err
	case "ExpressionAttributeNames":
		return q.readNames(r)
	case "ExpressionAttributeValues":
		return q.readValues(r)
	case "ReturnItemCollectionMetrics":
		return readNone(r, name)
	}
	return q.structured(r, name)
}

// structured reads the members of batches, transactions and tables.
func (q *request) structured(r *attr.Reader, name string) error {
	switch name {
	case "RequestItems":
		return q.readBatch(r)
	case "TransactItems":
		return q.readTransaction(r)
	case "Keys":
		return q.readKeys(r)
	case "TimeToLiveSpecification":
		return q.readTTL(r)
	}
	return q.readDefinition(r, name)
}

func (q *request) textMember(name string) *string {
	switch name {
	case "TableName":
		return &q.table
	case "IndexName":
		return &q.index
	case "ReturnValues":
		return &q.returnValues
	case "ReturnValuesOnConditionCheckFailure":
		return &q.returnOnFailure
	case "ReturnConsumedCapacity":
		return &q.returnCapacity
	case "Select":
		return &q.selects
	case "ClientRequestToken":
		return &q.token
	case "ExclusiveStartTableName":
		return &q.list.after
	}
	return nil
}

func (q *request) expressionMember(name string) **string {
	switch name {
	case "ConditionExpression":
		return &q.condition
	case "UpdateExpression":
		return &q.update
	case "ProjectionExpression":
		return &q.projection
	case "FilterExpression":
		return &q.filter
	case "KeyConditionExpression":
		return &q.keyCondition
	}
	return nil
}

func (q *request) numberMember(name string) (*int64, *bool) {
	switch name {
	case "Limit":
		return &q.limit, &q.hasLimit
	case "Segment":
		return &q.segment, &q.hasSegment
	case "TotalSegments":
		return &q.segments, &q.hasSegments
	}
	return nil, nil
}

func readText(r *attr.Reader, into *string) (err error) {
	*into, err = r.Text()
	return err
}

func readOptional(r *attr.Reader, into **string) error {
	text, err := r.Text()
	*into = &text
	return err
}

func readInt(r *attr.Reader, into *int64) (err error) {
	*into, err = r.Int()
	return err
}

func readBool(r *attr.Reader, into *bool) (err error) {
	*into, err = r.Bool()
	return err
}

func readItem(r *attr.Reader, into *attr.Item) (err error) {
	*into, err = r.Item()
	return err
}

// readNone takes a member only with its default, NONE.
func readNone(r *attr.Reader, name string) error {
	text, err := r.Text()
	if err == nil && text != "NONE" {
		return onlyNone(name, text)
	}
	return err
}

func onlyNone(name, value string) error {
	return invalid("This local server does not take %s=%s: only NONE", name, value)
}

func (q *request) readNames(r *attr.Reader) error {
	q.hasNames = true
	return r.Object(func(key string) error {
		name, err := r.Text()
		q.scope.Names = append(q.scope.Names, expr.Alias{Key: key, Name: name})
		return err
	})
}

func (q *request) readValues(r *attr.Reader) error {
	q.hasValues = true
	return r.Object(func(key string) error {
		v, err := r.Value()
		q.scope.Values = append(q.scope.Values, expr.Binding{Key: key, Value: v})
		return wrongValue(key, err)
	})
}

// wrongValue is what is wrong with a given value; nil for nothing.
func wrongValue(key string, err error) error {
	var bad *attr.Invalid
	if errors.As(err, &bad) {
		return invalid("ExpressionAttributeValues contains invalid value: %s for key %s", bad.Reason, key)
	}
	return err
}

// readBatch reads RequestItems: tables with keys to get, or with puts and deletes.
func (q *request) readBatch(r *attr.Reader) error {
	q.hasParts = true
	return r.Object(func(table string) error {
		if q.op == "BatchGetItem" {
			part := &request{op: "Keys", table: table}
			q.parts = append(q.parts, part)
			return part.read(r)
		}
		return r.Array(func(int) error {
			return q.readPart(r, table, "PutRequest", "DeleteRequest")
		})
	})
}

func (q *request) readTransaction(r *attr.Reader) error {
	q.hasParts = true
	return r.Array(func(int) error {
		if q.op == "TransactGetItems" {
			return q.readPart(r, "", "Get")
		}
		return q.readPart(r, "", "Put", "Update", "Delete", "ConditionCheck")
	})
}

// readPart reads a structure of which exactly one member must be there.
func (q *request) readPart(r *attr.Reader, table string, names ...string) error {
	before := len(q.parts)
	err := r.Object(func(name string) error {
		if !hasWord(strings.Join(names, " "), name) {
			return refusedMember(q.op, name)
		}
		part := &request{op: name, table: table}
		q.parts = append(q.parts, part)
		return part.read(r)
	})
	if err == nil && len(q.parts) != before+1 {
		return notOnePart(q.op, names)
	}
	return err
}

func notOnePart(op string, names []string) error {
	return invalid("%sEach item of %s must have exactly one of %s", reasonInvalid, op, strings.Join(names, ", "))
}

func (q *request) readKeys(r *attr.Reader) error {
	return r.Array(func(int) error {
		part := &request{op: "Get", table: q.table, hasKey: true}
		q.parts = append(q.parts, part)
		return readItem(r, &part.key)
	})
}

func (q *request) readTTL(r *attr.Reader) error {
	q.hasTTL = true
	return r.Object(func(name string) error {
		switch name {
		case "AttributeName":
			return readText(r, &q.ttlAttribute)
		case "Enabled":
			return readBool(r, &q.ttlEnabled)
		}
		return refusedMember(q.op, name)
	})
}

// tables are the names of all tables the request touches, each once.
func (q *request) tables() []string {
	names := []string{}
	seen := map[string]bool{}
	for _, part := range append([]*request{q}, q.parts...) {
		if part.table != "" && !seen[part.table] {
			seen[part.table] = true
			names = append(names, part.table)
		}
	}
	return names
}

// sort brings the placeholders of all scopes in order.
func (q *request) sort() {
	q.scope.Sort()
	for _, part := range q.parts {
		part.scope.Sort()
	}
}
