// Package store keeps ordered records in buckets: in one embedded file, or in memory.
//
// It promises that a writer decides on what all earlier writers left, that its changes appear whole or not at all, and
// that Write returns only after they are committed. The file commits concurrent writers together: with sync on the
// disk, without it in the operating system, so that the end of this process loses nothing; without sync a power cut can
// damage the file. Memory keeps nothing beyond the process, and starts no goroutine and waits on no channel.
//
// It never runs anything in the background, and no order it shows depends on anything but the keys.
package store

import (
	"errors"
	"io"

	"holdfast/internal/local/dynamo/attr"
)

// Store is safe for use by several goroutines.
type Store interface {
	// View reads one consistent state.
	View(read func(Tx) error) error
	// Write runs the plan after all earlier ones and commits what it says.
	Write(plan Plan) error
	// Admin changes the buckets themselves, alone. With an error nothing changes.
	Admin(change func(AdminTx) error) error
	// Snapshot writes a consistent copy of everything, for Restore.
	Snapshot(w io.Writer) error
	// Restore replaces everything by a snapshot. Calls in flight end first.
	Restore(r io.Reader) error
	// Close ends the store; it is of no use afterwards.
	Close() error
}

// Tx reads a consistent state of everything.
type Tx interface {
	// Bucket is nil when there is none of the name.
	Bucket(name []byte) Bucket
}

// AdminTx reads and changes everything.
type AdminTx interface {
	Tx
	// CreateBucket makes an empty bucket; one of the name must not exist.
	CreateBucket(name []byte) error
	// DeleteBucket removes a bucket with all it holds.
	DeleteBucket(name []byte) error
	// Apply makes one change.
	Apply(c Change) error
}

// Bucket reads one ordered set of keys, of which each holds an item, or bytes of the server's own. What it gives is
// valid until the function that was given the bucket returns, unless Kept says otherwise.
type Bucket interface {
	// Item is nil when the key is absent.
	Item(key []byte) (*Record, error)
	// Items visits the items from low (inclusive) to high (exclusive; nil is the end), or backwards from high to low,
	// until visit says that it has enough.
	Items(low, high []byte, backwards bool, visit func(*Record) (enough bool, err error)) error
	// Bytes is nil when the key is absent.
	Bytes(key []byte) []byte
	// EachBytes visits all keys of the server's own in order, until visit says that it has enough.
	EachBytes(visit func(key, value []byte) (enough bool, err error)) error
	// Measure counts the keys and about the bytes that they take.
	Measure() (keys, bytes int64)
}

// Change puts a record, or deletes the key when Record is nil.
type Change struct {
	Bucket []byte
	Key    []byte
	Record *Record
}

// Plan reads and says what to change. With an error nothing changes.
type Plan func(Tx) ([]Change, error)

var errNoKey = errors.New("a change names no key")

// Record is what a key holds: an item, or bytes. It is never changed after it was made.
type Record struct {
	size  int
	item  attr.Item
	json  []byte // the item as the wire has it, where it was read from the file
	bytes []byte
}

// OfItem makes a record of an item, of which the caller knows the size by DynamoDB's rules. The item must not be
// changed afterwards.
func OfItem(it attr.Item, size int) *Record { return &Record{item: it, size: size} }

// OfBytes makes a record of bytes that must not be changed afterwards.
func OfBytes(b []byte) *Record { return &Record{bytes: b} }

// Size is the item's size by DynamoDB's rules; 0 for no record.
func (r *Record) Size() int {
	if r == nil {
		return 0
	}
	return r.size
}

// Item is the item; nil for no record. It must not be changed.
func (r *Record) Item() (attr.Item, error) {
	switch {
	case r == nil:
		return nil, nil
	case r.json != nil:
		return attr.ParseItem(r.json)
	}
	return r.item, nil
}

// AppendJSON appends the item as the wire has it.
func (r *Record) AppendJSON(b []byte) []byte {
	if r.json != nil {
		return append(b, r.json...)
	}
	return attr.AppendItem(b, r.item)
}

// Kept is the record for use after the function that was given it has returned.
func (r *Record) Kept() *Record {
	if r == nil || r.json == nil {
		return r
	}
	return &Record{size: r.size, json: append([]byte(nil), r.json...)}
}
