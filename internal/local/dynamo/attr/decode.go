package attr

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// nestingMax is DynamoDB's limit on nested lists and maps, in levels.
const nestingMax = 32

// Invalid is a value that is well-formed JSON but not an attribute value DynamoDB takes.
type Invalid struct{ Reason string }

// Error implements error.
func (e *Invalid) Error() string { return e.Reason }

func invalidf(format string, args ...any) error { return &Invalid{fmt.Sprintf(format, args...)} }

const invalidPrefix = "One or more parameter values were invalid: "

// Item reads a map of attribute values.
func (r *Reader) Item() (Item, error) { return r.item(0) }

// Value reads one attribute value.
func (r *Reader) Value() (Value, error) { return r.value(0) }

func (r *Reader) item(level int) (Item, error) {
	it := Item{}
	var seen map[string]bool
	err := r.Object(func(name string) error {
		v, err := r.value(level)
		if err != nil {
			return err
		}
		if seen, err = once(seen, it, name); err != nil {
			return err
		}
		it = append(it, Field{name, v})
		return nil
	})
	return it, err
}

// linearMax is the number of attributes up to which looking through them beats a map.
const linearMax = 16

func once(seen map[string]bool, it Item, name string) (map[string]bool, error) {
	if len(it) < linearMax {
		if it.Get(name) != nil {
			return nil, malformed("The name %q stands twice in one map", name)
		}
		return nil, nil
	}
	if seen == nil {
		seen = make(map[string]bool, 2*linearMax)
		for i := range it {
			seen[it[i].Name] = true
		}
	}
	if seen[name] {
		return nil, malformed("The name %q stands twice in one map", name)
	}
	seen[name] = true
	return seen, nil
}

func (r *Reader) value(level int) (Value, error) {
	var v Value
	members := 0
	err := r.Object(func(name string) error {
		members++
		kind := KindOf(name)
		if kind == KindNone {
			return malformed("%q is not the name of an attribute type", name)
		}
		return r.content(&v, kind, level)
	})
	switch {
	case err != nil:
		return v, err
	case members == 0:
		return v, invalidf("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case members > 1:
		return v, invalidf("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	return v, nil
}

func (r *Reader) content(v *Value, kind Kind, level int) (err error) {
	v.Kind = kind
	switch kind {
	case KindString, KindNumber, KindBinary:
		v.Text, err = r.scalar(kind)
	case KindBool:
		v.Flag, err = r.Bool()
	case KindNull:
		v.Flag, err = r.Bool()
		if err == nil && !v.Flag {
			err = FalseNull()
		}
	case KindStringSet, KindNumberSet, KindBinarySet:
		err = r.set(v)
	case KindList, KindMap:
		err = r.nestedValue(v, level+1)
	}
	return err
}

func (r *Reader) scalar(kind Kind) (string, error) {
	text, err := r.Text()
	if err != nil {
		return "", err
	}
	switch kind {
	case KindNumber:
		return Canonical(text)
	case KindBinary:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", malformed("A binary value is not base64")
		}
		return string(raw), nil
	}
	return text, nil
}

// Canonical is the one spelling of a number, or why it is none.
func Canonical(text string) (string, error) {
	if isSmallInteger(text) {
		return text, nil
	}
	d, err := ParseDecimal(text)
	if err != nil {
		return "", err
	}
	return d.String(), nil
}

// isSmallInteger recognises the usual number, which is already canonical.
func isSmallInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > smallNumberMax || !allDigits(digits) {
		return false
	}
	return digits[0] != '0' || s == "0"
}

func (r *Reader) set(v *Value) error {
	err := r.Array(func(int) error {
		text, err := r.scalar(v.Kind.Element())
		v.Set = append(v.Set, text)
		return err
	})
	if err != nil {
		return err
	}
	return v.CheckSet()
}

// CheckSet says what is wrong with a set as a caller gave it: that it is empty, or has a member twice.
func (v *Value) CheckSet() error {
	switch {
	case len(v.Set) == 0:
		return emptySet(v.Kind)
	case len(memberSet(v.Set)) == len(v.Set):
		return nil
	case v.Kind == KindNumberSet:
		return invalidf("Input collection contains duplicates")
	}
	return invalidf("%sInput collection %s contains duplicates.", invalidPrefix, listed(v))
}

func emptySet(kind Kind) error {
	switch kind {
	case KindStringSet:
		return invalidf("%sAn string set  may not be empty", invalidPrefix)
	case KindNumberSet:
		return invalidf("%sAn number set  may not be empty", invalidPrefix)
	}
	return invalidf("%sBinary sets should not be empty", invalidPrefix)
}

func listed(v *Value) string {
	if v.Kind == KindBinarySet {
		return "of type BS"
	}
	return "[" + strings.Join(v.Set, ", ") + "]"
}

func (r *Reader) nestedValue(v *Value, level int) (err error) {
	if err := CheckNesting(level); err != nil {
		return err
	}
	if v.Kind == KindMap {
		v.Map, err = r.item(level)
		return err
	}
	v.List = []Value{}
	return r.Array(func(int) error {
		one, err := r.value(level)
		v.List = append(v.List, one)
		return err
	})
}

// ParseItem reads an item that was written by AppendItem.
func ParseItem(buf []byte) (Item, error) {
	r := NewReader(buf)
	it, err := r.Item()
	if err != nil {
		return nil, err
	}
	return it, r.End()
}

// CheckNesting refuses a list or a map that many levels down.
func CheckNesting(level int) error {
	if level > nestingMax {
		return invalidf("Nesting Levels have exceeded supported limits: Attributes nesting depth exceeded %d", nestingMax)
	}
	return nil
}

// FalseNull is why a null that is false is refused.
func FalseNull() error {
	return invalidf("%sNull attribute value types must have the value of true", invalidPrefix)
}
