package dynamo

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// walk goes through a page's range of keys, in its direction.
type walk struct {
	cursor *bbolt.Cursor
	page   *page
}

func (w *walk) first() (key, value []byte) {
	p := w.page
	if p.backwards {
		return w.inRange(w.before(p.upper()))
	}
	low := p.low
	if p.after != nil {
		low = append(bytes.Clone(p.after), 0) // the first key behind it
	}
	return w.inRange(w.cursor.Seek(low))
}

// upper is the exclusive end that a backwards walk starts from.
func (p *page) upper() []byte {
	if p.after != nil {
		return p.after
	}
	return p.high
}

// before finds the last key less than bound; nil is the end.
func (w *walk) before(bound []byte) (key, value []byte) {
	if bound == nil {
		return w.cursor.Last()
	}
	if key, _ := w.cursor.Seek(bound); key == nil {
		return w.cursor.Last()
	}
	return w.cursor.Prev()
}

func (w *walk) next() (key, value []byte) {
	if w.page.backwards {
		return w.inRange(w.cursor.Prev())
	}
	return w.inRange(w.cursor.Next())
}

func (w *walk) inRange(key, value []byte) ([]byte, []byte) {
	p := w.page
	if key == nil || bytes.Compare(key, p.low) < 0 || p.high != nil && bytes.Compare(key, p.high) >= 0 {
		return nil, nil
	}
	return key, value
}
