package store

import (
	"bytes"
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"
)

// fileTx is a transaction of the file.
type fileTx struct{ tx *bbolt.Tx }

// Bucket implements Tx.
func (t fileTx) Bucket(name []byte) Bucket {
	if b := t.tx.Bucket(name); b != nil {
		return fileBucket{b}
	}
	return nil
}

// CreateBucket implements AdminTx.
func (t fileTx) CreateBucket(name []byte) error {
	_, err := t.tx.CreateBucket(name)
	return err
}

// DeleteBucket implements AdminTx.
func (t fileTx) DeleteBucket(name []byte) error { return t.tx.DeleteBucket(name) }

// Apply implements AdminTx.
func (t fileTx) Apply(c Change) error {
	b := t.tx.Bucket(c.Bucket)
	switch {
	case b == nil:
		return bucketGone(c.Bucket)
	case c.Record == nil:
		return b.Delete(c.Key)
	}
	return b.Put(c.Key, c.Record.encode())
}

// itemBytesGuess is room for the usual item, in bytes.
const itemBytesGuess = 1024

// encode is the record as the file has it: an item is its size, then its JSON.
func (r *Record) encode() []byte {
	if r.bytes != nil {
		return r.bytes
	}
	return r.AppendJSON(binary.AppendUvarint(make([]byte, 0, itemBytesGuess), uint64(r.size)))
}

func decode(raw []byte) (*Record, error) {
	size, n := binary.Uvarint(raw)
	if n <= 0 {
		return nil, errors.New("a stored item is damaged; restore the data directory from a copy")
	}
	return &Record{size: int(size), json: raw[n:]}, nil
}

type fileBucket struct{ b *bbolt.Bucket }

// Item implements Bucket.
func (b fileBucket) Item(key []byte) (*Record, error) {
	raw := b.b.Get(key)
	if raw == nil {
		return nil, nil
	}
	return decode(raw)
}

// Bytes implements Bucket.
func (b fileBucket) Bytes(key []byte) []byte { return b.b.Get(key) }

// EachBytes implements Bucket.
func (b fileBucket) EachBytes(visit func(key, value []byte) (bool, error)) error {
	cursor := b.b.Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		if enough, err := visit(key, value); enough || err != nil {
			return err
		}
	}
	return nil
}

// Items implements Bucket.
func (b fileBucket) Items(low, high []byte, backwards bool, visit func(*Record) (bool, error)) error {
	w := walk{b.b.Cursor(), low, high, backwards}
	for key, raw := w.first(); w.inRange(key); key, raw = w.next() {
		r, err := decode(raw)
		if err != nil {
			return err
		}
		if enough, err := visit(r); enough || err != nil {
			return err
		}
	}
	return nil
}

// Measure implements Bucket. It goes through the whole bucket.
func (b fileBucket) Measure() (keys, bytes int64) {
	stats := b.b.Stats()
	return int64(stats.KeyN), int64(stats.LeafInuse)
}

// walk goes through a range of keys, in its direction.
type walk struct {
	cursor    *bbolt.Cursor
	low, high []byte
	backwards bool
}

func (w *walk) first() (key, value []byte) {
	if !w.backwards {
		return w.cursor.Seek(w.low)
	}
	if w.high == nil {
		return w.cursor.Last()
	}
	if key, _ := w.cursor.Seek(w.high); key == nil {
		return w.cursor.Last()
	}
	return w.cursor.Prev()
}

func (w *walk) next() (key, value []byte) {
	if w.backwards {
		return w.cursor.Prev()
	}
	return w.cursor.Next()
}

func (w *walk) inRange(key []byte) bool {
	return key != nil && bytes.Compare(key, w.low) >= 0 && (w.high == nil || bytes.Compare(key, w.high) < 0)
}
