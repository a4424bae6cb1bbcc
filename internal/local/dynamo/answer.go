package dynamo

import (
	"encoding/json"
	"strconv"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/store"
)

// answer is what an operation answers with, before it takes the form of the wire or of the SDK.
type answer interface {
	// body is the answer as the wire has it.
	body() ([]byte, error)
}

// answerBytesGuess is room for the usual answer, in bytes.
const answerBytesGuess = 1024

func object() []byte { return append(make([]byte, 0, answerBytesGuess), '{') }

// itemAnswer is the answer of calls at one item. record is nil for none.
type itemAnswer struct {
	member   string
	record   *store.Record
	consumed *consumed
}

func (a *itemAnswer) body() ([]byte, error) {
	b := object()
	if a.record != nil {
		b = append(attr.AppendText(b, a.member), ':')
		b = a.record.AppendJSON(b)
	}
	return append(appendConsumed(b, a.consumed), '}'), nil
}

// itemsAnswer is the answer of TransactGetItems; records that are nil were not there.
type itemsAnswer struct {
	records  []*store.Record
	consumed []consumed
}

func (a *itemsAnswer) body() ([]byte, error) {
	b := append(object(), `"Responses":[`...)
	for i, r := range a.records {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		if r != nil {
			b = r.AppendJSON(append(b, `"Item":`...))
		}
		b = append(b, '}')
	}
	return append(appendConsumedTables(append(b, ']'), a.consumed), '}'), nil
}

// pageAnswer is the answer of Query and Scan; last is nil after the last page.
type pageAnswer struct {
	items          []*store.Record
	countOnly      bool
	count, scanned int
	last           attr.Item
	consumed       *consumed
}

func (a *pageAnswer) body() ([]byte, error) {
	b := object()
	if !a.countOnly {
		b = append(appendRecords(append(b, `"Items":[`...), a.items), "],"...)
	}
	b = strconv.AppendInt(append(b, `"Count":`...), int64(a.count), 10)
	b = strconv.AppendInt(append(b, `,"ScannedCount":`...), int64(a.scanned), 10)
	if a.last != nil {
		b = attr.AppendItem(append(b, `,"LastEvaluatedKey":`...), a.last)
	}
	return append(appendConsumed(b, a.consumed), '}'), nil
}

func appendRecords(b []byte, records []*store.Record) []byte {
	for i, r := range records {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.AppendJSON(b)
	}
	return b
}

// transactAnswer is the answer of TransactWriteItems.
type transactAnswer struct{ consumed []consumed }

func (a *transactAnswer) body() ([]byte, error) {
	return append(appendConsumedTables(object(), a.consumed), '}'), nil
}

// batchWriteAnswer is the answer of BatchWriteItem.
type batchWriteAnswer struct{ consumed []consumed }

func (a *batchWriteAnswer) body() ([]byte, error) {
	b := append(object(), `"UnprocessedItems":{}`...)
	return append(appendConsumedTables(b, a.consumed), '}'), nil
}

// batchAnswer is the answer of BatchGetItem.
type batchAnswer struct {
	tables   []*batchTable
	consumed []consumed
}

func (a *batchAnswer) body() ([]byte, error) {
	b := append(object(), `"Responses":{`...)
	for i, one := range a.tables {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(attr.AppendText(b, one.q.table), `:[`...)
		b = append(appendRecords(b, one.found), ']')
	}
	b = appendLeft(append(b, `},"UnprocessedKeys":{`...), a.tables)
	return append(appendConsumedTables(append(b, '}'), a.consumed), '}'), nil
}

func appendLeft(b []byte, batch []*batchTable) []byte {
	for _, one := range batch {
		if len(one.left) == 0 {
			continue
		}
		b = append(attr.AppendText(appendComma(b), one.q.table), `:{"Keys":[`...)
		for i, k := range one.left {
			if i > 0 {
				b = append(b, ',')
			}
			b = attr.AppendItem(b, k.key)
		}
		b = append(b, ']')
		if one.q.consistent {
			b = append(b, `,"ConsistentRead":true`...)
		}
		if one.q.projection != nil {
			b = attr.AppendText(append(b, `,"ProjectionExpression":`...), *one.q.projection)
			b = appendNames(b, one.q)
		}
		b = append(b, '}')
	}
	return b
}

func appendNames(b []byte, q *request) []byte {
	if !q.hasNames {
		return b
	}
	b = append(b, `,"ExpressionAttributeNames":{`...)
	for i, n := range q.scope.Names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(attr.AppendText(b, n.Key), ':')
		b = attr.AppendText(b, n.Name)
	}
	return append(b, '}')
}

// tableAnswer describes a table under the given member name.
type tableAnswer struct {
	member string
	table  *tableDescription
}

func (a *tableAnswer) body() ([]byte, error) {
	return json.Marshal(map[string]*tableDescription{a.member: a.table})
}

// listAnswer is the answer of ListTables; last is empty after the last page.
type listAnswer struct {
	names []string
	last  string
}

func (a *listAnswer) body() ([]byte, error) {
	b := append(object(), `"TableNames":[`...)
	for i, name := range a.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = attr.AppendText(b, name)
	}
	b = append(b, ']')
	if a.last != "" {
		b = attr.AppendText(append(b, `,"LastEvaluatedTableName":`...), a.last)
	}
	return append(b, '}'), nil
}

// ttlAnswer is the answer of UpdateTimeToLive.
type ttlAnswer struct {
	attribute string
	enabled   bool
}

func (a *ttlAnswer) body() ([]byte, error) {
	b := attr.AppendText(append(object(), `"TimeToLiveSpecification":{"AttributeName":`...), a.attribute)
	return append(strconv.AppendBool(append(b, `,"Enabled":`...), a.enabled), "}}"...), nil
}

// ttlState is the answer of DescribeTimeToLive; without an attribute it is disabled.
type ttlState struct{ attribute string }

func (a *ttlState) body() ([]byte, error) {
	if a.attribute == "" {
		return []byte(`{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`), nil
	}
	b := attr.AppendText(append(object(), `"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":`...), a.attribute)
	return append(b, "}}"...), nil
}
