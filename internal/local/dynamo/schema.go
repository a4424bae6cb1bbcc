package dynamo

import (
	"encoding/binary"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
)

// Documented limits of keys, in bytes.
const (
	hashKeyBytesMax = 2048
	sortKeyBytesMax = 1024
)

// keyAttr is one key attribute; its kind is S, N or B.
type keyAttr struct {
	name string
	kind attr.Kind
}

// keySchema is the key of a table or an index: a partition key and perhaps a sort key.
type keySchema struct {
	attrs []keyAttr
}

func (k *keySchema) hash() keyAttr { return k.attrs[0] }

func (k *keySchema) has(name string) bool {
	for _, a := range k.attrs {
		if a.name == name {
			return true
		}
	}
	return false
}

// index is one global secondary index.
type index struct {
	name   string
	key    keySchema
	bucket []byte
	// keep is what the index holds of an item; nil is all of it.
	keep *expr.Projection
	// projection is the index's projection type.
	projection string
}

// table is what item operations need to know of a table.
type table struct {
	name    string
	key     keySchema
	bucket  []byte
	indexes []*index
	def     *definition
}

func (t *table) index(name string) *index {
	for _, ix := range t.indexes {
		if ix.name == name {
			return ix
		}
	}
	return nil
}

// appendPlace appends what all keys of one partition begin with: a hash that spreads partitions over segments, the
// length of the partition key, and the partition key.
func appendPlace(dst []byte, hash *attr.Value) []byte {
	begin := len(dst)
	dst = attr.AppendKey(append(dst, make([]byte, hashBytes+lengthBytes)...), hash)
	key := dst[begin+hashBytes+lengthBytes:]
	binary.BigEndian.PutUint32(dst[begin:], mix(fnv1a(key)))
	binary.BigEndian.PutUint16(dst[begin+hashBytes:], uint16(len(key)))
	return dst
}

// Bytes before the partition key in a place.
const (
	hashBytes   = 4
	lengthBytes = 2
)

// fnv1a is the 32-bit FNV-1a hash.
func fnv1a(b []byte) uint32 {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for _, c := range b {
		h = (h ^ uint32(c)) * prime
	}
	return h
}

// mix spreads the last bits of a hash over all others, so that its order says nothing about the keys.
func mix(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// placeBytesGuess is room for the usual position in an index, in bytes.
const placeBytesGuess = 96

// place is the item's position: its partition, then its sort key. ok is false when the item lacks a key attribute.
func (k *keySchema) place(it attr.Item) (key []byte, ok bool) {
	for i, a := range k.attrs {
		v := it.Get(a.name)
		if v == nil || v.Kind != a.kind {
			return nil, false
		}
		if i == 0 {
			key = appendPlace(make([]byte, 0, placeBytesGuess), v)
		} else {
			key = attr.AppendKey(key, v)
		}
	}
	return key, true
}

// entry is the position of the item's entry in the index; ok is false when the item is not in it.
func (ix *index) entry(it attr.Item, base []byte) (key []byte, ok bool) {
	key, ok = ix.key.place(it)
	return append(key, base...), ok
}

// checkKey checks that the attributes are exactly the table's key.
func (t *table) checkKey(key attr.Item) error {
	if len(key) != len(t.key.attrs) {
		return invalid(reasonKeySchema)
	}
	for i, a := range t.key.attrs {
		v := key.Get(a.name)
		if v == nil || v.Kind != a.kind {
			return invalid(reasonKeySchema)
		}
		if err := checkKeyValue(a.name, v, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func checkKeyValue(name string, v *attr.Value, hash bool) error {
	switch {
	case v.Kind == attr.KindNumber:
		return nil
	case v.Text == "" && v.Kind == attr.KindString:
		return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", name)
	case v.Text == "":
		return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty binary value. Key: %s", name)
	case hash && len(v.Text) > hashKeyBytesMax:
		return invalid("%sSize of hashkey has exceeded the maximum size limit of2048 bytes", reasonInvalid)
	case !hash && len(v.Text) > sortKeyBytesMax:
		return invalid("%sAggregated size of all range keys has exceeded the size limit of 1024 bytes", reasonInvalid)
	}
	return nil
}

// checkItem checks the key attributes of a whole item, and those of the indexes it has.
func (t *table) checkItem(it attr.Item) error {
	for i, a := range t.key.attrs {
		v := it.Get(a.name)
		if v == nil {
			return invalid("%sMissing the key %s in the item", reasonInvalid, a.name)
		}
		if v.Kind != a.kind {
			return invalid("%sType mismatch for key %s expected: %s actual: %s", reasonInvalid, a.name, a.kind, v.Kind)
		}
		if err := checkKeyValue(a.name, v, i == 0); err != nil {
			return err
		}
	}
	return t.checkIndexKeys(it)
}

func (t *table) checkIndexKeys(it attr.Item) error {
	for _, ix := range t.indexes {
		for i, a := range ix.key.attrs {
			if err := ix.checkKey(a, it.Get(a.name), i == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (ix *index) checkKey(a keyAttr, v *attr.Value, hash bool) error {
	switch {
	case v == nil:
		return nil
	case v.Kind != a.kind:
		return invalid("%sType mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", reasonInvalid, a.name, a.kind, v.Kind, ix.name)
	case v.Text == "":
		return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s", ix.name, a.name)
	}
	return checkKeyValue(a.name, v, hash)
}

// checkNested refuses paths that go into a key attribute: those are scalars.
func (t *table) checkNested(paths []expr.Path) error {
	for _, p := range paths {
		if len(p) < 2 {
			continue
		}
		if t.key.has(p[0].Name) {
			return invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", p[0].Name)
		}
		for _, ix := range t.indexes {
			if ix.key.has(p[0].Name) {
				return invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: %s", p[0].Name)
			}
		}
	}
	return nil
}
