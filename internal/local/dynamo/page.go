package dynamo

import (
	"bytes"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/store"
)

const reasonStart = "The provided starting key is invalid"

// startKey is the key the page starts after.
func (p *page) startKey() ([]byte, error) {
	start := p.q.start
	want := len(p.table.key.attrs)
	key := attr.Item{}
	for _, a := range p.table.key.attrs {
		if v := start.Get(a.name); v != nil {
			key = append(key, attr.Field{Name: a.name, Value: *v})
		}
	}
	if p.index != nil {
		for _, a := range p.index.key.attrs {
			if v := start.Get(a.name); v == nil || v.Kind != a.kind {
				return nil, invalid(reasonStart)
			}
			if !p.table.key.has(a.name) {
				want++
			}
		}
	}
	if len(start) != want {
		return nil, invalid("%s", p.startReason())
	}
	if err := p.table.checkKey(key); err != nil {
		return nil, invalid("%s: %s", reasonStart, asRefusal(err).message)
	}
	base, _ := p.table.key.place(key)
	if p.index == nil {
		return base, nil
	}
	entry, _ := p.index.entry(start, base)
	return entry, nil
}

func (p *page) startReason() string {
	if p.index != nil || p.q.op == "Query" {
		return reasonStart
	}
	return reasonStart + ": " + reasonKeySchema
}

func (p *page) startQuery() (err error) {
	if p.after, err = p.startKey(); err != nil {
		return err
	}
	if bytes.Compare(p.after, p.low) < 0 || p.high != nil && bytes.Compare(p.after, p.high) >= 0 {
		return invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	return nil
}

// readPage reads the page and answers.
func (s *Server) readPage(p *page) (*pageAnswer, error) {
	if err := s.store.View(p.read); err != nil {
		return nil, err
	}
	out := &pageAnswer{items: p.items, countOnly: p.q.selects == "COUNT", count: p.count, scanned: p.scanned}
	if p.last != nil {
		var err error
		if out.last, err = p.lastKey(); err != nil {
			return nil, err
		}
	}
	var used consumption
	units := readUnits(p.size, p.q.consistent)
	if p.index != nil {
		used.addIndex(p.index.name, units)
	} else {
		used.table = units
	}
	out.consumed = p.q.consumed(used)
	return out, nil
}

// read walks the range until a limit is met.
func (p *page) read(tx store.Tx) error {
	b := tx.Bucket(p.bucket)
	if b == nil {
		return unknownTable()
	}
	low, high := p.low, p.high
	switch {
	case p.after == nil:
	case p.backwards:
		high = p.after
	default:
		low = append(bytes.Clone(p.after), 0) // the first key behind it
	}
	return b.Items(low, high, p.backwards, p.take)
}

// take counts the item, and keeps it if the filter does.
func (p *page) take(r *store.Record) (enough bool, err error) {
	p.scanned++
	p.size += r.Size()
	if err := p.keep(r); err != nil {
		return false, err
	}
	if p.scanned >= p.limit || p.size >= answerBytesMax {
		p.last = r.Kept()
	}
	return p.last != nil, nil
}

func (p *page) keep(r *store.Record) error {
	if p.filter != nil {
		it, err := r.Item()
		if err != nil || !p.filter.Match(it, &p.q.scope) {
			return err
		}
	}
	p.count++
	if p.q.selects == "COUNT" {
		return nil
	}
	kept, err := projected(r, p.projection)
	p.items = append(p.items, kept)
	return err
}

// lastKey is the key attributes of the last item that was read.
func (p *page) lastKey() (attr.Item, error) {
	it, err := p.last.Item()
	if err != nil {
		return nil, err
	}
	var key attr.Item
	for _, f := range it {
		if p.table.key.has(f.Name) || p.index != nil && p.index.key.has(f.Name) {
			key = append(key, f)
		}
	}
	return key, nil
}
