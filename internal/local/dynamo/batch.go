package dynamo

import (
	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
	"holdfast/internal/local/dynamo/store"
)

// batchWriteMax is DynamoDB's limit on one BatchWriteItem.
const batchWriteMax = 25

// batchTable is what a BatchGetItem asks of one table.
type batchTable struct {
	q    *request
	keys []*request
	gets []*get
	// left are the keys that did not fit into the answer.
	left []*request
}

func (s *Server) batchGet(q *request) ([]byte, error) {
	if err := q.checkParts("requestItems", batchGetMax); err != nil {
		return nil, err
	}
	batch, err := s.prepareBatch(q)
	if err != nil {
		return nil, err
	}
	b := []byte(`{"Responses":{`)
	consumed := map[string]*consumption{}
	err = s.store.View(func(tx *store.Tx) (err error) {
		b, err = appendBatch(tx, b, batch, consumed)
		return err
	})
	if err != nil {
		return nil, err
	}
	b = appendLeft(append(b, `},"UnprocessedKeys":{`...), batch)
	return append(appendConsumedTables(append(b, '}'), q, consumed, ""), '}'), nil
}

func (s *Server) prepareBatch(q *request) ([]*batchTable, error) {
	var batch []*batchTable
	total := 0
	for _, part := range q.parts {
		p, err := part.readProjection()
		if err != nil {
			return nil, err
		}
		one := &batchTable{q: part, keys: part.parts}
		if total += len(one.keys); total > batchGetMax {
			return nil, invalid("Too many items requested for the BatchGetItem call")
		}
		if err := s.prepareBatchTable(one, p); err != nil {
			return nil, err
		}
		batch = append(batch, one)
	}
	return batch, nil
}

func (s *Server) prepareBatchTable(one *batchTable, p *expr.Projection) error {
	if len(one.keys) == 0 {
		return invalid("1 validation error detected: Value '[]' at 'requestItems.%s.member.keys' failed to satisfy constraint: Member must have length greater than or equal to 1", one.q.table)
	}
	seen := map[string]bool{}
	for _, k := range one.keys {
		k.consistent = one.q.consistent
		g, err := s.prepareGet(k, p)
		if err != nil {
			return err
		}
		if seen[string(g.key)] {
			return invalid("Provided list of item keys contains duplicates")
		}
		seen[string(g.key)] = true
		one.gets = append(one.gets, g)
	}
	return nil
}

func appendBatch(tx *store.Tx, b []byte, batch []*batchTable, consumed map[string]*consumption) ([]byte, error) {
	total := 0
	for i, one := range batch {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(attr.AppendText(b, one.q.table), `:[`...)
		for j, g := range one.gets {
			if total >= batchAnswerMax {
				one.left = append(one.left, one.keys[j])
				continue
			}
			before := len(b)
			if b[before-1] == '}' {
				b = append(b, ',')
			}
			out, size, err := g.find(tx, b)
			if err != nil {
				return nil, err
			}
			if b = out; size == 0 {
				b = b[:before]
			}
			total += size
			at(consumed, one.q.table).table += readUnits(size, g.consistent)
		}
		b = append(b, ']')
	}
	return b, nil
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

// batchWrite makes up to 25 puts and deletes. Each stands for itself in DynamoDB; here they are in one commit.
func (s *Server) batchWrite(q *request) ([]byte, error) {
	if err := q.checkParts("requestItems", batchWriteMax); err != nil {
		return nil, err
	}
	writes, err := s.prepareAll(q.parts, "Provided list of item keys contains duplicates")
	if err != nil {
		return nil, err
	}
	err = s.store.Write(func(tx *store.Tx) ([]store.Change, error) {
		var changes []store.Change
		for _, w := range writes {
			more, err := w.decide(tx)
			if err != nil {
				return nil, err
			}
			changes = append(changes, more...)
		}
		return changes, nil
	})
	if err != nil {
		return nil, err
	}
	consumed := map[string]*consumption{}
	for _, w := range writes {
		at(consumed, w.table.name).add(w.consumed, 1)
	}
	b := appendConsumedTables([]byte(`{"UnprocessedItems":{}`), q, consumed, "")
	return append(b, '}'), nil
}

// prepareAll prepares writes of which no two may meet on one item.
func (s *Server) prepareAll(parts []*request, twice string) ([]*write, error) {
	writes := make([]*write, len(parts))
	seen := map[string]bool{}
	for i, part := range parts {
		w, err := s.prepare(part)
		if err != nil {
			return nil, err
		}
		id := w.table.name + "/" + string(w.key)
		if seen[id] {
			return nil, invalid("%s", twice)
		}
		seen[id] = true
		writes[i] = w
	}
	return writes, nil
}
