package local

import (
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"holdfast/internal/execution"
	"holdfast/internal/ledger"
)

// The handlers reach what stands for AWS without a wire, unless somebody stands in between: an endpoint that the
// environment names, or whoever was given to stand around the calls. Both ways give the same answers and errors.

// awsConfig is what the SDK needs to speak to something on this machine.
func awsConfig() aws.Config {
	return aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
}

// endpoint is an AWS endpoint that the environment names instead of ours.
func endpoint(name string) string { return os.Getenv("AWS_ENDPOINT_URL_" + name) }

// ownDynamo says that the ledger is this laptop's own server and nobody stands between.
func (l *Local) ownDynamo() bool {
	return endpoint("DYNAMODB") == "" && l.options.Outside.Dynamo == nil && l.options.Around == nil
}

func (l *Local) dynamoClient() *dynamodb.Client {
	return dynamodb.NewFromConfig(awsConfig(), ledger.Bounded, func(o *dynamodb.Options) {
		if url := endpoint("DYNAMODB"); url != "" {
			o.BaseEndpoint = &url
			return
		}
		o.HTTPClient, o.BaseEndpoint = l.Dynamo.Transport(), &l.DynamoDB
	})
}

func (l *Local) statesAPI() execution.API {
	url, around := endpoint("SFN"), l.options.Outside.States
	if url == "" && around == nil {
		return l.States.Client()
	}
	return sfn.NewFromConfig(awsConfig(), func(o *sfn.Options) {
		if url != "" {
			o.BaseEndpoint = &url
			return
		}
		o.HTTPClient, o.BaseEndpoint = &http.Client{Transport: around(l.States.Transport())}, &l.Addresses.States
	})
}
