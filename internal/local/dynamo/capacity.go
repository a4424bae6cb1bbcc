package dynamo

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/local/dynamo/attr"
)

// Bytes of one capacity unit, and how many units a call may cost more.
const (
	writeUnitBytes     = 1024
	readUnitBytes      = 4096
	transactionFactor  = 2
	eventuallyConsumed = 0.5
)

func unitsOf(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

func readUnits(size int, consistent bool) float64 {
	if consistent {
		return unitsOf(size, readUnitBytes)
	}
	return unitsOf(size, readUnitBytes) * eventuallyConsumed
}

// consumption adds up the capacity of one call at one table.
type consumption struct {
	table   float64
	indexes []indexUnits // each index once
}

type indexUnits struct {
	name  string
	units float64
}

func (c *consumption) addIndex(name string, units float64) {
	if units == 0 {
		return
	}
	for i := range c.indexes {
		if c.indexes[i].name == name {
			c.indexes[i].units += units
			return
		}
	}
	c.indexes = append(c.indexes, indexUnits{name, units})
}

func (c *consumption) add(other consumption, factor float64) {
	c.table += other.table * factor
	for _, ix := range other.indexes {
		c.addIndex(ix.name, ix.units*factor)
	}
}

func (c *consumption) total() float64 {
	sum := c.table
	for _, ix := range c.indexes {
		sum += ix.units
	}
	return sum
}

// consumed is what an answer says of its consumption at one table.
type consumed struct {
	consumption
	table string
	// detail is what the call asked for: TOTAL or INDEXES.
	detail string
	// kind is how a transaction names its units, "Read" or "Write"; other calls leave it empty.
	kind string
}

func (c *consumed) append(b []byte) []byte {
	b = attr.AppendText(append(b, `{"TableName":`...), c.table)
	b = append(b, ',')
	b = appendUnits(b, c.total(), c.kind)
	if c.detail == "INDEXES" {
		b = append(b, `,"Table":{`...)
		b = append(appendUnits(b, c.consumption.table, c.kind), '}')
		b = c.appendIndexes(b)
	}
	return append(b, '}')
}

func (c *consumed) appendIndexes(b []byte) []byte {
	if len(c.indexes) == 0 {
		return b
	}
	sorted := slices.SortedFunc(slices.Values(c.indexes), func(a, b indexUnits) int { return strings.Compare(a.name, b.name) })
	b = append(b, `,"GlobalSecondaryIndexes":{`...)
	for i, ix := range sorted {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(attr.AppendText(b, ix.name), `:{`...)
		b = append(appendUnits(b, ix.units, c.kind), '}')
	}
	return append(b, '}')
}

func appendUnits(b []byte, units float64, capacityKind string) []byte {
	text := strconv.FormatFloat(units, 'f', 1, 64)
	b = append(append(b, `"CapacityUnits":`...), text...)
	if capacityKind != "" {
		b = append(append(append(b, `,"`...), capacityKind...), `CapacityUnits":`...)
		b = append(b, text...)
	}
	return b
}

// wanted says whether the call asked for its consumption.
func (q *request) wanted() bool { return q.returnCapacity == "TOTAL" || q.returnCapacity == "INDEXES" }

// consumed is the consumption of a call at one table; nil when it was not asked for.
func (q *request) consumed(c consumption) *consumed {
	if !q.wanted() {
		return nil
	}
	return &consumed{c, q.table, q.returnCapacity, ""}
}

// consumedTables is the consumption of a call at several tables, in the order of their names; nil when it was not
// asked for.
func (q *request) consumedTables(all map[string]*consumption, kind string) []consumed {
	if !q.wanted() {
		return nil
	}
	out := make([]consumed, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, consumed{*all[name], name, q.returnCapacity, kind})
	}
	return out
}

// appendConsumed appends the member of an answer, if there is one.
func appendConsumed(b []byte, c *consumed) []byte {
	if c == nil {
		return b
	}
	return c.append(append(appendComma(b), `"ConsumedCapacity":`...))
}

func appendConsumedTables(b []byte, all []consumed) []byte {
	if all == nil {
		return b
	}
	b = append(appendComma(b), `"ConsumedCapacity":[`...)
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = all[i].append(b)
	}
	return append(b, ']')
}

// appendComma separates members of an object that is being written.
func appendComma(b []byte) []byte {
	if b[len(b)-1] == '{' {
		return b
	}
	return append(b, ',')
}
