package ledgertest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
	"holdfast/internal/local/dynamo"
)

// The suite holds over every way to the embedded server. The remaining one, the client over a file, is run by the
// ledger's own tests, where each case has its name.

func TestClientOverMemory(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, dynamodb.New(dynamodb.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		BaseEndpoint: aws.String("http://in-process.invalid"), HTTPClient: open(t, dynamo.Options{Memory: true}).Transport(),
	}, ledger.Bounded))
}

func TestDirectOverMemory(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, open(t, dynamo.Options{Memory: true}).Direct())
}

func TestDirectOverFile(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, open(t, dynamo.Options{}).Direct())
}

func open(t *testing.T, o dynamo.Options) *dynamo.Server {
	t.Helper()
	server, err := dynamo.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}
