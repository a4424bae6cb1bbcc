package dynamo

import (
	"holdfast/internal/local/dynamo/store"
)

// tableDescription is what DescribeTable answers.
type tableDescription struct {
	TableName                 string
	TableId                   string
	TableArn                  string
	TableStatus               string
	CreationDateTime          float64
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keyElement
	ProvisionedThroughput     provisionedDescription
	BillingModeSummary        *billingSummary    `json:",omitempty"`
	GlobalSecondaryIndexes    []indexDescription `json:",omitempty"`
	ItemCount                 int64
	TableSizeBytes            int64
	DeletionProtectionEnabled bool
}

type billingSummary struct {
	BillingMode                       string
	LastUpdateToPayPerRequestDateTime float64
}

type provisionedDescription struct {
	NumberOfDecreasesToday int64
	provisionedThroughput
}

type indexDescription struct {
	IndexName             string
	IndexArn              string
	IndexStatus           string
	KeySchema             []keyElement
	Projection            projection
	ProvisionedThroughput provisionedDescription
	ItemCount             int64
	IndexSizeBytes        int64
}

func provisioned(p *provisionedThroughput) (d provisionedDescription) {
	if p != nil {
		d.provisionedThroughput = *p
	}
	return d
}

// description describes the table. Counts are exact, which DynamoDB's are not.
func (s *Server) description(t *table, status string) (*tableDescription, error) {
	d := t.def
	arn := "arn:aws:dynamodb:" + s.options.Region + ":" + accountID + ":table/" + d.TableName
	out := &tableDescription{
		TableName: d.TableName, TableId: d.TableId, TableArn: arn, TableStatus: status, CreationDateTime: d.Created,
		AttributeDefinitions: d.AttributeDefinitions, KeySchema: d.KeySchema,
		ProvisionedThroughput:     provisioned(d.ProvisionedThroughput),
		DeletionProtectionEnabled: d.DeletionProtectionEnabled,
	}
	if d.BillingMode == "PAY_PER_REQUEST" {
		out.BillingModeSummary = &billingSummary{d.BillingMode, d.Created}
	}
	err := s.store.View(func(tx store.Tx) error {
		out.ItemCount, out.TableSizeBytes = measure(tx, t.bucket)
		for i, ix := range t.indexes {
			def := d.GlobalSecondaryIndexes[i]
			one := indexDescription{
				IndexName: ix.name, IndexArn: arn + "/index/" + ix.name, IndexStatus: status, KeySchema: def.KeySchema,
				Projection: def.Projection, ProvisionedThroughput: provisioned(def.ProvisionedThroughput),
			}
			one.ItemCount, one.IndexSizeBytes = measure(tx, ix.bucket)
			out.GlobalSecondaryIndexes = append(out.GlobalSecondaryIndexes, one)
		}
		return nil
	})
	return out, err
}

// measure counts a bucket's items and about the bytes that they take.
func measure(tx store.Tx, bucket []byte) (items, bytes int64) {
	b := tx.Bucket(bucket)
	if b == nil {
		return 0, 0
	}
	return b.Measure()
}

func (s *Server) described(member string, t *table, status string) (*tableAnswer, error) {
	d, err := s.description(t, status)
	return &tableAnswer{member, d}, err
}
