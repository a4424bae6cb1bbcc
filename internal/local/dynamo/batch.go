package dynamo

import (
	"bytes"
	"slices"

	"holdfast/internal/local/dynamo/expr"
	"holdfast/internal/local/dynamo/store"
)

// batchWriteMax is DynamoDB's limit on one BatchWriteItem.
const batchWriteMax = 25

// batchTable is what a BatchGetItem asks of one table, and what it found.
type batchTable struct {
	q    *request
	keys []*request
	gets []*get
	// found are the items that there are.
	found []*store.Record
	// left are the keys that did not fit into the answer.
	left []*request
}

func (s *Server) batchGet(q *request) (*batchAnswer, error) {
	if err := q.checkParts("requestItems", batchGetMax); err != nil {
		return nil, err
	}
	batch, err := s.prepareBatch(q)
	if err != nil {
		return nil, err
	}
	used := map[string]*consumption{}
	if err := s.store.View(func(tx store.Tx) error { return findBatch(tx, batch, used) }); err != nil {
		return nil, err
	}
	return &batchAnswer{batch, q.consumedTables(used, "")}, nil
}

func (s *Server) prepareBatch(q *request) ([]*batchTable, error) {
	var batch []*batchTable
	total := 0
	for _, part := range q.parts {
		p, err := s.readProjection(part)
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

func findBatch(tx store.Tx, batch []*batchTable, used map[string]*consumption) error {
	total := 0
	for _, one := range batch {
		for j, g := range one.gets {
			if total >= batchAnswerMax {
				one.left = append(one.left, one.keys[j])
				continue
			}
			r, size, err := g.find(tx)
			if err != nil {
				return err
			}
			if r != nil {
				one.found = append(one.found, r)
			}
			total += size
			at(used, one.q.table).table += readUnits(size, g.consistent)
		}
	}
	return nil
}

// batchWrite makes up to 25 puts and deletes. Each stands for itself in DynamoDB; here they are in one commit.
func (s *Server) batchWrite(q *request) (*batchWriteAnswer, error) {
	if err := q.checkParts("requestItems", batchWriteMax); err != nil {
		return nil, err
	}
	writes, err := s.prepareAll(q.parts, "Provided list of item keys contains duplicates")
	if err != nil {
		return nil, err
	}
	err = s.commit(writes, func(tx store.Tx) ([]store.Change, error) {
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
	used := map[string]*consumption{}
	for _, w := range writes {
		at(used, w.table.name).add(w.consumed, 1)
	}
	return &batchWriteAnswer{q.consumedTables(used, "")}, nil
}

// prepareAll prepares writes of which no two may meet on one item.
func (s *Server) prepareAll(parts []*request, twice string) ([]*write, error) {
	writes := make([]*write, len(parts))
	for i, part := range parts {
		w, err := s.prepare(part)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(writes[:i], func(other *write) bool { return other.table.name == w.table.name && bytes.Equal(other.key, w.key) }) {
			return nil, invalid("%s", twice)
		}
		writes[i] = w
	}
	return writes, nil
}
