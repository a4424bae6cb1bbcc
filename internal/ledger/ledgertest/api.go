package ledgertest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"holdfast/internal/ledger"
)

// API is what the suite asks of an endpoint: what the ledger does, and what the suite needs to stand in its way.
// *dynamodb.Client is one; behind any other the suite's wire cuts calls instead of requests.
type API interface {
	ledger.API
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error)
}

// behind is the API behind the wire: with a client every request goes over it, otherwise every call does.
func (w *wire) behind(api API) ledger.API {
	client, ok := api.(*dynamodb.Client)
	if !ok {
		return &cut{api, w}
	}
	return dynamodb.New(client.Options(), ledger.Bounded, func(o *dynamodb.Options) {
		w.next = o.HTTPClient
		o.HTTPClient = w
	})
}

// cut is an API behind a wire. It repeats calls as a client with the ledger's bounds would, but at once.
type cut struct {
	API
	wire *wire
}

// call is one operation of an API.
type call[I, O any] func(context.Context, *I, ...func(*dynamodb.Options)) (*O, error)

// over makes a call over the wire; scripted is the same operation of a client, which reads what a fault answers.
func over[I, O any](ctx context.Context, c *cut, op string, in *I, do call[I, O], scripted func(*dynamodb.Client, context.Context, *I, ...func(*dynamodb.Options)) (*O, error)) (*O, error) {
	var o dynamodb.Options
	ledger.Bounded(&o)
	standard := o.Retryer.(*retry.Standard)
	for try := 1; ; try++ {
		out, err := once(ctx, c.wire, op, in, do, scripted)
		if err == nil || ctx.Err() != nil || try == standard.MaxAttempts() || !standard.IsErrorRetryable(err) {
			return out, err
		}
	}
}

func once[I, O any](ctx context.Context, w *wire, op string, in *I, do call[I, O], scripted func(*dynamodb.Client, context.Context, *I, ...func(*dynamodb.Options)) (*O, error)) (*O, error) {
	body, err := json.Marshal(in) // an input's members are named as on the wire
	if err != nil {
		return nil, err
	}
	f := w.fault(op, body)
	if f.before != nil {
		f.before()
	}
	broken := &smithy.OperationError{ServiceID: dynamodb.ServiceID, OperationName: op, Err: &smithyhttp.RequestSendError{Err: errCut}}
	switch {
	case f.drop:
		return nil, broken
	case f.status != 0 || f.code != "":
		return scripted(answering(f), ctx, in)
	}
	out, err := do(ctx, in)
	if f.after != nil {
		f.after()
	}
	if err == nil && f.lose {
		return nil, broken
	}
	return out, err
}

// answering is a client to which every request is answered with the fault.
func answering(f fault) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://scripted.invalid"), HTTPClient: f,
		Retryer: aws.NopRetryer{}, Credentials: aws.AnonymousCredentials{}})
}

// Do implements dynamodb.HTTPClient.
func (f fault) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return f.answer(r), nil
}

// The ledger's calls, each over the wire.

func (c *cut) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return over(ctx, c, "DescribeTable", in, c.API.DescribeTable, (*dynamodb.Client).DescribeTable)
}

func (c *cut) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return over(ctx, c, "GetItem", in, c.API.GetItem, (*dynamodb.Client).GetItem)
}

func (c *cut) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return over(ctx, c, "PutItem", in, c.API.PutItem, (*dynamodb.Client).PutItem)
}

func (c *cut) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return over(ctx, c, "UpdateItem", in, c.API.UpdateItem, (*dynamodb.Client).UpdateItem)
}

func (c *cut) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return over(ctx, c, "Query", in, c.API.Query, (*dynamodb.Client).Query)
}

func (c *cut) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return over(ctx, c, "Scan", in, c.API.Scan, (*dynamodb.Client).Scan)
}

func (c *cut) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return over(ctx, c, "TransactWriteItems", in, c.API.TransactWriteItems, (*dynamodb.Client).TransactWriteItems)
}
