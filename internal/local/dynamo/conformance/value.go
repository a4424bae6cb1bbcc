package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is the SDK's item.
type item = map[string]types.AttributeValue

// Notation of values that Go has no type for.
type (
	number    string
	stringSet []string
	numberSet []string
	binarySet [][]byte
	list      []any
	object    map[string]any
	null      struct{}
)

// value turns Go's notation into an attribute value.
func value(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case int:
		return &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
	case number:
		return &types.AttributeValueMemberN{Value: string(v)}
	case []byte:
		return &types.AttributeValueMemberB{Value: v}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case null:
		return &types.AttributeValueMemberNULL{Value: true}
	case stringSet:
		return &types.AttributeValueMemberSS{Value: v}
	case numberSet:
		return &types.AttributeValueMemberNS{Value: v}
	case binarySet:
		return &types.AttributeValueMemberBS{Value: v}
	case object:
		return &types.AttributeValueMemberM{Value: of(v)}
	case list:
		out := make([]types.AttributeValue, len(v))
		for i := range v {
			out[i] = value(v[i])
		}
		return &types.AttributeValueMemberL{Value: out}
	}
	panic(fmt.Sprintf("no attribute value for %T", v)) // a mistake in a table of this package
}

// of turns a Go map into an item.
func of(m object) item {
	out := make(item, len(m))
	for k, v := range m {
		out[k] = value(v)
	}
	return out
}

// show is one spelling for equal items: sorted names, sorted sets.
func show(it item) string {
	if it == nil {
		return "none"
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range sortedNames(it) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(k + ":" + showValue(it[k]))
	}
	return b.String() + "}"
}

func showValue(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("B%x", v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberSS:
		return "SS" + sorted(v.Value)
	case *types.AttributeValueMemberNS:
		return "NS" + sorted(v.Value)
	case *types.AttributeValueMemberBS:
		members := make([]string, len(v.Value))
		for i := range v.Value {
			members[i] = fmt.Sprintf("%x", v.Value[i])
		}
		return "BS" + sorted(members)
	case *types.AttributeValueMemberM:
		return show(v.Value)
	case *types.AttributeValueMemberL:
		parts := make([]string, len(v.Value))
		for i := range v.Value {
			parts[i] = showValue(v.Value[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return "absent"
}

func sorted(members []string) string {
	c := slices.Clone(members)
	slices.Sort(c)
	return "(" + strings.Join(c, " ") + ")"
}

func showAll(items []item) string {
	parts := make([]string, len(items))
	for i := range items {
		parts[i] = show(items[i])
	}
	return strings.Join(parts, "\n")
}

func sortedNames(it item) []string {
	names := make([]string, 0, len(it))
	for k := range it {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}
