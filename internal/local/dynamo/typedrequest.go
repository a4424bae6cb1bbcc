package dynamo

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
)

// typedRequest makes a request of an SDK input. It remembers the first thing that is wrong; members are read in the
// order of their names, as the SDK's client writes them, so that the same thing is the first.
type typedRequest struct {
	*request
	err error
}

func newTyped(op string, table *string) *typedRequest {
	q := &typedRequest{request: &request{op: op}}
	if table != nil {
		q.table = *table
	}
	return q
}

func (q *typedRequest) done() (*request, error) { return q.request, q.err }

func (q *typedRequest) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// refuse refuses a member that this server does not take, if it is given.
func (q *typedRequest) refuse(member string, given bool) *typedRequest {
	if given {
		q.fail(refusedMember(q.op, member))
	}
	return q
}

func (q *typedRequest) metrics(m types.ReturnItemCollectionMetrics) *typedRequest {
	if m != "" && m != types.ReturnItemCollectionMetricsNone {
		q.fail(onlyNone("ReturnItemCollectionMetrics", string(m)))
	}
	return q
}

func (q *typedRequest) items(in map[string]types.AttributeValue, into *attr.Item, has *bool) *typedRequest {
	if in == nil {
		return q
	}
	*has = true
	it, err := itemOf(in, 0)
	if *into = it; err != nil {
		q.fail(err)
	}
	return q
}

func (q *typedRequest) keyed(in map[string]types.AttributeValue) *typedRequest {
	return q.items(in, &q.key, &q.hasKey)
}

