package compile

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// numberType is the type of a JSON number whose literal an int cannot give back digit by digit.
var numberType = types.NewOpaqueType("number")

// literalBytesMax is the longest number literal that is compared by value, in bytes.
const literalBytesMax = 64

// number is such a JSON number. It can be compared, written out, and turned into a double on request; it takes
// part in no arithmetic, because that would need rounding.
type number struct{ literal string }

// integer is the literal as an int, when the int gives back the same digits.
func integer(literal string) (types.Int, bool) {
	i, err := strconv.ParseInt(literal, 10, 64)
	if err != nil || strconv.FormatInt(i, 10) != literal {
		return 0, false
	}
	return types.Int(i), true
}

// ConvertToNative implements ref.Val.
func (n number) ConvertToNative(t reflect.Type) (any, error) {
	if t == reflect.TypeFor[json.Number]() {
		return json.Number(n.literal), nil
	}
	return nil, fmt.Errorf("a number cannot be used as %v", t)
}

// ConvertToType implements ref.Val.
func (n number) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.StringType:
		return types.String(n.literal)
	case types.DoubleType:
		f, err := strconv.ParseFloat(n.literal, 64)
		if err != nil {
			return types.NewErr("the number is outside of what a double can hold")
		}
		return types.Double(f)
	case types.TypeType:
		return numberType
	}
	return types.NewErr("a number cannot become %s", t.TypeName())
}

// Equal implements ref.Val.
func (n number) Equal(other ref.Val) ref.Val { return types.Bool(numbersEqual(n, other)) }

// Type implements ref.Val.
func (n number) Type() ref.Type { return numberType }

// Value implements ref.Val.
func (n number) Value() any { return json.Number(n.literal) }

func isNumber(v ref.Val) bool {
	_, ok := v.(number)
	return ok
}

// exact is the exact decimal value of any numeric value; ok is false for what is no number or not bounded.
func exact(v ref.Val) (*big.Rat, bool) {
	switch x := v.(type) {
	case types.Int:
		return new(big.Rat).SetInt64(int64(x)), true
	case types.Uint:
		return new(big.Rat).SetUint64(uint64(x)), true
	case types.Double:
		r := new(big.Rat)
		_, ok := r.SetString(strconv.FormatFloat(float64(x), 'f', -1, 64))
		return r, ok
	case number:
		if len(x.literal) > literalBytesMax || strings.ContainsAny(x.literal, "eE") {
			return nil, false
		}
		return new(big.Rat).SetString(x.literal)
	}
	return nil, false
}

// numbersEqual compares by exact decimal value; literals that are not bounded are equal only to themselves.
func numbersEqual(a, b ref.Val) bool {
	x, okX := exact(a)
	y, okY := exact(b)
	if okX && okY {
		return x.Cmp(y) == 0
	}
	m, okM := a.(number)
	n, okN := b.(number)
	return okM && okN && m == n
}
