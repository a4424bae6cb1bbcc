package conformance_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/dynamo/conformance"
)

// endpointVariable is the SDK's own: an endpoint to ask besides our server. seedVariable replays a run's random part.
const (
	endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"
	seedVariable     = "HOLDFAST_SEED"
)

// TestInProcess asks our server over both of its stores, through the SDK's client and without it.
func TestInProcess(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, way(t), options(t))
		})
	}
}

// ways are all ways to a new server of ours within the process.
func ways() map[string]func(*testing.T) conformance.API {
	return map[string]func(*testing.T) conformance.API{
		"client over file":   func(t *testing.T) conformance.API { return client(open(t, dynamo.Options{})) },
		"client over memory": func(t *testing.T) conformance.API { return client(open(t, dynamo.Options{Memory: true})) },
		"direct over file":   func(t *testing.T) conformance.API { return open(t, dynamo.Options{}).Direct() },
		"direct over memory": func(t *testing.T) conformance.API { return open(t, dynamo.Options{Memory: true}).Direct() },
	}
}

func client(server *dynamo.Server) conformance.API {
	return conformance.Client("http://in-process.invalid", server.Transport())
}

// TestEndpoint asks the endpoint of the environment, or without one our server over HTTP.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Rivals, o.Prefix = endpointRivals, "conformance-endpoint"
	conformance.Run(t, endpoint(t), o)
}

// endpointRivals is how many callers race over HTTP, where each has a connection.
const endpointRivals = 100

// TestCompare makes the same random requests at our server and at the endpoint of the environment, or, each way by itself,
// at a second server of ours. Somebody else's endpoint has one table for it, so only one way goes there.
func TestCompare(t *testing.T) {
	t.Parallel()
	if os.Getenv(endpointVariable) != "" {
		conformance.Compare(t, ways()["client over file"](t), endpoint(t), options(t))
		return
	}
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Compare(t, way(t), endpoint(t), options(t))
		})
	}
}

func options(t *testing.T) conformance.Options {
	text := os.Getenv(seedVariable)
	if text == "" {
		return conformance.Options{}
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: %v", seedVariable, text, err)
	}
	return conformance.Options{Seed: seed}
}

func open(t *testing.T, o dynamo.Options) *dynamo.Server {
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

func overHTTP(t *testing.T) *dynamodb.Client {
	web := httptest.NewServer(open(t, dynamo.Options{}))
	t.Cleanup(web.Close)
	return conformance.Client(web.URL, pooled(t))
}

func endpoint(t *testing.T) *dynamodb.Client {
	if url := os.Getenv(endpointVariable); url != "" {
		return conformance.Client(url, pooled(t))
	}
	return overHTTP(t)
}

func pooled(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, MaxConnsPerHost: 200}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
