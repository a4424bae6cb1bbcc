package dynamo_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/dynamo/conformance"
)

func openServer(tb testing.TB, o dynamo.Options) *dynamo.Server {
	tb.Helper()
	server, err := dynamo.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
	return server
}

func inProcess(server *dynamo.Server) *dynamodb.Client {
	return conformance.Client("http://in-process.invalid", server.Transport())
}

func overHTTP(url string) *dynamodb.Client {
	return conformance.Client(url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}})
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int) types.AttributeValue    { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }

var _ aws.HTTPClient = (*dynamo.Client)(nil)
