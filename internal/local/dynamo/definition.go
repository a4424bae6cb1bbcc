package dynamo

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
)

// Documented limits of tables.
const (
	indexesMax       = 20
	keysMax          = 2
	nonKeyMax        = 100 // attributes included in all indexes of a table
	nameBytesMin     = 3
	nameBytesMax     = 255
	attrNameBytesMax = 255
)

// definition is a table as CreateTable gave it and DescribeTable shows it. It is stored as JSON.
type definition struct {
	TableName                 string
	TableId                   string
	Created                   float64 // seconds since 1970, with milliseconds
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keyElement
	GlobalSecondaryIndexes    []indexDefinition      `json:",omitempty"`
	BillingMode               string                 `json:",omitempty"`
	ProvisionedThroughput     *provisionedThroughput `json:",omitempty"`
	DeletionProtectionEnabled bool                   `json:",omitempty"`
	TTL                       string                 `json:",omitempty"`
}

type attributeDefinition struct{ AttributeName, AttributeType string }

type keyElement struct{ AttributeName, KeyType string }

type indexDefinition struct {
	IndexName             string
	KeySchema             []keyElement
	Projection            projection
	ProvisionedThroughput *provisionedThroughput `json:",omitempty"`
}

type projection struct {
	ProjectionType   string
	NonKeyAttributes []string `json:",omitempty"`
}

type provisionedThroughput struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

// readDefinition reads one member of CreateTable.
func (q *request) readDefinition(r *attr.Reader, name string) error {
	if q.definition == nil {
		q.definition = &definition{}
	}
	raw, err := r.Raw()
	if err != nil {
		return err
	}
	d := q.definition
	switch name {
	case "AttributeDefinitions":
		return strict(q.op, raw, &d.AttributeDefinitions)
	case "KeySchema":
		return strict(q.op, raw, &d.KeySchema)
	case "GlobalSecondaryIndexes":
		if string(raw) == "[]" {
			return noIndexes()
		}
		return strict(q.op, raw, &d.GlobalSecondaryIndexes)
	case "BillingMode":
		return strict(q.op, raw, &d.BillingMode)
	case "ProvisionedThroughput":
		return strict(q.op, raw, &d.ProvisionedThroughput)
	case "DeletionProtectionEnabled":
		return strict(q.op, raw, &d.DeletionProtectionEnabled)
	}
	return refusedMember(q.op, name)
}

func noIndexes() error {
	return invalid("%sList of GlobalSecondaryIndexes is empty", reasonInvalid)
}

// strict refuses what the structure does not have, by name.
func strict(op string, raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if _, field, found := strings.Cut(err.Error(), "unknown field "); found {
		return refusedMember(op, strings.Trim(field, `"`))
	}
	return &attr.Malformed{Reason: "A member of " + op + " has the wrong type"}
}

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

func checkTableName(name string) error {
	switch {
	case name == "":
		return invalid("The parameter 'TableName' is required but was not present in the request")
	case len(name) < nameBytesMin || len(name) > nameBytesMax:
		return invalid("TableName must be at least 3 characters long and at most 255 characters long")
	case !nameForm.MatchString(name):
		return invalid("1 validation error detected: Value '%s' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+", name)
	}
	return nil
}

// check says what is wrong with a definition that CreateTable gave.
func (d *definition) check() error {
	if err := d.checkBilling(); err != nil {
		return err
	}
	if err := d.checkKey(d.KeySchema); err != nil {
		return err
	}
	if err := d.checkIndexes(); err != nil {
		return err
	}
	return d.checkAttributes()
}

func (d *definition) checkBilling() error {
	switch {
	case d.BillingMode == "PAY_PER_REQUEST" && d.ProvisionedThroughput != nil:
		return invalid("%sNeither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST", reasonInvalid)
	case d.BillingMode == "PAY_PER_REQUEST":
		return nil
	case d.BillingMode != "" && d.BillingMode != "PROVISIONED":
		return invalid("1 validation error detected: Value '%s' at 'billingMode' failed to satisfy constraint: Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]", d.BillingMode)
	case d.ProvisionedThroughput == nil || d.ProvisionedThroughput.ReadCapacityUnits < 1 || d.ProvisionedThroughput.WriteCapacityUnits < 1:
		return invalid("%sReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED", reasonInvalid)
	}
	return nil
}

func (d *definition) kindOf(name string) attr.Kind {
	for _, a := range d.AttributeDefinitions {
		if a.AttributeName == name {
			return attr.KindOf(a.AttributeType)
		}
	}
	return attr.KindNone
}

func (d *definition) checkKey(keys []keyElement) error {
	if len(keys) == 0 {
		return invalid("1 validation error detected: Value null at 'keySchema' failed to satisfy constraint: Member must not be null")
	}
	if len(keys) > keysMax {
		return invalid("This local server takes at most one HASH and one RANGE key; KeySchema has %d", len(keys))
	}
	for _, k := range keys {
		if d.kindOf(k.AttributeName) == attr.KindNone {
			return invalid("%sSome index key attributes are not defined in AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]", reasonInvalid, keyNames(keys), d.attributeNames())
		}
	}
	switch {
	case keys[0].KeyType != "HASH":
		return invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(keys) == 1:
		return nil
	case keys[1].AttributeName == keys[0].AttributeName:
		return invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case keys[1].KeyType != "RANGE":
		return invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	return nil
}

func keyNames(keys []keyElement) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.AttributeName
	}
	return strings.Join(names, ", ")
}

