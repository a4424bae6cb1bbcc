package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// adapter shows decoded JSON to expressions: numbers keep their literal, and maps have an order.
type adapter struct{ rest types.Adapter }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case ref.Val:
		return v
	case json.Number:
		if i, ok := integer(string(v)); ok {
			return i
		}
		return number{literal: string(v)}
	case []any:
		return types.NewDynamicList(a, v)
	case map[string]any:
		return sorted{types.NewStringInterfaceMap(a, v)}
	case map[ref.Val]ref.Val:
		return sorted{types.NewRefValMap(a, v)}
	case []ref.Val:
		return types.NewRefValList(a, v)
	}
	return a.rest.NativeToValue(value)
}

// sorted is a map that is walked in the order of its keys. The library walks Go maps in Go's random order, and a
// list made from that would make another content each time the same event is planned.
type sorted struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (s sorted) Iterator() traits.Iterator {
	var keys []ref.Val
	for i := s.Mapper.Iterator(); i.HasNext() == types.True; {
		keys = append(keys, i.Next())
	}
	slices.SortFunc(keys, func(a, b ref.Val) int { return strings.Compare(sortText(a), sortText(b)) })
	return &walk{keys: keys}
}

// sortText orders keys of one type by their text; it need not be a natural order, only always the same.
func sortText(v ref.Val) string { return fmt.Sprintf("%s %v", v.Type().TypeName(), v.Value()) }

type walk struct {
	ref.Val
	keys []ref.Val
}

// HasNext implements traits.Iterator.
func (w *walk) HasNext() ref.Val { return types.Bool(len(w.keys) > 0) }

// Next implements traits.Iterator.
func (w *walk) Next() ref.Val {
	key := w.keys[0]
	w.keys = w.keys[1:]
	return key
}

// literalMap is a map written in an expression; it is walked in order too.
type literalMap struct {
	interpreter.InterpretableConstructor
}

// Eval implements interpreter.Interpretable.
func (l literalMap) Eval(a interpreter.Activation) ref.Val { return l.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (l literalMap) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := l.InterpretableConstructor.Exec(frame)
	if m, ok := v.(traits.Mapper); ok {
		return sorted{m}
	}
	return v
}
