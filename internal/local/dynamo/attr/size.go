package attr

import "strings"

// Overheads of DynamoDB's documented size rules, in bytes.
const (
	nestedOverhead  = 3 // of a list or a map
	elementOverhead = 1 // of each element or entry
)

// Size is the item's size in bytes by DynamoDB's documented rules: names and values, UTF-8.
func (it Item) Size() int {
	size := 0
	for i := range it {
		size += len(it[i].Name) + it[i].Value.Size()
	}
	return size
}

// Size is the value's size in bytes.
func (v *Value) Size() int {
	switch v.Kind {
	case KindString, KindBinary:
		return len(v.Text)
	case KindNumber:
		return numberSize(v.Text)
	case KindBool, KindNull:
		return 1
	case KindList:
		size := nestedOverhead
		for i := range v.List {
			size += elementOverhead + v.List[i].Size()
		}
		return size
	case KindMap:
		return nestedOverhead + elementOverhead*len(v.Map) + v.Map.Size()
	}
	size := 0
	for _, m := range v.Set {
		if v.Kind == KindNumberSet {
			size += numberSize(m)
		} else {
			size += len(m)
		}
	}
	return size
}

// numberSize is about a byte for two significant digits plus one, and one more for a minus.
func numberSize(canonical string) int {
	digits, exp := significant(canonical)
	if digits == 0 {
		return 1
	}
	size := 1 + (digits+1)/2
	if digits%2 == 0 && (exp-1)%2 == 0 {
		size++
	}
	if strings.HasPrefix(canonical, "-") {
		size++
	}
	return size
}

// significant counts a canonical number's digits that are not needless zeros, and says its power of ten.
func significant(canonical string) (digits, exp int) {
	if isSmallInteger(canonical) {
		whole := strings.TrimPrefix(canonical, "-")
		return len(strings.TrimRight(whole, "0")), len(whole)
	}
	d, _ := scanDecimal(canonical)
	return len(d.digits), d.exp
}
