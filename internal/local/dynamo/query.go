package dynamo

import (
	"bytes"
	"math"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
	"holdfast/internal/local/dynamo/store"
)

// page is one checked Query or Scan: a range of keys in a table or an index, and what to keep of it.
type page struct {
	q          *request
	table      *table
	index      *index // nil for the table itself
	bucket     []byte
	low, high  []byte // the range: low inclusive, high exclusive (nil is the end)
	after      []byte // the key the page starts after; nil for the start
	limit      int
	backwards  bool
	filter     *expr.Condition
	projection *expr.Projection

	items          []*store.Record
	count, scanned int
	size           int
	last           *store.Record // where a limit ended the page; nil when the range ended
}

func (s *Server) preparePage(q *request) (*page, error) {
	t, err := s.tableOf(q.table)
	if err != nil {
		return nil, err
	}
	p := &page{q: q, table: t, bucket: t.bucket, limit: math.MaxInt, backwards: q.backwards}
	if q.index != "" {
		if p.index = t.index(q.index); p.index == nil {
			return nil, invalid("The table does not have the specified index: %s", q.index)
		}
		if q.consistent {
			return nil, invalid("Consistent reads are not supported on global secondary indexes")
		}
		p.bucket = p.index.bucket
	}
	if q.hasLimit {
		if q.limit < 1 {
			return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", q.limit)
		}
		p.limit = int(min(q.limit, math.MaxInt32))
	}
	if err := q.checkReturns(); err != nil {
		return nil, err
	}
	return p, p.checkSelect()
}

func (p *page) checkSelect() error {
	q := p.q
	if err := oneOf("select", q.selects, "SPECIFIC_ATTRIBUTES COUNT ALL_ATTRIBUTES ALL_PROJECTED_ATTRIBUTES"); err != nil {
		return err
	}
	switch {
	case q.projection != nil && q.selects != "" && q.selects != "SPECIFIC_ATTRIBUTES":
		return invalid("Cannot specify the ProjectionExpression when choosing to get %s", q.selects)
	case q.projection == nil && q.selects == "SPECIFIC_ATTRIBUTES":
		return invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case p.index == nil && q.selects == "ALL_PROJECTED_ATTRIBUTES":
		return invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case p.index != nil && q.selects == "ALL_ATTRIBUTES" && p.index.projection != "ALL":
		return invalid("%sSelect type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", reasonInvalid, p.index.name)
	}
	return nil
}

func (p *page) key() *keySchema {
	if p.index != nil {
		return &p.index.key
	}
	return &p.table.key
}

// parse reads filter and projection.
func (s *Server) parsePage(p *page) (err error) {
	q := p.q
	if q.filter != nil {
		if p.filter, err = s.expressions.Condition(*q.filter, &q.scope); err != nil {
			return invalid("Invalid FilterExpression: %s", err)
		}
	}
	if p.projection, err = s.parseProjection(q); err != nil {
		return err
	}
	if err := q.scope.CheckUsed(); err != nil {
		return err
	}
	if err := p.table.checkNested(p.filter.Paths()); err != nil {
		return err
	}
	if p.projection == nil {
		return nil
	}
	if err := p.table.checkNested(p.projection.Paths); err != nil {
		return err
	}
	return p.checkProjected()
}

// checkProjected refuses to ask an index for what it does not hold.
func (p *page) checkProjected() error {
	if p.index == nil || p.index.keep == nil {
		return nil
	}
	for _, path := range p.projection.Paths {
		if !p.index.holds(path[0].Name) {
			return invalid("%sGlobal secondary index %s does not project [%s]", reasonInvalid, p.index.name, path[0].Name)
		}
	}
	return nil
}

func (ix *index) holds(name string) bool {
	for _, kept := range ix.keep.Paths {
		if kept[0].Name == name {
			return true
		}
	}
	return false
}

func (s *Server) query(q *request) (*pageAnswer, error) {
	p, err := s.preparePage(q)
	if err != nil {
		return nil, err
	}
	if q.keyCondition == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	if err := q.checkPlaceholders(); err != nil {
		return nil, err
	}
	condition, err := s.expressions.Condition(*q.keyCondition, &q.scope)
	if err != nil {
		return nil, invalid("Invalid KeyConditionExpression: %s", err)
	}
	terms, err := condition.KeyTerms(&q.scope)
	if err != nil {
		return nil, err
	}
	if err := s.parsePage(p); err != nil {
		return nil, err
	}
	if err := p.bounds(terms); err != nil {
		return nil, err
	}
	for _, path := range p.filter.Paths() {
		if p.key().has(path[0].Name) {
			return nil, invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", path[0].Name)
		}
	}
	if q.hasStart {
		if err := p.startQuery(); err != nil {
			return nil, err
		}
	}
	return s.readPage(p)
}

// bounds turns the key condition into a range of keys.
func (p *page) bounds(terms []expr.KeyTerm) error {
	key := p.key()
	hash, ok := termOf(terms, key.hash().name)
	if !ok {
		return invalid("Query condition missed key schema element: %s", key.hash().name)
	}
	if err := checkTerm(key.hash(), hash, true); err != nil {
		return err
	}
	if hash.Op != "=" {
		return invalid("Query key condition not supported")
	}
	p.low = appendPlace(nil, hash.Values[0])
	p.high = after(p.low)
	if len(terms) == 1 {
		return nil
	}
	if len(key.attrs) == 1 {
		return invalid("Query key condition not supported")
	}
	sort, ok := termOf(terms, key.attrs[1].name)
	if !ok {
		return invalid("Query condition missed key schema element: %s", key.attrs[1].name)
	}
	if err := checkTerm(key.attrs[1], sort, false); err != nil {
		return err
	}
	p.narrow(sort)
	return nil
}

func termOf(terms []expr.KeyTerm, name string) (expr.KeyTerm, bool) {
	for _, term := range terms {
		if term.Name == name {
			return term, true
		}
	}
	return expr.KeyTerm{}, false
}

func checkTerm(a keyAttr, term expr.KeyTerm, hash bool) error {
	for _, v := range term.Values {
		if v.Kind != a.kind {
			return invalid("%sCondition parameter type does not match schema type", reasonInvalid)
		}
		if term.Op == "begins_with" {
			if v.Kind == attr.KindNumber {
				return invalid("Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
			}
			continue
		}
		if err := checkKeyValue(a.name, v, hash); err != nil {
			return err
		}
	}
	return nil
}

// narrow applies the sort key's term to the partition's range.
func (p *page) narrow(term expr.KeyTerm) {
	exact := func(i int) []byte { return attr.AppendKey(bytes.Clone(p.low), term.Values[i]) }
	switch term.Op {
	case "=":
		p.low = exact(0)
		p.high = after(p.low)
	case "<":
		p.high = exact(0)
	case "<=":
		p.high = after(exact(0))
	case ">":
		p.low = after(exact(0))
	case ">=":
		p.low = exact(0)
	case "BETWEEN":
		p.low, p.high = exact(0), after(exact(1))
	case "begins_with":
		p.low = attr.AppendKeyPrefix(bytes.Clone(p.low), term.Values[0])
		p.high = after(p.low)
	}
}

// after is the first key behind all keys that begin with prefix; nil when there is none.
func after(prefix []byte) []byte {
	out := bytes.Clone(prefix)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i]++; out[i] != 0 {
			return out[:i+1]
		}
	}
	return nil
}
