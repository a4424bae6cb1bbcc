package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"holdfast/internal/local/dynamo/attr"
)

// Memory is a store that lives as long as the process. Records are shared with whoever reads them. Its marks cost
// nothing but the part of each bucket that is changed after them.
type Memory struct {
	mu      sync.RWMutex
	buckets map[string]*tree
}

// NewMemory makes an empty store.
func NewMemory() *Memory { return &Memory{buckets: map[string]*tree{}} }

var errStream = errors.New("a store in memory has no file to copy; use Mark and Return")

// View implements Store.
func (m *Memory) View(read func(Tx) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return read(memoryTx{m})
}

// Write implements Store.
func (m *Memory) Write(plan Plan) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := memoryTx{m}
	changes, err := plan(tx)
	if err != nil {
		return err
	}
	for i := range changes {
		if err := tx.check(&changes[i]); err != nil {
			return err
		}
	}
	for i := range changes {
		tx.make(&changes[i])
	}
	return nil
}

// Admin implements Store.
func (m *Memory) Admin(change func(AdminTx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.copied()
	err := change(memoryTx{m})
	if err != nil {
		m.buckets = before
	}
	return err
}

// Close implements Store.
func (m *Memory) Close() error { return nil }

// Snapshot implements Store: it is refused, there is no file.
func (m *Memory) Snapshot(io.Writer) error { return errStream }

// Restore implements Store: it is refused, there is no file.
func (m *Memory) Restore(io.Reader) error { return errStream }

// Mark is a state to return to. The zero value is none.
type Mark struct{ buckets map[string]*tree }

// Mark remembers the state as it is, for any number of returns.
func (m *Memory) Mark() Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Mark{m.copied()}
}

// Return makes everything as it was at the mark.
func (m *Memory) Return(to Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.buckets = (&Memory{buckets: to.buckets}).copied()
}

// copied shares every part of every bucket until one of the two changes it.
func (m *Memory) copied() map[string]*tree {
	out := make(map[string]*tree, len(m.buckets))
	for name, t := range m.buckets {
		out[name] = &tree{entries: t.entries.Copy(), bytes: t.bytes}
	}
	return out
}

// memoryTx reads the store, and changes it when the caller holds its lock for writing.
type memoryTx struct{ m *Memory }

// Bucket implements Tx.
func (t memoryTx) Bucket(name []byte) Bucket {
	if b := t.m.buckets[string(name)]; b != nil {
		return b
	}
	return nil
}

// CreateBucket implements AdminTx.
func (t memoryTx) CreateBucket(name []byte) error {
	if t.m.buckets[string(name)] != nil {
		return fmt.Errorf("bucket %q exists already", name)
	}
	t.m.buckets[string(name)] = newTree()
	return nil
}

// DeleteBucket implements AdminTx.
func (t memoryTx) DeleteBucket(name []byte) error {
	if t.m.buckets[string(name)] == nil {
		return bucketGone(name)
	}
	delete(t.m.buckets, string(name))
	return nil
}

// Apply implements AdminTx.
func (t memoryTx) Apply(c Change) error {
	if err := t.check(&c); err != nil {
		return err
	}
	t.make(&c)
	return nil
}

func (t memoryTx) check(c *Change) error {
	switch {
	case t.m.buckets[string(c.Bucket)] == nil:
		return bucketGone(c.Bucket)
	case len(c.Key) == 0:
		return errNoKey
	}
	return nil
}

func bucketGone(name []byte) error {
	return fmt.Errorf("bucket %q is gone: its table was deleted meanwhile", name)
}

func (t memoryTx) make(c *Change) {
	b := t.m.buckets[string(c.Bucket)]
	if c.Record == nil {
		b.delete(c.Key)
		return
	}
	b.put(c.Key, c.Record.packed())
}

// packed is the record as it is kept: its texts stand in one piece of memory and its attributes in another without room to
// grow. Reading an item that was not touched for long waits for memory once for each piece.
func (r *Record) packed() *Record {
	if r.item == nil {
		return r
	}
	n := 0
	for i := range r.item {
		n += len(r.item[i].Value.Text)
	}
	var all strings.Builder
	all.Grow(n)
	for i := range r.item {
		all.WriteString(r.item[i].Value.Text)
	}
	texts, item := all.String(), make(attr.Item, len(r.item))
	copy(item, r.item)
	for i := range item {
		v := &item[i].Value
		v.Text, texts = texts[:len(v.Text)], texts[len(v.Text):]
	}
	return &Record{size: r.size, item: item}
}

// entry is one key with its record. The key's first bytes stand beside it as numbers, so that a search follows the
// pointer to the whole key only where those of two keys are alike: each one followed in a large bucket waits for memory.
type entry struct {
	first  [firstWords]uint64
	key    string
	record *Record
}

// firstWords is how much of a key stands in its entry, in words of 8 bytes: enough for the hash of a partition, a
// partition key of one letter and a time to the millisecond, which is how a list of what is due begins.
const firstWords = 4

func entryOf(key []byte) entry {
	e := entry{key: string(key)}
	var first [firstWords * 8]byte
	copy(first[:], key)
	for i := range e.first {
		e.first[i] = binary.BigEndian.Uint64(first[i*8:])
	}
	return e
}

func less(a, b entry) bool {
	for i := range a.first {
		if a.first[i] != b.first[i] {
			return a.first[i] < b.first[i]
		}
	}
	return a.key < b.key
}

// tree is one bucket.
type tree struct {
	entries *btree.BTreeG[entry]
	bytes   int64
}

func newTree() *tree {
	return &tree{entries: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

func (t *tree) put(key []byte, r *Record) {
	e := entryOf(key)
	e.record = r
	old, _ := t.entries.Set(e)
	t.bytes += int64(r.size - old.record.Size())
}

func (t *tree) delete(key []byte) {
	old, _ := t.entries.Delete(entryOf(key))
	t.bytes -= int64(old.record.Size())
}

// Item implements Bucket.
func (t *tree) Item(key []byte) (*Record, error) {
	e, _ := t.entries.Get(entryOf(key))
	return e.record, nil
}

// Bytes implements Bucket.
func (t *tree) Bytes(key []byte) []byte {
	if e, ok := t.entries.Get(entryOf(key)); ok {
		return e.record.bytes
	}
	return nil
}

// EachBytes implements Bucket.
func (t *tree) EachBytes(visit func(key, value []byte) (bool, error)) (err error) {
	t.entries.Scan(func(e entry) bool {
		var enough bool
		enough, err = visit([]byte(e.key), e.record.bytes)
		return !enough && err == nil
	})
	return err
}

// Items implements Bucket.
func (t *tree) Items(low, high []byte, backwards bool, visit func(*Record) (bool, error)) (err error) {
	from, to := entryOf(low), entryOf(high)
	next := func(e entry) bool {
		var enough bool
		enough, err = visit(e.record)
		return !enough && err == nil
	}
	switch {
	case !backwards:
		t.entries.Ascend(from, func(e entry) bool { return (high == nil || less(e, to)) && next(e) })
	case high == nil:
		t.entries.Reverse(func(e entry) bool { return !less(e, from) && next(e) })
	default:
		t.entries.Descend(to, func(e entry) bool { return !less(e, to) || !less(e, from) && next(e) })
	}
	return err
}

// Measure implements Bucket: the bytes are those of the items by DynamoDB's rules.
func (t *tree) Measure() (keys, bytes int64) { return int64(t.entries.Len()), t.bytes }
