package dynamo

import (
	"bytes"
	"strconv"

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
func (s *Server) readPage(p *page) ([]byte, error) {
	if err := s.store.View(p.read); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	if p.q.selects != "COUNT" {
		b = append(append(append(b, `"Items":[`...), p.items...), "],"...)
	}
	b = strconv.AppendInt(append(b, `"Count":`...), int64(p.count), 10)
	b = strconv.AppendInt(append(b, `,"ScannedCount":`...), int64(p.scanned), 10)
	if p.more {
		last, err := p.lastKey()
		if err != nil {
			return nil, err
		}
		b = attr.AppendItem(append(b, `,"LastEvaluatedKey":`...), last)
	}
	var consumed consumption
	units := readUnits(p.size, p.q.consistent)
	if p.index != nil {
		consumed.addIndex(p.index.name, units)
	} else {
		consumed.table = units
	}
	return append(appendConsumed(b, p.q, consumed), '}'), nil
}

// read walks the range until a limit is met.
func (p *page) read(tx *store.Tx) error {
	b := tx.Bucket(p.bucket)
	if b == nil {
		return unknownTable()
	}
	w := walk{cursor: b.Cursor(), page: p}
	for key, raw := w.first(); key != nil; key, raw = w.next() {
		r, err := decodeRecord(raw)
		if err != nil {
			return err
		}
		if err := p.take(r); err != nil {
			return err
		}
		if p.scanned >= p.limit || p.size >= answerBytesMax {
			p.more, p.lastJSON = true, bytes.Clone(r.json)
			return nil
		}
	}
	return nil
}

// take counts the item, and keeps it if the filter does.
func (p *page) take(r record) (err error) {
	p.scanned++
	p.size += r.size
	if p.filter == nil && p.projection == nil {
		p.count++
		p.items = append(p.separated(), r.json...)
		return nil
	}
	it, err := r.item()
	if err != nil {
		return err
	}
	if p.filter.Match(it) {
		p.count++
		p.items = attr.AppendItem(p.separated(), p.projection.Of(it))
	}
	return nil
}

func (p *page) separated() []byte {
	if len(p.items) > 0 {
		return append(p.items, ',')
	}
	return p.items
}

// lastKey is the key attributes of the last item that was read.
func (p *page) lastKey() (attr.Item, error) {
	it, err := attr.ParseItem(p.lastJSON)
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
