package dynamo

import (
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
func (s *Server) parseProjection(q *request) (*expr.Projection, error) {
	if q.projection == nil {
		return nil, nil
	}
	p, err := s.expressions.Projection(*q.projection, &q.scope)
	if err != nil {
		return nil, invalid("Invalid ProjectionExpression: %s", err)
	}
	return p, nil
}

// readProjection checks a request whose only expression is a projection.
func (s *Server) readProjection(q *request) (*expr.Projection, error) {
	if err := q.checkPlaceholders(); err != nil {
		return nil, err
	}
	p, err := s.parseProjection(q)
	if err != nil {
		return nil, err
	}
	if err := q.scope.CheckUsed(); err != nil {
		return nil, err
	}
	return p, q.checkReturns()
}

// find is the kept part of the item; nil when there is no item. size is that of the whole item.
func (g *get) find(tx store.Tx) (found *store.Record, size int, err error) {
	bucket := tx.Bucket(g.table.bucket)
	if bucket == nil {
		return nil, 0, unknownTable()
	}
	r, err := bucket.Item(g.key)
	if r == nil || err != nil {
		return nil, 0, err
	}
	found, err = projected(r, g.projection)
	return found, r.Size(), err
}

// projected is the part of the record to keep, for use after the transaction.
func projected(r *store.Record, keep *expr.Projection) (*store.Record, error) {
	if keep == nil {
		return r.Kept(), nil
	}
	it, err := r.Item()
	if err != nil {
		return nil, err
	}
	return store.OfItem(keep.Of(it), r.Size()), nil
}

func (s *Server) getItem(q *request) (*itemAnswer, error) {
	p, err := s.readProjection(q)
	if err != nil {
		return nil, err
	}
	g, err := s.prepareGet(q, p)
	if err != nil {
		return nil, err
	}
	out := &itemAnswer{member: "Item"}
	var size int
	err = s.store.View(func(tx store.Tx) (err error) {
		out.record, size, err = g.find(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	out.consumed = q.consumed(consumption{table: readUnits(size, q.consistent)})
	return out, nil
}

// transactGet reads several items of one moment.
func (s *Server) transactGet(q *request) (*itemsAnswer, error) {
	if err := q.checkParts("transactItems", transactMax); err != nil {
		return nil, err
	}
	gets := make([]*get, len(q.parts))
	for i, part := range q.parts {
		p, err := s.readProjection(part)
		if err != nil {
			return nil, err
		}
		if gets[i], err = s.prepareGet(part, p); err != nil {
			return nil, err
		}
	}
	out := &itemsAnswer{}
	used := map[string]*consumption{}
	err := s.store.View(func(tx store.Tx) (err error) {
		out.records, err = findAll(tx, gets, used)
		return err
	})
	if err != nil {
		return nil, err
	}
	out.consumed = q.consumedTables(used, "Read")
	return out, nil
}

func findAll(tx store.Tx, gets []*get, used map[string]*consumption) ([]*store.Record, error) {
	records := make([]*store.Record, len(gets))
	total := 0
	for i, g := range gets {
		r, size, err := g.find(tx)
		if err != nil {
			return nil, err
		}
		if total += size; total > transactBytesMax {
			return nil, invalid("The aggregate size of the items in the transaction exceeds %d bytes", transactBytesMax)
		}
		records[i] = r
		at(used, g.table.name).table += readUnits(size, true) * transactionFactor
	}
	return records, nil
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