func (d *definition) attributeNames() string {
	names := make([]string, len(d.AttributeDefinitions))
	for i, a := range d.AttributeDefinitions {
		names[i] = a.AttributeName
	}
	return strings.Join(names, ", ")
}

func (d *definition) checkIndexes() error {
	if len(d.GlobalSecondaryIndexes) > indexesMax {
		return invalid("%sGlobalSecondaryIndex count exceeds the per-table limit of 20", reasonInvalid)
	}
	seen := map[string]bool{}
	included := 0
	for _, ix := range d.GlobalSecondaryIndexes {
		if err := d.checkIndex(ix); err != nil {
			return err
		}
		if seen[ix.IndexName] {
			return invalid("%sDuplicate index name: %s", reasonInvalid, ix.IndexName)
		}
		seen[ix.IndexName] = true
		included += len(ix.Projection.NonKeyAttributes)
	}
	if included > nonKeyMax {
		return invalid("%sNumber of NonKeyAttributes in all indexes exceeds the limit of %d", reasonInvalid, nonKeyMax)
	}
	return nil
}

func (d *definition) checkIndex(ix indexDefinition) error {
	if len(ix.IndexName) < nameBytesMin || len(ix.IndexName) > nameBytesMax || !nameForm.MatchString(ix.IndexName) {
		return invalid("1 validation error detected: Value '%s' at 'globalSecondaryIndexes.1.member.indexName' failed to satisfy constraint: Member must have length greater than or equal to 3", ix.IndexName)
	}
	if err := d.checkKey(ix.KeySchema); err != nil {
		return err
	}
	p := ix.Projection
	switch {
	case p.ProjectionType != "ALL" && p.ProjectionType != "KEYS_ONLY" && p.ProjectionType != "INCLUDE":
		return invalid("%sUnknown ProjectionType: %s", reasonInvalid, orNull(p.ProjectionType))
	case p.ProjectionType != "INCLUDE" && len(p.NonKeyAttributes) > 0:
		return invalid("%sProjectionType is %s, but NonKeyAttributes is specified", reasonInvalid, p.ProjectionType)
	case p.ProjectionType == "INCLUDE" && len(p.NonKeyAttributes) == 0:
		return invalid("%sProjectionType is INCLUDE, but NonKeyAttributes is not specified", reasonInvalid)
	case d.BillingMode == "PAY_PER_REQUEST" && ix.ProvisionedThroughput != nil:
		return invalid("%sProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", reasonInvalid, ix.IndexName)
	}
	return nil
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// checkAttributes refuses definitions that no key uses, and types other than S, N and B.
func (d *definition) checkAttributes() error {
	used := map[string]bool{}
	for _, k := range d.KeySchema {
		used[k.AttributeName] = true
	}
	for _, ix := range d.GlobalSecondaryIndexes {
		for _, k := range ix.KeySchema {
			used[k.AttributeName] = true
		}
	}
	for _, a := range d.AttributeDefinitions {
		if kind := attr.KindOf(a.AttributeType); kind != attr.KindString && kind != attr.KindNumber && kind != attr.KindBinary {
			return invalid("1 validation error detected: Value '%s' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]", a.AttributeType)
		}
		if len(a.AttributeName) > attrNameBytesMax {
			return invalid("1 validation error detected: Value '%s' at 'attributeDefinitions.1.member.attributeName' failed to satisfy constraint: Member must have length less than or equal to 255", a.AttributeName)
		}
	}
	if len(used) != len(d.AttributeDefinitions) {
		return invalid("%sNumber of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions", reasonInvalid)
	}
	return nil
}

// table builds what item operations use.
func (d *definition) table() *table {
	t := &table{name: d.TableName, key: d.schema(d.KeySchema), bucket: []byte(d.TableId), def: d}
	for _, ix := range d.GlobalSecondaryIndexes {
		t.indexes = append(t.indexes, d.index(t, ix))
	}
	return t
}

func (d *definition) schema(keys []keyElement) keySchema {
	var k keySchema
	for _, e := range keys {
		k.attrs = append(k.attrs, keyAttr{e.AttributeName, d.kindOf(e.AttributeName)})
	}
	return k
}

func (d *definition) index(t *table, def indexDefinition) *index {
	ix := &index{
		name: def.IndexName, key: d.schema(def.KeySchema), bucket: []byte(d.TableId + "/" + def.IndexName),
		projection: def.Projection.ProjectionType,
	}
	if ix.projection == "ALL" {
		return ix
	}
	var keep []expr.Path
	for _, a := range t.key.attrs {
		keep = append(keep, expr.Path{{Name: a.name}})
	}
	for _, a := range ix.key.attrs {
		keep = append(keep, expr.Path{{Name: a.name}})
	}
	for _, name := range def.Projection.NonKeyAttributes {
		keep = append(keep, expr.Path{{Name: name}})
	}
	ix.keep = expr.NewProjection(keep)
	return ix
}
