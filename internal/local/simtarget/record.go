package simtarget

import (
	"fmt"
	"maps"
	"math/rand/v2"
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

// collection keeps records in the order of their making and finds them by any stored scalar.
type collection struct {
	spec    Collection
	records []*record
	index   map[string][]*record
}

func newCollection(spec Collection) *collection {
	return &collection{spec: spec, index: map[string][]*record{}}
}

// insert keeps a new record under a new id.
func (c *collection) insert(doc map[string]any, at time.Time, rng *rand.Rand) *record {
	r := c.draft(doc, at, rng)
	c.records = append(c.records, r)
	c.reindex(r)
	return r
}

// draft makes a record without keeping it.
func (c *collection) draft(doc map[string]any, at time.Time, rng *rand.Rand) *record {
	r := &record{id: newID(c.spec.ID, rng), doc: maps.Clone(doc), at: at}
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
	leaves(r.doc, "", func(at, text string) {
		if len(text) <= indexedValueBytes {
			key := indexKey(at, text)
			c.index[key] = append(c.index[key], r)
		}
	})
}

func indexKey(at, text string) string { return at + "\x00" + strings.ToLower(text) }

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
	seen := map[*record]bool{}
	for _, r := range c.index[indexKey(at, value)] {
		held, _ := pointer(r.doc, at)
		text := textOf(held)
		if !seen[r] && (text == value || fold && strings.EqualFold(text, value)) {
			found = append(found, r)
		}
		seen[r] = true
	}
	return found
}

// newID makes an id of the target's own kind.
func newID(kind string, rng *rand.Rand) string {
	switch kind {
	case "uuid":
		a, b := rng.Uint64(), rng.Uint64()
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>52, b&0xffffffffffff)
	case "number":
		return strconv.FormatUint(10_000_000_000+rng.Uint64N(80_000_000_000), 10)
	case "token":
		return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
	}
	return kind + strconv.FormatUint(1_000_000_000_000+rng.Uint64N(8_000_000_000_000), 10)
}
