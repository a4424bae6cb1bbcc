package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable makes a table, which is there at once.
func (d *Direct) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...ignored) (*dynamodb.CreateTableOutput, error) {
	q, err := typedCreate(in)
	a, err := do(ctx, d, in, q, err, (*Server).createTable)
	if err != nil {
		return nil, err
	}
	return &dynamodb.CreateTableOutput{TableDescription: a.table.typed()}, nil
}

// DeleteTable removes a table with all its items; OnWrite is not told of them.
func (d *Direct) DeleteTable(ctx context.Context, in *dynamodb.DeleteTableInput, _ ...ignored) (*dynamodb.DeleteTableOutput, error) {
	q, err := newTyped("DeleteTable", in.TableName).done()
	a, err := do(ctx, d, in, q, err, (*Server).deleteTable)
	if err != nil {
		return nil, err
	}
	return &dynamodb.DeleteTableOutput{TableDescription: a.table.typed()}, nil
}

// DescribeTable describes a table.
func (d *Direct) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...ignored) (*dynamodb.DescribeTableOutput, error) {
	q, err := newTyped("DescribeTable", in.TableName).done()
	a, err := do(ctx, d, in, q, err, (*Server).describeTable)
	if err != nil {
		return nil, err
	}
	return &dynamodb.DescribeTableOutput{Table: a.table.typed()}, nil
}

// ListTables lists the names of the tables in order.
func (d *Direct) ListTables(ctx context.Context, in *dynamodb.ListTablesInput, _ ...ignored) (*dynamodb.ListTablesOutput, error) {
	q, err := typedList(in)
	a, err := do(ctx, d, in, q, err, (*Server).listTables)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.ListTablesOutput{TableNames: a.names}
	if a.last != "" {
		out.LastEvaluatedTableName = &a.last
	}
	return out, nil
}

// UpdateTimeToLive names the attribute that says when an item may go, or none.
func (d *Direct) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...ignored) (*dynamodb.UpdateTimeToLiveOutput, error) {
	q, err := typedTTL(in)
	a, err := do(ctx, d, in, q, err, (*Server).updateTTL)
	if err != nil {
		return nil, err
	}
	return &dynamodb.UpdateTimeToLiveOutput{TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &a.attribute, Enabled: &a.enabled}}, nil
}

// DescribeTimeToLive says which attribute says when an item may go.
func (d *Direct) DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, _ ...ignored) (*dynamodb.DescribeTimeToLiveOutput, error) {
	q, err := newTyped("DescribeTimeToLive", in.TableName).done()
	a, err := do(ctx, d, in, q, err, (*Server).describeTTL)
	if err != nil {
		return nil, err
	}
	out := &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}
	if a.attribute != "" {
		out.TimeToLiveStatus, out.AttributeName = types.TimeToLiveStatusEnabled, aws.String(a.attribute)
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: out}, nil
}