// names and values take placeholders in the order of their spelling.
func (q *typedRequest) names(in map[string]string) *typedRequest {
	if in == nil {
		return q
	}
	q.hasNames = true
	var room [itemNamesGuess]string
	keys := room[:0]
	for key := range in {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	q.scope.Names = make([]expr.Alias, len(keys))
	for i, key := range keys {
		q.scope.Names[i].Key, q.scope.Names[i].Name = key, validText(in[key])
	}
	return q
}

func (q *typedRequest) values(in map[string]types.AttributeValue) *typedRequest {
	if in == nil {
		return q
	}
	q.hasValues = true
	var room [itemNamesGuess]string
	keys := room[:0]
	for key, v := range in {
		if v != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	q.scope.Values = make([]expr.Binding, len(keys))
	for i, key := range keys {
		q.scope.Values[i].Key = key
		if err := readValue(&q.scope.Values[i].Value, in[key], 0); err != nil {
			q.fail(wrongValue(key, err))
		}
	}
	return q
}

// conditional takes the members of every conditional write.
func (q *typedRequest) conditional(condition *string, names map[string]string, values map[string]types.AttributeValue, onFailure types.ReturnValuesOnConditionCheckFailure) *typedRequest {
	q.condition, q.returnOnFailure = condition, string(onFailure)
	return q.names(names).values(values)
}

// returning takes the members of every single write.
func (q *typedRequest) returning(values types.ReturnValue, capacity types.ReturnConsumedCapacity, m types.ReturnItemCollectionMetrics) *typedRequest {
	q.returnValues, q.returnCapacity = string(values), string(capacity)
	return q.metrics(m)
}

func typedGet(in *dynamodb.GetItemInput) (*request, error) {
	q := newTyped("GetItem", in.TableName).refuse("AttributesToGet", in.AttributesToGet != nil).keyed(in.Key).names(in.ExpressionAttributeNames)
	q.projection, q.returnCapacity = in.ProjectionExpression, string(in.ReturnConsumedCapacity)
	q.consistent = isTrue(in.ConsistentRead)
	return q.done()
}

func isTrue(b *bool) bool { return b != nil && *b }

func typedPut(in *dynamodb.PutItemInput) (*request, error) {
	q := newTyped("PutItem", in.TableName).refuse("ConditionalOperator", in.ConditionalOperator != "").refuse("Expected", in.Expected != nil)
	return q.conditional(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure).
		items(in.Item, &q.item, &q.hasItem).
		returning(in.ReturnValues, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics).done()
}

func typedUpdate(in *dynamodb.UpdateItemInput) (*request, error) {
	q := newTyped("UpdateItem", in.TableName).refuse("AttributeUpdates", in.AttributeUpdates != nil).
		refuse("ConditionalOperator", in.ConditionalOperator != "").refuse("Expected", in.Expected != nil)
	q.update = in.UpdateExpression
	return q.conditional(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure).
		keyed(in.Key).
		returning(in.ReturnValues, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics).done()
}

func typedDelete(in *dynamodb.DeleteItemInput) (*request, error) {
	return newTyped("DeleteItem", in.TableName).refuse("ConditionalOperator", in.ConditionalOperator != "").refuse("Expected", in.Expected != nil).
		conditional(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure).
		keyed(in.Key).
		returning(in.ReturnValues, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics).done()
}

func typedQuery(in *dynamodb.QueryInput) (*request, error) {
	q := newTyped("Query", in.TableName).refuse("AttributesToGet", in.AttributesToGet != nil).refuse("ConditionalOperator", in.ConditionalOperator != "").
		refuse("KeyConditions", in.KeyConditions != nil).refuse("QueryFilter", in.QueryFilter != nil)
	q.keyCondition, q.backwards = in.KeyConditionExpression, in.ScanIndexForward != nil && !*in.ScanIndexForward
	return q.reading(readMembersOf{in.ConsistentRead, in.ExclusiveStartKey, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.FilterExpression,
		in.IndexName, in.Limit, in.ProjectionExpression, in.ReturnConsumedCapacity, in.Select}).done()
}

func typedScan(in *dynamodb.ScanInput) (*request, error) {
	q := newTyped("Scan", in.TableName).refuse("AttributesToGet", in.AttributesToGet != nil).refuse("ConditionalOperator", in.ConditionalOperator != "").
		refuse("ScanFilter", in.ScanFilter != nil)
	q.segment, q.hasSegment = number(in.Segment)
	q.segments, q.hasSegments = number(in.TotalSegments)
	return q.reading(readMembersOf{in.ConsistentRead, in.ExclusiveStartKey, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.FilterExpression,
		in.IndexName, in.Limit, in.ProjectionExpression, in.ReturnConsumedCapacity, in.Select}).done()
}

// readMembersOf are the members that Query and Scan share.
type readMembersOf struct {
	consistent *bool
	start      map[string]types.AttributeValue
	names      map[string]string
	values     map[string]types.AttributeValue
	filter     *string
	index      *string
	limit      *int32
	projection *string
	capacity   types.ReturnConsumedCapacity
	selects    types.Select
}

func (q *typedRequest) reading(m readMembersOf) *typedRequest {
	q.consistent, q.filter, q.projection = isTrue(m.consistent), m.filter, m.projection
	q.returnCapacity, q.selects = string(m.capacity), string(m.selects)
	if m.index != nil {
		q.index = *m.index
	}
	q.limit, q.hasLimit = number(m.limit)
	return q.items(m.start, &q.start, &q.hasStart).names(m.names).values(m.values)
}

func number(n *int32) (int64, bool) {
	if n == nil {
		return 0, false
	}
	return int64(*n), true
}

func typedTransactWrite(in *dynamodb.TransactWriteItemsInput) (*request, error) {
	q := newTyped("TransactWriteItems", nil).metrics(in.ReturnItemCollectionMetrics)
	q.returnCapacity, q.hasParts = string(in.ReturnConsumedCapacity), in.TransactItems != nil
	if in.ClientRequestToken != nil {
		q.token = *in.ClientRequestToken
	}
	for i := range in.TransactItems {
		q.partOf(transactParts(&in.TransactItems[i]), "Put", "Update", "Delete", "ConditionCheck")
	}
	return q.done()
}

func transactParts(in *types.TransactWriteItem) (parts []*typedRequest) {
	if c := in.ConditionCheck; c != nil {
		parts = append(parts, newTyped("ConditionCheck", c.TableName).
			conditional(c.ConditionExpression, c.ExpressionAttributeNames, c.ExpressionAttributeValues, c.ReturnValuesOnConditionCheckFailure).keyed(c.Key))
	}
	if c := in.Delete; c != nil {
		parts = append(parts, newTyped("Delete", c.TableName).
			conditional(c.ConditionExpression, c.ExpressionAttributeNames, c.ExpressionAttributeValues, c.ReturnValuesOnConditionCheckFailure).keyed(c.Key))
	}
	if c := in.Put; c != nil {
		q := newTyped("Put", c.TableName)
		parts = append(parts, q.conditional(c.ConditionExpression, c.ExpressionAttributeNames, c.ExpressionAttributeValues, c.ReturnValuesOnConditionCheckFailure).
			items(c.Item, &q.item, &q.hasItem))
	}
	if c := in.Update; c != nil {
		q := newTyped("Update", c.TableName)
		q.update = c.UpdateExpression
		parts = append(parts, q.conditional(c.ConditionExpression, c.ExpressionAttributeNames, c.ExpressionAttributeValues, c.ReturnValuesOnConditionCheckFailure).
			keyed(c.Key))
	}
	return parts
}

// partOf adds a part of which exactly one form must be given.
func (q *typedRequest) partOf(given []*typedRequest, names ...string) {
	if len(given) != 1 {
		q.fail(notOnePart(q.op, names))
		return
	}
	q.parts = append(q.parts, given[0].request)
	if err := given[0].err; err != nil {
		q.fail(err)
	}
}

func typedTransactGet(in *dynamodb.TransactGetItemsInput) (*request, error) {
	q := newTyped("TransactGetItems", nil)
	q.returnCapacity, q.hasParts = string(in.ReturnConsumedCapacity), in.TransactItems != nil
	for _, one := range in.TransactItems {
		var given []*typedRequest
		if g := one.Get; g != nil {
			part := newTyped("Get", g.TableName).keyed(g.Key).names(g.ExpressionAttributeNames)
			part.projection = g.ProjectionExpression
			given = append(given, part)
		}
		q.partOf(given, "Get")
	}
	return q.done()
}

func typedBatchGet(in *dynamodb.BatchGetItemInput) (*request, error) {
	q := newTyped("BatchGetItem", nil)
	q.returnCapacity, q.hasParts = string(in.ReturnConsumedCapacity), in.RequestItems != nil
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		of := in.RequestItems[table]
		part := newTyped("Keys", &table).refuse("AttributesToGet", of.AttributesToGet != nil).names(of.ExpressionAttributeNames)
		part.projection, part.consistent = of.ProjectionExpression, isTrue(of.ConsistentRead)
		for _, key := range of.Keys {
			one := newTyped("Get", &table).keyed(key)
			one.hasKey = true
			part.parts = append(part.parts, one.request)
			part.fail(one.err)
		}
		q.partOf([]*typedRequest{part})
	}
	return q.done()
}

func typedBatchWrite(in *dynamodb.BatchWriteItemInput) (*request, error) {
	q := newTyped("BatchWriteItem", nil).metrics(in.ReturnItemCollectionMetrics)
	q.returnCapacity, q.hasParts = string(in.ReturnConsumedCapacity), in.RequestItems != nil
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		for _, one := range in.RequestItems[table] {
			var given []*typedRequest
			if one.PutRequest != nil {
				put := newTyped("PutRequest", &table)
				given = append(given, put.items(one.PutRequest.Item, &put.item, &put.hasItem))
			}
			if one.DeleteRequest != nil {
				given = append(given, newTyped("DeleteRequest", &table).keyed(one.DeleteRequest.Key))
			}
			q.partOf(given, "PutRequest", "DeleteRequest")
		}
	}
	return q.done()
}
