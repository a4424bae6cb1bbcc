package dynamo

import (
	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
	"holdfast/internal/local/dynamo/store"
)

// Documented limits of reads.
const (
	batchGetMax      = 100
	transactMax      = 100
	answerBytesMax   = 1 << 20  // of the items of a page
	batchAnswerMax   = 16 << 20 // of the items of a BatchGetItem
	transactBytesMax = 4 << 20
)

// get is one checked read of one item.
type get struct {
	table      *table
	key        []byte
	projection *expr.Projection
	consistent bool
}

func (s *Server) prepareGet(q *request, projection *expr.Projection) (*get, error) {
	t, err := s.tableOf(q.table)
	if err != nil {
		return nil, err
	}
	if !q.hasKey {
		return nil, missingMember("key")
	}
	if err := t.checkKey(q.key); err != nil {
		return nil, err
	}
	if projection != nil {
		if err := t.checkNested(projection.Paths); err != nil {
			return nil, err
		}
	}
	g := &get{table: t, projection: projection, consistent: q.consistent}
	g.key, _ = t.key.place(q.key)
	return g, nil
}

// parseProjection reads the projection, which may be absent.
func (q *request) parseProjection() (*expr.Projection, error) {
	if q.projection == nil {
		return nil, nil
	}
	p, err := expr.ParseProjection(*q.projection, &q.scope)
	if err != nil {
		return nil, invalid("Invalid ProjectionExpression: %s", err)
	}
	return p, nil
}

// readProjection checks a request whose only expression is a projection.
func (q *request) readProjection() (*expr.Projection, error) {
	if err := q.checkPlaceholders(); err != nil {
		return nil, err
	}
	p, err := q.parseProjection()
	if err != nil {
		return nil, err
	}
	if err := q.scope.CheckUsed(); err != nil {
		return nil, err
	}
	return p, q.checkReturns()
}

// find appends the item, as JSON, to b. size is zero when there is none.
func (g *get) find(tx *store.Tx, b []byte) (out []byte, size int, err error) {
	bucket := tx.Bucket(g.table.bucket)
	if bucket == nil {
		return b, 0, unknownTable()
	}
	raw := bucket.Get(g.key)
	if raw == nil {
		return b, 0, nil
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return b, 0, err
	}
	b, err = r.append(b, g.projection)
	return b, r.size, err
}

// append appends the kept part of the item, as JSON.
func (r record) append(b []byte, keep *expr.Projection) ([]byte, error) {
	if keep == nil {
		return append(b, r.json...), nil
	}
	it, err := r.item()
	if err != nil {
		return b, err
	}
	return attr.AppendItem(b, keep.Of(it)), nil
}

func (s *Server) getItem(q *request) ([]byte, error) {
	p, err := q.readProjection()
	if err != nil {
		return nil, err
	}
	g, err := s.prepareGet(q, p)
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, itemBytesGuess), `{"Item":`...)
	var size int
	err = s.store.View(func(tx *store.Tx) (err error) {
		b, size, err = g.find(tx, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	if size == 0 {
		b = b[:1]
	}
	b = appendConsumed(b, q, consumption{table: readUnits(size, q.consistent)})
	return append(b, '}'), nil
}

// transactGet reads several items of one moment.
func (s *Server) transactGet(q *request) ([]byte, error) {
	if err := q.checkParts("transactItems", transactMax); err != nil {
		return nil, err
	}
	gets := make([]*get, len(q.parts))
	for i, part := range q.parts {
		p, err := part.readProjection()
		if err != nil {
			return nil, err
		}
		if gets[i], err = s.prepareGet(part, p); err != nil {
			return nil, err
		}
	}
	b := []byte(`{"Responses":[`)
	consumed := map[string]*consumption{}
	err := s.store.View(func(tx *store.Tx) (err error) {
		b, err = appendGets(tx, b, gets, consumed)
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(appendConsumedTables(append(b, ']'), q, consumed, "Read"), '}'), nil
}

func appendGets(tx *store.Tx, b []byte, gets []*get, consumed map[string]*consumption) ([]byte, error) {
	total := 0
	for i, g := range gets {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"Item":`...)
		out, size, err := g.find(tx, b)
		if err != nil {
			return nil, err
		}
		if total += size; total > transactBytesMax {
			return nil, invalid("The aggregate size of the items in the transaction exceeds %d bytes", transactBytesMax)
		}
		if size == 0 {
			out = out[:len(out)-len(`"Item":`)]
		}
		b = append(out, '}')
		at(consumed, g.table.name).table += readUnits(size, true) * transactionFactor
	}
	return b, nil
}

func at(all map[string]*consumption, table string) *consumption {
	c := all[table]
	if c == nil {
		c = &consumption{}
		all[table] = c
	}
	return c
}

// checkParts checks the count of a batch's or transaction's parts.
func (q *request) checkParts(member string, most int) error {
	if err := q.checkReturns(); err != nil {
		return err
	}
	switch {
	case !q.hasParts:
		return missingMember(member)
	case len(q.parts) == 0:
		return invalid("1 validation error detected: Value '[]' at '%s' failed to satisfy constraint: Member must have length greater than or equal to 1", member)
	case len(q.parts) > most:
		return invalid("1 validation error detected: Value at '%s' failed to satisfy constraint: Member must have length less than or equal to %d", member, most)
	}
	return nil
}
