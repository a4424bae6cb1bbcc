package dynamo

import (
	"bytes"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
	"holdfast/internal/local/dynamo/store"
)

// itemBytesMax is DynamoDB's limit on an item: names and values, UTF-8.
const itemBytesMax = 400 * 1024

// write is one checked change of one item, ready to be decided inside a commit.
type write struct {
	q         *request
	table     *table
	key       []byte // place in the table
	condition *expr.Condition
	update    *expr.Update
	checkOnly bool

	// watched says that somebody is told of the old item.
	watched bool

	// What the decision found and did.
	old      *store.Record // nil when there was none
	oldItem  attr.Item
	item     attr.Item // nil after a delete
	size     int       // of item
	record   *store.Record
	consumed consumption
}

// prepare checks all of a write that needs no stored item.
func (s *Server) prepare(q *request) (*write, error) {
	t, err := s.tableOf(q.table)
	if err != nil {
		return nil, err
	}
	w := &write{q: q, table: t, checkOnly: q.op == "ConditionCheck", watched: s.options.OnWrite != nil}
	if err := w.parse(s.expressions); err != nil {
		return nil, err
	}
	if q.op == "PutItem" || q.op == "Put" || q.op == "PutRequest" {
		return w, w.preparePut()
	}
	return w, w.prepareKey()
}

func (w *write) preparePut() error {
	if !w.q.hasItem {
		return missingMember("item")
	}
	if err := w.table.checkItem(w.q.item); err != nil {
		return err
	}
	if w.size = w.q.item.Size(); w.size > itemBytesMax {
		return invalid(reasonItemSize)
	}
	w.item = w.q.item
	w.key, _ = w.table.key.place(w.q.item)
	return nil
}

func (w *write) prepareKey() error {
	if !w.q.hasKey {
		return missingMember("key")
	}
	if err := w.table.checkKey(w.q.key); err != nil {
		return err
	}
	w.key, _ = w.table.key.place(w.q.key)
	return nil
}

func missingMember(name string) error {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", name)
}

// parse reads the write's expressions.
func (w *write) parse(cache *expr.Cache) (err error) {
	q := w.q
	if err := q.checkPlaceholders(); err != nil {
		return err
	}
	if q.update != nil {
		if w.update, err = cache.Update(*q.update, &q.scope); err != nil {
			return invalid("Invalid UpdateExpression: %s", err)
		}
	}
	if q.condition != nil {
		if w.condition, err = cache.Condition(*q.condition, &q.scope); err != nil {
			return invalid("Invalid ConditionExpression: %s", err)
		}
	}
	if err := q.scope.CheckUsed(); err != nil {
		return err
	}
	if err := q.checkReturns(); err != nil {
		return err
	}
	return w.checkPaths()
}

func (w *write) checkPaths() error {
	if err := w.table.checkNested(w.condition.Paths()); err != nil {
		return err
	}
	if w.update == nil {
		return nil
	}
	for _, p := range w.update.Paths {
		if w.table.key.has(p[0].Name) {
			return invalid("%sCannot update attribute %s. This attribute is part of the key", reasonInvalid, p[0].Name)
		}
	}
	if err := w.table.checkNested(w.update.Paths); err != nil {
		return err
	}
	return w.table.checkNested(w.update.ReadPaths())
}

// decide reads the stored item, checks the condition, and says what to change.
func (w *write) decide(tx store.Tx) ([]store.Change, error) {
	b := tx.Bucket(w.table.bucket)
	if b == nil {
		return nil, unknownTable()
	}
	if err := w.load(b); err != nil {
		return nil, err
	}
	if !w.condition.Match(w.oldItem, &w.q.scope) {
		return nil, w.conditionFailed()
	}
	if w.checkOnly {
		w.consumed.table = unitsOf(w.old.Size(), writeUnitBytes)
		return nil, nil
	}
	if err := w.makeItem(); err != nil {
		return nil, err
	}
	return w.changes(), nil
}

func (w *write) load(b store.Bucket) error {
	old, err := b.Item(w.key)
	if old == nil || err != nil {
		return err
	}
	w.old = old.Kept()
	if w.condition == nil && w.update == nil && len(w.table.indexes) == 0 && w.q.returnValues == "" && !w.watched {
		return nil
	}
	w.oldItem, err = w.old.Item()
	return err
}

func (w *write) conditionFailed() error {
	e := refuse("ConditionalCheckFailedException", reasonCondition)
	if w.q.returnOnFailure == "ALL_OLD" {
		e.item = w.old
	}
	return e
}

// makeItem computes the item as it will be; a delete leaves none.
func (w *write) makeItem() error {
	switch w.q.op {
	case "UpdateItem", "Update":
	default:
		return nil // a put has its item already, a delete has none
	}
	base := w.oldItem
	if base == nil {
		base = w.q.key
	}
	w.item = base
	if w.update != nil {
		item, err := w.update.Apply(base, &w.q.scope)
		if err != nil {
			return err
		}
		w.item = item
	}
	if err := w.checkUpdatedKeys(); err != nil {
		return err
	}
	if w.size = w.item.Size(); w.size > itemBytesMax {
		return invalid(reasonUpdate)
	}
	return nil
}

