package simtarget

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is one thing a target keeps.
type record struct {
	id       string
	doc      map[string]any
	at       time.Time
	archived bool
	foreign  bool
}

// collection keeps records in the order of their making and finds them by the scalars that its target looks at.
type collection struct {
	kind    string // of its ids
	places  []place
	records []*record
	index   map[held][]*record
}

// held is a value that records hold at a pointer, letter case apart.
type held struct{ at, text string }

func newCollection(spec *Spec, name string) *collection {
	return &collection{kind: spec.Collections[name].ID, places: spec.places[name], index: map[held][]*record{}}
}

// insert keeps a new record under a new id; the document is the record's from now on.
func (c *collection) insert(doc map[string]any, at time.Time, rng *rand.Rand) *record {
	r := c.named(doc, at, rng)
	c.records = append(c.records, r)
	c.reindex(r)
	return r
}

// draft makes a record without keeping it.
func (c *collection) draft(doc map[string]any, at time.Time, rng *rand.Rand) *record {
	return c.named(maps.Clone(doc), at, rng)
}

func (c *collection) named(doc map[string]any, at time.Time, rng *rand.Rand) *record {
	r := &record{id: newID(c.kind, rng), doc: doc, at: at}
	r.doc["id"] = r.id
	return r
}

// update merges a document into a record, one level of mappings deep, as an upsert of properties does.
func (c *collection) update(r *record, doc map[string]any) {
	for name, v := range doc {
		old, isMap := r.doc[name].(map[string]any)
		if sub, ok := v.(map[string]any); ok && isMap {
			merged := maps.Clone(old)
			maps.Copy(merged, sub)
			v = merged
		}
		r.doc[name] = v
	}
	c.reindex(r)
}

// reindex adds the record under what it holds now; entries that no longer hold are passed over by find.
func (c *collection) reindex(r *record) {
	for _, p := range c.places {
		v, _ := descend(r.doc, p.steps)
		leaves(v, p.at, func(at, text string) {
			if len(text) <= indexedValueBytes {
				key := held{at, strings.ToLower(text)}
				c.index[key] = append(c.index[key], r)
			}
		})
	}
}

func leaves(v any, at string, visit func(at, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, sub := range v {
			leaves(sub, at+"/"+name, visit)
		}
	case []any:
		for i, sub := range v {
			leaves(sub, at+"/"+strconv.Itoa(i), visit)
		}
	case nil:
	default:
		visit(at, textOf(v))
	}
}

// find returns the records that hold the value at the pointer, oldest first; a blank value finds none.
func (c *collection) find(at, value string, fold bool) (found []*record) {
	if value == "" {
		return nil
	}
	steps := stepsOf(at)
	for _, r := range c.index[held{at, strings.ToLower(value)}] {
		v, _ := descend(r.doc, steps)
		text := textOf(v)
		if (text == value || fold && strings.EqualFold(text, value)) && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found
}

// newID makes an id of the target's own kind.
func newID(kind string, rng *rand.Rand) string {
	switch kind {
	case "uuid":
		return uuid(rng.Uint64(), rng.Uint64())
	case "number":
		return strconv.FormatUint(10_000_000_000+rng.Uint64N(80_000_000_000), 10)
	case "token":
		var raw [16]byte
		binary.BigEndian.PutUint64(raw[:8], rng.Uint64())
		binary.BigEndian.PutUint64(raw[8:], rng.Uint64())
		return hex.EncodeToString(raw[:])
	}
	return kind + strconv.FormatUint(1_000_000_000_000+rng.Uint64N(8_000_000_000_000), 10)
}

// uuid is a random UUID, version 4.
func uuid(a, b uint64) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], a)
	binary.BigEndian.PutUint64(raw[8:], b)
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	text := make([]byte, 0, 36)
	for _, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10]} {
		text = append(hex.AppendEncode(text, part), '-')
	}
	return string(hex.AppendEncode(text, raw[10:]))
}
