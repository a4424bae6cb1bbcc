package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithytime "github.com/aws/smithy-go/time"
)

func typedCreate(in *dynamodb.CreateTableInput) (*request, error) {
	q := newTyped("CreateTable", in.TableName)
	for _, m := range []struct {
		name  string
		given bool
	}{
		{"GlobalTableSettingsReplicationMode", in.GlobalTableSettingsReplicationMode != ""}, {"GlobalTableSourceArn", in.GlobalTableSourceArn != nil},
		{"LocalSecondaryIndexes", in.LocalSecondaryIndexes != nil}, {"OnDemandThroughput", in.OnDemandThroughput != nil},
		{"ResourcePolicy", in.ResourcePolicy != nil}, {"SSESpecification", in.SSESpecification != nil},
		{"StreamSpecification", in.StreamSpecification != nil}, {"TableClass", in.TableClass != ""}, {"Tags", in.Tags != nil},
		{"VectorIndexes", in.VectorIndexes != nil}, {"WarmThroughput", in.WarmThroughput != nil},
	} {
		q.refuse(m.name, m.given)
	}
	d := &definition{BillingMode: string(in.BillingMode), DeletionProtectionEnabled: isTrue(in.DeletionProtectionEnabled),
		KeySchema: keysOf(in.KeySchema), ProvisionedThroughput: throughputOf(in.ProvisionedThroughput)}
	for _, a := range in.AttributeDefinitions {
		d.AttributeDefinitions = append(d.AttributeDefinitions, attributeDefinition{aws.ToString(a.AttributeName), string(a.AttributeType)})
	}
	if in.GlobalSecondaryIndexes != nil && len(in.GlobalSecondaryIndexes) == 0 {
		q.fail(noIndexes())
	}
	for i := range in.GlobalSecondaryIndexes {
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, q.indexOf(&in.GlobalSecondaryIndexes[i]))
	}
	q.definition = d
	return q.done()
}

func (q *typedRequest) indexOf(in *types.GlobalSecondaryIndex) indexDefinition {
	q.refuse("OnDemandThroughput", in.OnDemandThroughput != nil).refuse("WarmThroughput", in.WarmThroughput != nil)
	ix := indexDefinition{IndexName: aws.ToString(in.IndexName), KeySchema: keysOf(in.KeySchema), ProvisionedThroughput: throughputOf(in.ProvisionedThroughput)}
	if p := in.Projection; p != nil {
		ix.Projection = projection{string(p.ProjectionType), p.NonKeyAttributes}
	}
	return ix
}

func keysOf(in []types.KeySchemaElement) []keyElement {
	var keys []keyElement
	for _, k := range in {
		keys = append(keys, keyElement{aws.ToString(k.AttributeName), string(k.KeyType)})
	}
	return keys
}

func throughputOf(in *types.ProvisionedThroughput) *provisionedThroughput {
	if in == nil {
		return nil
	}
	return &provisionedThroughput{aws.ToInt64(in.ReadCapacityUnits), aws.ToInt64(in.WriteCapacityUnits)}
}

func typedTTL(in *dynamodb.UpdateTimeToLiveInput) (*request, error) {
	q := newTyped("UpdateTimeToLive", in.TableName)
	if s := in.TimeToLiveSpecification; s != nil {
		q.hasTTL, q.ttlAttribute, q.ttlEnabled = true, aws.ToString(s.AttributeName), isTrue(s.Enabled)
	}
	return q.done()
}

func typedList(in *dynamodb.ListTablesInput) (*request, error) {
	q := newTyped("ListTables", nil)
	q.list.after = aws.ToString(in.ExclusiveStartTableName)
	q.limit, q.hasLimit = number(in.Limit)
	return q.done()
}

// typed is the description in the SDK's form.
func (d *tableDescription) typed() *types.TableDescription {
	out := &types.TableDescription{
		TableName: &d.TableName, TableId: &d.TableId, TableArn: &d.TableArn, TableStatus: types.TableStatus(d.TableStatus),
		CreationDateTime: instant(d.CreationDateTime), AttributeDefinitions: []types.AttributeDefinition{}, KeySchema: typedKeys(d.KeySchema),
		ProvisionedThroughput: d.ProvisionedThroughput.typed(), ItemCount: &d.ItemCount, TableSizeBytes: &d.TableSizeBytes,
		DeletionProtectionEnabled: &d.DeletionProtectionEnabled,
	}
	for _, a := range d.AttributeDefinitions {
		out.AttributeDefinitions = append(out.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(a.AttributeName), AttributeType: types.ScalarAttributeType(a.AttributeType)})
	}
	if b := d.BillingModeSummary; b != nil {
		out.BillingModeSummary = &types.BillingModeSummary{BillingMode: types.BillingMode(b.BillingMode),
			LastUpdateToPayPerRequestDateTime: instant(b.LastUpdateToPayPerRequestDateTime)}
	}
	for i := range d.GlobalSecondaryIndexes {
		out.GlobalSecondaryIndexes = append(out.GlobalSecondaryIndexes, d.GlobalSecondaryIndexes[i].typed())
	}
	return out
}

func (d *indexDescription) typed() types.GlobalSecondaryIndexDescription {
	return types.GlobalSecondaryIndexDescription{
		IndexName: &d.IndexName, IndexArn: &d.IndexArn, IndexStatus: types.IndexStatus(d.IndexStatus), KeySchema: typedKeys(d.KeySchema),
		Projection:            &types.Projection{ProjectionType: types.ProjectionType(d.Projection.ProjectionType), NonKeyAttributes: d.Projection.NonKeyAttributes},
		ProvisionedThroughput: d.ProvisionedThroughput.typed(), ItemCount: &d.ItemCount, IndexSizeBytes: &d.IndexSizeBytes,
	}
}

func (p *provisionedDescription) typed() *types.ProvisionedThroughputDescription {
	return &types.ProvisionedThroughputDescription{NumberOfDecreasesToday: &p.NumberOfDecreasesToday,
		ReadCapacityUnits: &p.ReadCapacityUnits, WriteCapacityUnits: &p.WriteCapacityUnits}
}

func typedKeys(keys []keyElement) []types.KeySchemaElement {
	out := []types.KeySchemaElement{}
	for _, k := range keys {
		out = append(out, types.KeySchemaElement{AttributeName: aws.String(k.AttributeName), KeyType: types.KeyType(k.KeyType)})
	}
	return out
}

// instant reads seconds since 1970 as the SDK does.
func instant(seconds float64) *time.Time { return aws.Time(smithytime.ParseEpochSeconds(seconds)) }