func (w *write) checkUpdatedKeys() error {
	for _, ix := range w.table.indexes {
		for i, a := range ix.key.attrs {
			v := w.item.Get(a.name)
			if v != nil && v.Kind != a.kind {
				return invalid("The update expression attempted to update the secondary index key to unsupported type")
			}
			if err := ix.checkKey(a, v, i == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// changes are the puts and deletes in the table and its indexes.
func (w *write) changes() []store.Change {
	changes := make([]store.Change, 0, 1+2*len(w.table.indexes))
	switch {
	case w.item != nil:
		w.record = store.OfItem(w.item, w.size)
		changes = append(changes, store.Change{Bucket: w.table.bucket, Key: w.key, Record: w.record})
	case w.old != nil:
		changes = append(changes, store.Change{Bucket: w.table.bucket, Key: w.key})
	}
	w.consumed.table = unitsOf(max(w.size, w.old.Size()), writeUnitBytes)
	for _, ix := range w.table.indexes {
		changes = w.indexChanges(changes, ix)
	}
	return changes
}

// indexChanges keeps one index in step: an entry that stays as it is costs nothing.
func (w *write) indexChanges(changes []store.Change, ix *index) []store.Change {
	if ix.unchanged(w.oldItem, w.item) {
		return changes
	}
	var was, now []byte
	var before, after attr.Item
	if key, ok := ix.entry(w.oldItem, w.key); ok {
		was, before = key, ix.keep.Of(w.oldItem)
	}
	if key, ok := ix.entry(w.item, w.key); ok {
		now, after = key, ix.keep.Of(w.item)
	}
	moved := !bytes.Equal(was, now)
	if was != nil && moved {
		changes = append(changes, store.Change{Bucket: ix.bucket, Key: was})
		w.consumed.addIndex(ix.name, unitsOf(before.Size(), writeUnitBytes))
	}
	if now != nil && (moved || !sameItem(before, after)) {
		size := after.Size()
		changes = append(changes, store.Change{Bucket: ix.bucket, Key: now, Record: store.OfItem(after, size)})
		w.consumed.addIndex(ix.name, unitsOf(max(before.Size(), size), writeUnitBytes))
	}
	return changes
}

// unchanged says that an item's entry stays as it is, without making one. An index that holds everything is not
// looked through: hardly a write leaves all as it was.
func (ix *index) unchanged(old, now attr.Item) bool {
	if ix.keep == nil || old == nil || now == nil {
		return false
	}
	for _, path := range ix.keep.Paths { // whole attributes, those of the keys among them
		a, b := old.Get(path[0].Name), now.Get(path[0].Name)
		if (a == nil) != (b == nil) || a != nil && !attr.Equal(a, b) {
			return false
		}
	}
	return true
}

func sameItem(a, b attr.Item) bool {
	return attr.Equal(&attr.Value{Kind: attr.KindMap, Map: a}, &attr.Value{Kind: attr.KindMap, Map: b})
}

// commit makes the decision after all earlier writes, and tells OnWrite of what it changes.
func (s *Server) commit(writes []*write, decide store.Plan) error {
	if s.options.OnWrite == nil {
		return s.store.Write(decide)
	}
	return s.store.Write(func(tx store.Tx) ([]store.Change, error) {
		changes, err := decide(tx)
		if err != nil || len(changes) == 0 {
			return changes, err
		}
		for _, w := range writes {
			if !w.checkOnly && (w.item != nil || w.old != nil) {
				s.options.OnWrite(w.table.name, w.oldItem, w.item)
			}
		}
		return changes, nil
	})
}

// writeItem is PutItem, UpdateItem and DeleteItem.
func (s *Server) writeItem(q *request) (*itemAnswer, error) {
	w, err := s.prepare(q)
	if err != nil {
		return nil, err
	}
	if err := s.commit([]*write{w}, w.decide); err != nil {
		return nil, err
	}
	return &itemAnswer{member: "Attributes", record: w.returned(), consumed: q.consumed(w.consumed)}, nil
}

// returned is what ReturnValues asks for; nil for nothing.
func (w *write) returned() *store.Record {
	switch w.q.returnValues {
	case "ALL_OLD":
		return w.old
	case "ALL_NEW":
		return w.record
	case "UPDATED_OLD":
		return w.updated(w.oldItem)
	case "UPDATED_NEW":
		return w.updated(w.item)
	}
	return nil
}

func (w *write) updated(it attr.Item) *store.Record {
	if w.update == nil {
		return nil
	}
	part := expr.NewProjection(w.update.Paths).Of(it)
	if len(part) == 0 {
		return nil
	}
	return store.OfItem(part, 0)
}
