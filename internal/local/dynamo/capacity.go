package dynamo

import (
	"sort"
	"strconv"

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
	indexes map[string]float64
}

func (c *consumption) addIndex(name string, units float64) {
	if units == 0 {
		return
	}
	if c.indexes == nil {
		c.indexes = map[string]float64{}
	}
	c.indexes[name] += units
}

func (c *consumption) add(other consumption, factor float64) {
	c.table += other.table * factor
	for name, units := range other.indexes {
		c.addIndex(name, units*factor)
	}
}

func (c *consumption) total() float64 {
	sum := c.table
	for _, units := range c.indexes {
		sum += units
	}
	return sum
}

// capacityKind is how a transaction names its units, "Read" or "Write"; other calls leave it empty.
func (c *consumption) append(b []byte, table, detail, capacityKind string) []byte {
	b = attr.AppendText(append(b, `{"TableName":`...), table)
	b = append(b, ',')
	b = appendUnits(b, c.total(), capacityKind)
	if detail == "INDEXES" {
		b = append(b, `,"Table":{`...)
		b = append(appendUnits(b, c.table, capacityKind), '}')
		b = c.appendIndexes(b, capacityKind)
	}
	return append(b, '}')
}

func (c *consumption) appendIndexes(b []byte, capacityKind string) []byte {
	if len(c.indexes) == 0 {
		return b
	}
	names := make([]string, 0, len(c.indexes))
	for name := range c.indexes {
		names = append(names, name)
	}
	sort.Strings(names)
	b = append(b, `,"GlobalSecondaryIndexes":{`...)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(attr.AppendText(b, name), `:{`...)
		b = append(appendUnits(b, c.indexes[name], capacityKind), '}')
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
func wanted(detail string) bool { return detail == "TOTAL" || detail == "INDEXES" }

// appendConsumed appends the member for a call at one table, if it was asked for.
func appendConsumed(b []byte, q *request, c consumption) []byte {
	if !wanted(q.returnCapacity) {
		return b
	}
	b = appendComma(b)
	return c.append(append(b, `"ConsumedCapacity":`...), q.table, q.returnCapacity, "")
}

// appendConsumedTables appends the member for a call at several tables, if it was asked for.
func appendConsumedTables(b []byte, q *request, all map[string]*consumption, capacityKind string) []byte {
	if !wanted(q.returnCapacity) {
		return b
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	b = append(appendComma(b), `"ConsumedCapacity":[`...)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = all[name].append(b, name, q.returnCapacity, capacityKind)
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
