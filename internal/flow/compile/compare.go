package compile

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// comparing replaces the comparison operators, and gives map literals an order. The library's own ask the left side alone, and an int on the left
// has never heard of our numbers: `10 == body.price` would quietly be false.
func comparing(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if made, ok := i.(interpreter.InterpretableConstructor); ok && made.Type() == types.MapType {
		return literalMap{made}, nil
	}
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return i, nil
	}
	if f, ok := comparisons[call.Function()]; ok {
		return comparison{InterpretableCall: call, compare: f}, nil
	}
	return i, nil
}

var comparisons = map[string]func(a, b ref.Val) ref.Val{
	operators.Equals:        func(a, b ref.Val) ref.Val { return types.Bool(equal(a, b)) },
	operators.NotEquals:     func(a, b ref.Val) ref.Val { return types.Bool(!equal(a, b)) },
	operators.Less:          func(a, b ref.Val) ref.Val { return ordered(a, b, func(c int) bool { return c < 0 }) },
	operators.LessEquals:    func(a, b ref.Val) ref.Val { return ordered(a, b, func(c int) bool { return c <= 0 }) },
	operators.Greater:       func(a, b ref.Val) ref.Val { return ordered(a, b, func(c int) bool { return c > 0 }) },
	operators.GreaterEquals: func(a, b ref.Val) ref.Val { return ordered(a, b, func(c int) bool { return c >= 0 }) },
	operators.In:            within,
}

type comparison struct {
	interpreter.InterpretableCall
	compare func(a, b ref.Val) ref.Val
}

// Eval implements interpreter.Interpretable.
func (c comparison) Eval(a interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (c comparison) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var sides [2]ref.Val
	for i, arg := range c.Args() {
		sides[i] = arg.Exec(frame)
		if types.IsUnknownOrError(sides[i]) {
			return sides[i]
		}
	}
	return c.compare(sides[0], sides[1])
}

// equal compares numbers by exact value, also inside of lists and maps. How deep they go is bounded by the body's
// nesting and the expression's size.
func equal(a, b ref.Val) bool {
	if isNumber(a) || isNumber(b) {
		return numbersEqual(a, b)
	}
	if la, ok := a.(traits.Lister); ok {
		lb, ok := b.(traits.Lister)
		return ok && listsEqual(la, lb)
	}
	if ma, ok := a.(traits.Mapper); ok {
		mb, ok := b.(traits.Mapper)
		return ok && mapsEqual(ma, mb)
	}
	return types.Equal(a, b) == types.True
}

func listsEqual(a, b traits.Lister) bool {
	if types.Equal(a.Size(), b.Size()) != types.True {
		return false
	}
	for i, j := a.Iterator(), b.Iterator(); i.HasNext() == types.True; {
		if !equal(i.Next(), j.Next()) {
			return false
		}
	}
	return true
}

func mapsEqual(a, b traits.Mapper) bool {
	if types.Equal(a.Size(), b.Size()) != types.True {
		return false
	}
	for i := a.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		other, ok := b.Find(key)
		if !ok || !equal(a.Get(key), other) {
			return false
		}
	}
	return true
}

func ordered(a, b ref.Val, holds func(int) bool) ref.Val {
	if isNumber(a) || isNumber(b) {
		x, okX := exact(a)
		y, okY := exact(b)
		if !okX || !okY {
			return types.NewErr("these two values have no order")
		}
		return types.Bool(holds(x.Cmp(y)))
	}
	c, ok := a.(traits.Comparer)
	if !ok {
		return types.MaybeNoSuchOverloadErr(a)
	}
	v := c.Compare(b)
	n, ok := v.(types.Int)
	if !ok {
		return v
	}
	return types.Bool(holds(int(n)))
}

func within(a, b ref.Val) ref.Val {
	switch c := b.(type) {
	case traits.Lister:
		for i := c.Iterator(); i.HasNext() == types.True; {
			if equal(a, i.Next()) {
				return types.True
			}
		}
		return types.False
	case traits.Mapper:
		_, ok := c.Find(a)
		return types.Bool(ok)
	}
	return types.MaybeNoSuchOverloadErr(b)
}
