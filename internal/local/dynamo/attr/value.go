// Package attr holds DynamoDB's attribute values: what they are, how they travel, how they compare.
//
// It promises that a value comes back as it went in, that numbers are exact decimals of up to 38 digits, and that
// two values are equal exactly when DynamoDB says so. It never turns a number into a float and never keeps two
// spellings of one number apart.
package attr

import (
	"slices"
	"strings"
)

// Kind is the type of a value, as the wire names it.
type Kind uint8

// The kinds; the zero value is no value at all.
const (
	KindNone Kind = iota
	KindString
	KindNumber
	KindBinary
	KindBool
	KindNull
	KindStringSet
	KindNumberSet
	KindBinarySet
	KindList
	KindMap
)

var kindNames = [...]string{"", "S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}

// String is the wire's name of the kind.
func (k Kind) String() string { return kindNames[k] }

// KindOf finds a kind by its wire name; KindNone when there is none of that name.
func KindOf(name string) Kind {
	for k := KindString; k <= KindMap; k++ {
		if kindNames[k] == name {
			return k
		}
	}
	return KindNone
}

// IsSet says whether the kind is one of the three sets.
func (k Kind) IsSet() bool { return k == KindStringSet || k == KindNumberSet || k == KindBinarySet }

// Element is the kind of a set's members.
func (k Kind) Element() Kind {
	switch k {
	case KindStringSet:
		return KindString
	case KindNumberSet:
		return KindNumber
	case KindBinarySet:
		return KindBinary
	}
	return KindNone
}

// Value is one attribute value. Only the fields of its kind are set.
type Value struct {
	Kind Kind
	// Text is the string, the canonical number, or the raw bytes of a binary.
	Text string
	// Flag is the boolean.
	Flag bool
	// Set has the members of a set, each as Text would have it.
	Set []string
	// List has the elements of a list.
	List []Value
	// Map has the entries of a map in the order they came.
	Map Item
}

// Field is one named attribute.
type Field struct {
	Name  string
	Value Value
}

// Item is a set of named attributes in the order they came; names are unique.
type Item []Field

// Get finds an attribute; nil when it is absent. The pointer is into the item.
func (it Item) Get(name string) *Value {
	for i := range it {
		if it[i].Name == name {
			return &it[i].Value
		}
	}
	return nil
}

// With returns the item with the attribute set, replacing in place where it exists.
func (it Item) With(name string, v Value) Item {
	if old := it.Get(name); old != nil {
		*old = v
		return it
	}
	return append(it, Field{name, v})
}

// Without returns the item lacking the attribute.
func (it Item) Without(name string) Item {
	for i := range it {
		if it[i].Name == name {
			return append(it[:i], it[i+1:]...)
		}
	}
	return it
}

// Clone is a deep copy that may be changed freely.
func (it Item) Clone() Item {
	if it == nil {
		return nil
	}
	out := make(Item, len(it), len(it)+itemSpare)
	for i := range it {
		out[i] = Field{it[i].Name, it[i].Value.Clone()}
	}
	return out
}

// itemSpare is the room, in attributes, that a clone leaves for an update to add.
const itemSpare = 4

// Clone is a deep copy.
func (v Value) Clone() Value {
	v.Set = append([]string(nil), v.Set...)
	v.Map = v.Map.Clone()
	if v.List != nil {
		list := make([]Value, len(v.List))
		for i := range v.List {
			list[i] = v.List[i].Clone()
		}
		v.List = list
	}
	return v
}

// String makes a string value.
func String(s string) Value { return Value{Kind: KindString, Text: s} }

// Number makes a number from its canonical text.
func Number(s string) Value { return Value{Kind: KindNumber, Text: s} }

// Sorted is a copy whose maps, at every level, are in the order of their names and whose sets are in order.
func (it Item) Sorted() Item {
	out := it.Clone()
	for i := range out {
		out[i].Value.sort()
	}
	slices.SortFunc(out, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (v *Value) sort() {
	slices.Sort(v.Set)
	v.Map = v.Map.Sorted()
	for i := range v.List {
		v.List[i].sort()
	}
}
