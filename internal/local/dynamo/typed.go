package dynamo

import (
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/store"
)

// itemOf reads the SDK's form of an item, attributes in the order of their names. As in the SDK's own writer, an entry
// without a value is none.
func itemOf(in map[string]types.AttributeValue, level int) (attr.Item, error) {
	var room [itemNamesGuess]string
	names := room[:0]
	for name, v := range in {
		if v != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	it := make(attr.Item, len(names))
	for i, name := range names {
		it[i].Name = validText(name)
		if err := readValue(&it[i].Value, in[name], level); err != nil {
			return nil, err
		}
	}
	return it, nil
}

// itemNamesGuess is room for the names of the usual item.
const itemNamesGuess = 32

func readValue(v *attr.Value, in types.AttributeValue, level int) (err error) {
	switch in := in.(type) {
	case *types.AttributeValueMemberS:
		v.Kind, v.Text = attr.KindString, validText(in.Value)
	case *types.AttributeValueMemberN:
		v.Kind = attr.KindNumber
		v.Text, err = attr.Canonical(in.Value)
	case *types.AttributeValueMemberB:
		v.Kind, v.Text = attr.KindBinary, string(in.Value)
	case *types.AttributeValueMemberBOOL:
		v.Kind, v.Flag = attr.KindBool, in.Value
	case *types.AttributeValueMemberNULL:
		if v.Kind, v.Flag = attr.KindNull, in.Value; !in.Value {
			err = attr.FalseNull()
		}
	case *types.AttributeValueMemberM:
		if err := attr.CheckNesting(level + 1); err != nil {
			return err
		}
		v.Kind = attr.KindMap
		v.Map, err = itemOf(in.Value, level+1)
	case *types.AttributeValueMemberL:
		return readList(v, in.Value, level+1)
	default:
		return readSet(v, in)
	}
	return err
}

func readList(v *attr.Value, in []types.AttributeValue, level int) error {
	if err := attr.CheckNesting(level); err != nil {
		return err
	}
	v.Kind, v.List = attr.KindList, make([]attr.Value, 0, len(in))
	for _, one := range in {
		if one == nil {
			continue
		}
		var element attr.Value
		if err := readValue(&element, one, level); err != nil {
			return err
		}
		v.List = append(v.List, element)
	}
	return nil
}

func readSet(v *attr.Value, in types.AttributeValue) error {
	switch in := in.(type) {
	case *types.AttributeValueMemberSS:
		v.Kind, v.Set = attr.KindStringSet, make([]string, len(in.Value))
		for i, text := range in.Value {
			v.Set[i] = validText(text)
		}
	case *types.AttributeValueMemberNS:
		v.Kind, v.Set = attr.KindNumberSet, make([]string, len(in.Value))
		for i, text := range in.Value {
			var err error
			if v.Set[i], err = attr.Canonical(text); err != nil {
				return err
			}
		}
	case *types.AttributeValueMemberBS:
		v.Kind, v.Set = attr.KindBinarySet, make([]string, len(in.Value))
		for i, raw := range in.Value {
			v.Set[i] = string(raw)
		}
	default:
		return &attr.Invalid{Reason: "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"}
	}
	return v.CheckSet()
}

// validText is the text as it would arrive over the wire: bytes that are not UTF-8 arrive as the replacement character.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// Attributes is an item in the SDK's form, all the caller's own; nil for no item.
func Attributes(it attr.Item) map[string]types.AttributeValue {
	if it == nil {
		return nil
	}
	texts := 0
	for i := range it {
		if it[i].Value.Kind == attr.KindString {
			texts++
		}
	}
	out := make(map[string]types.AttributeValue, len(it))
	room := make([]types.AttributeValueMemberS, texts) // made at once: most attributes are strings
	for i := range it {
		v := &it[i].Value
		if v.Kind == attr.KindString {
			s := &room[0]
			room, s.Value = room[1:], v.Text
			out[it[i].Name] = s
			continue
		}
		out[it[i].Name] = typedValue(v)
	}
	return out
}

func typedValue(v *attr.Value) types.AttributeValue {
	switch v.Kind {
	case attr.KindString:
		return &types.AttributeValueMemberS{Value: v.Text}
	case attr.KindNumber:
		return &types.AttributeValueMemberN{Value: v.Text}
	case attr.KindBinary:
		return &types.AttributeValueMemberB{Value: []byte(v.Text)}
	case attr.KindBool:
		return &types.AttributeValueMemberBOOL{Value: v.Flag}
	case attr.KindNull:
		return &types.AttributeValueMemberNULL{Value: v.Flag}
	case attr.KindStringSet:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Set)}
	case attr.KindNumberSet:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Set)}
	case attr.KindBinarySet:
		set := make([][]byte, len(v.Set))
		for i := range v.Set {
			set[i] = []byte(v.Set[i])
		}
		return &types.AttributeValueMemberBS{Value: set}
	case attr.KindList:
		list := make([]types.AttributeValue, len(v.List))
		for i := range v.List {
			list[i] = typedValue(&v.List[i])
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	return &types.AttributeValueMemberM{Value: Attributes(v.Map)}
}

// typedRecord is a record in the SDK's form; nil for none.
func typedRecord(r *store.Record) (map[string]types.AttributeValue, error) {
	it, err := r.Item()
	return Attributes(it), err
}

func typedRecords(records []*store.Record) ([]map[string]types.AttributeValue, error) {
	out := make([]map[string]types.AttributeValue, len(records))
	for i, r := range records {
		var err error
		if out[i], err = typedRecord(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// typed is the consumption in the SDK's form; nil for none.
func (c *consumed) typed() *types.ConsumedCapacity {
	if c == nil {
		return nil
	}
	total := c.units(c.total())
	out := &types.ConsumedCapacity{TableName: &c.table, CapacityUnits: total.CapacityUnits,
		ReadCapacityUnits: total.ReadCapacityUnits, WriteCapacityUnits: total.WriteCapacityUnits}
	if c.detail != "INDEXES" {
		return out
	}
	own := c.units(c.consumption.table)
	out.Table = &own
	for _, ix := range c.indexes {
		if out.GlobalSecondaryIndexes == nil {
			out.GlobalSecondaryIndexes = make(map[string]types.Capacity, len(c.indexes))
		}
		out.GlobalSecondaryIndexes[ix.name] = c.units(ix.units)
	}
	return out
}

func (c *consumed) units(n float64) types.Capacity {
	out := types.Capacity{CapacityUnits: &n}
	switch c.kind {
	case "Read":
		out.ReadCapacityUnits = &n
	case "Write":
		out.WriteCapacityUnits = &n
	}
	return out
}

func typedConsumed(all []consumed) []types.ConsumedCapacity {
	if all == nil {
		return nil
	}
	out := make([]types.ConsumedCapacity, len(all))
	for i := range all {
		out[i] = *all[i].typed()
	}
	return out
}
