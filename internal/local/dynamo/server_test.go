package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/local/dynamo"
)

func raw(t *testing.T, server http.Handler, op, body string) (status int, answer string) {
	t.Helper()
	return post(server, op, body)
}

// post sends a request as the wire has it.
func post(server http.Handler, op, body string) (status int, answer string) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=x/20261129/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const createT = `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}`

func withTable(t *testing.T, o dynamo.Options) *dynamo.Server {
	t.Helper()
	server := openServer(t, o)
	if status, answer := raw(t, server, "CreateTable", createT); status != http.StatusOK {
		t.Fatal(answer)
	}
	return server
}

// Whatever the server does not know is refused by name, and changes nothing.
func TestRefusesByName(t *testing.T) {
	t.Parallel()
	server := withTable(t, dynamo.Options{})
	for _, c := range []struct{ op, body, want string }{
		{"ExecuteStatement", `{"Statement":"SELECT 1"}`, "com.amazon.coral.service#UnknownOperationException ExecuteStatement"},
		{"UpdateTable", `{"TableName":"tab"}`, "UnknownOperationException UpdateTable"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"Expected":{}}`, "ValidationException Expected legacy"},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"AttributesToGet":["pk"]}`, "ValidationException AttributesToGet legacy"},
		{"Query", `{"TableName":"tab","KeyConditions":{}}`, "ValidationException KeyConditions legacy"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"ReturnItemCollectionMetrics":"SIZE"}`, "ValidationException ReturnItemCollectionMetrics"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"Novelty":1}`, "ValidationException Novelty"},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"}},"ReturnValues":"NONE"}}]}`, "ValidationException ReturnValues"},
		{"TransactWriteItems", `{"TransactItems":[{}]}`, "ValidationException exactly one"},
		{"CreateTable", `{"TableName":"new","LocalSecondaryIndexes":[]}`, "ValidationException LocalSecondaryIndexes"},
		{"CreateTable", strings.Replace(createT, `"KeySchema"`, `"StreamSpecification":{"StreamEnabled":true},"KeySchema"`, 1), "ValidationException StreamSpecification"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"X":"a"}}}`, "SerializationException X"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"`, "SerializationException"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}}} trailing`, "SerializationException"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"pk":{"S":"b"}}}`, "SerializationException twice"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"\ud800"}}}`, "SerializationException surrogate"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{"N":1}}}`, "SerializationException"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{"N":"1","S":"1"}}}`, "ValidationException more than one"},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"n":{}}}`, "ValidationException is empty"},
		{"GetItem", `{"TableName":"ta","Key":{"pk":{"S":"a"}}}`, "ValidationException TableName"},
	} {
		status, answer := raw(t, server, c.op, c.body)
		for _, word := range strings.Fields(c.want) {
			if status != http.StatusBadRequest || !strings.Contains(answer, word) {
				t.Errorf("%s %s: %d %s, want %s", c.op, c.body, status, answer, c.want)
			}
		}
	}
	if _, answer := raw(t, server, "Scan", `{"TableName":"tab"}`); answer != `{"Items":[],"Count":0,"ScannedCount":0}` {
		t.Errorf("after refusals only: %s", answer)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "UnknownOperationException") {
		t.Errorf("GET: %d %s", w.Code, w.Body)
	}
}

// The wire's form, byte for byte, where clients read it.
func TestWireForm(t *testing.T) {
	t.Parallel()
	server := withTable(t, dynamo.Options{})
	for _, c := range []struct{ op, body, want string }{
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a\u00e9\"\n"},"n":{"N":"1.50"}}}`, `{}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"aé\"\n"}},"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}`, `{"Item":{"pk":{"S":"aé\"\u000a"},"n":{"N":"1.5"}},"ConsumedCapacity":{"TableName":"tab","CapacityUnits":1.0}}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"b"}}}`, `{}`},
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"aé\"\n"}},"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
			`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":{"pk":{"S":"aé\"\u000a"},"n":{"N":"1.5"}}}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"c"}}}},{"ConditionCheck":{"TableName":"tab","Key":{"pk":{"S":"d"}},"ConditionExpression":"attribute_exists(pk)"}}]}`,
			`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"}]}`},
	} {
		_, answer := raw(t, server, c.op, c.body)
		if d := cmp.Diff(c.want, answer); d != "" {
			t.Errorf("%s: want -, got +\n%s", c.op, d)
		}
	}
}

// Around can count, refuse before the commit, and lose the answer after it.
func TestAround(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	lost := errors.New("the connection was lost")
	fault := ""
	server := withTable(t, dynamo.Options{Around: func(call dynamo.Call, next func() dynamo.Reply) dynamo.Reply {
		mu.Lock()
		defer mu.Unlock()
		seen[call.Op+" "+strings.Join(call.Tables, ",")]++
		switch fault {
		case "before":
			return dynamo.Reply{Err: lost}
		case "after":
			next()
			return dynamo.Reply{Err: lost}
		}
		return next()
	}})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	for name, db := range map[string]*dynamodb.Client{"inprocess": inProcess(server), "http": overHTTP(web.URL)} {
		for _, f := range []string{"before", "after", ""} {
			mu.Lock()
			fault = f
			mu.Unlock()
			_, err := db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("tab"), Item: map[string]types.AttributeValue{"pk": str(name + f)}})
			if (err == nil) != (f == "") || name == "inprocess" && f != "" && !errors.Is(err, lost) {
				t.Errorf("%s %q: %v", name, f, err)
			}
		}
	}
	mu.Lock()
	fault = ""
	mu.Unlock()
	_, answer := raw(t, server, "Scan", `{"TableName":"tab","Select":"COUNT"}`)
	if d := cmp.Diff(`{"Count":4,"ScannedCount":4}`, answer); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"CreateTable tab": 1, "PutItem tab": 6, "Scan tab": 1}, seen); d != "" {
		t.Error(d)
	}
}

// A context that has ended stops a call before it is made.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	server := withTable(t, dynamo.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://in-process.invalid", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Transport().RoundTrip(r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A token is forgotten ten minutes after its transaction, by the server's own clock.
func TestTokenLife(t *testing.T) {
	t.Parallel()
	c := clock.New()
	server := withTable(t, dynamo.Options{Clock: c})
	const add = `{"ClientRequestToken":"tok","TransactItems":[{"Update":{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}],"ReturnConsumedCapacity":"TOTAL"}`
	write := `{"ConsumedCapacity":[{"TableName":"tab","CapacityUnits":2.0,"WriteCapacityUnits":2.0}]}`
	repeat := `{"ConsumedCapacity":[{"TableName":"tab","CapacityUnits":2.0,"ReadCapacityUnits":2.0}]}`
	for i, step := range []struct {
		move time.Duration
		want string
	}{{0, write}, {9 * time.Minute, repeat}, {2 * time.Minute, write}, {time.Minute, repeat}, {11 * time.Minute, write}} {
		c.Move(step.move)
		if _, answer := raw(t, server, "TransactWriteItems", add); answer != step.want {
			t.Errorf("call %d: %s, want %s", i, answer, step.want)
		}
	}
	if _, answer := raw(t, server, "GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`); answer != `{"Item":{"pk":{"S":"a"},"n":{"N":"3"}}}` {
		t.Error(answer)
	}
}

// A token that is used anew is not forgotten with its first use.
func TestTokenRenewed(t *testing.T) {
	t.Parallel()
	c := clock.New()
	server := withTable(t, dynamo.Options{Clock: c})
	add := func(token string) {
		t.Helper()
		status, answer := raw(t, server, "TransactWriteItems", `{"ClientRequestToken":"`+token+`","TransactItems":[{"Update":{"TableName":"tab","Key":{"pk":{"S":"`+token+`"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}`)
		if status != http.StatusOK {
			t.Error(answer)
		}
	}
	for i := range 6 {
		add(fmt.Sprintf("tok%d", i))
	}
	c.Move(11 * time.Minute)
	add("tok5")
	add("tok4") // old tokens are dropped a few at a time: now those of the first uses of 4 and 5
	add("tok5")
	if _, answer := raw(t, server, "GetItem", `{"TableName":"tab","Key":{"pk":{"S":"tok5"}}}`); answer != `{"Item":{"pk":{"S":"tok5"},"n":{"N":"2"}}}` {
		t.Error(answer)
	}
}

// What a directory keeps is there after a restart; a snapshot brings an earlier state back.
func TestKeepsAndRestores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := dynamo.Open(dynamo.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	raw(t, first, "CreateTable", createT)
	raw(t, first, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}}}`)
	var early bytes.Buffer
	if err := first.Snapshot(&early); err != nil {
		t.Fatal(err)
	}
	raw(t, first, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"b"}}}`)
	raw(t, first, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := openServer(t, dynamo.Options{Dir: dir})
	scan := func() string {
		_, answer := raw(t, again, "Scan", `{"TableName":"tab","Select":"COUNT"}`)
		_, ttl := raw(t, again, "DescribeTimeToLive", `{"TableName":"tab"}`)
		return answer + ttl
	}
	if d := cmp.Diff(`{"Count":2,"ScannedCount":2}{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}}`, scan()); d != "" {
		t.Error(d)
	}
	if err := again.Restore(&early); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`{"Count":1,"ScannedCount":1}{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`, scan()); d != "" {
		t.Error(d)
	}
}

// A write that was answered survives the kill of the process, with and without waiting for the disk.
func TestSurvivesKill(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sync", "nosync"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childVariable+"="+mode+":"+dir)
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			answered := readUntil(t, out, 200)
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = child.Wait() // it was killed
			server := openServer(t, dynamo.Options{Dir: dir})
			for _, pk := range answered {
				if _, answer := raw(t, server, "GetItem", `{"TableName":"tab","Key":{"pk":{"S":"`+pk+`"}}}`); answer == "{}" {
					t.Fatalf("write %s was answered and is gone", pk)
				}
			}
		})
	}
}

const childVariable = "HOLDFAST_DYNAMO_CHILD"

// TestMain is also the process that TestSurvivesKill kills.
func TestMain(m *testing.M) {
	if mode, dir, ok := strings.Cut(os.Getenv(childVariable), ":"); ok {
		fmt.Fprintln(os.Stderr, writeUntilKilled(mode, dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeUntilKilled writes, and says so after each answer.
func writeUntilKilled(mode, dir string) error {
	server, err := dynamo.Open(dynamo.Options{Dir: dir, NoSync: mode == "nosync"})
	if err != nil {
		return err
	}
	if status, answer := post(server, "CreateTable", createT); status != http.StatusOK {
		return errors.New(answer)
	}
	for i := 0; ; i++ {
		pk := fmt.Sprintf("%s-%d", strings.Repeat("k", i%7), i)
		if status, answer := post(server, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"`+pk+`"}}}`); status != http.StatusOK {
			return errors.New(answer)
		}
		if _, err := io.WriteString(os.Stdout, pk+"\n"); err != nil {
			return err
		}
	}
}

func readUntil(t *testing.T, r io.Reader, lines int) []string {
	t.Helper()
	var text []byte
	buf := make([]byte, 4096)
	for bytes.Count(text, []byte("\n")) < lines {
		n, err := r.Read(buf)
		text = append(text, buf[:n]...)
		if err != nil {
			t.Fatalf("the writer ended: %v\n%s", err, text)
		}
	}
	all := strings.Split(string(text), "\n")
	return all[:len(all)-1] // the last may be cut
}

// Two servers cannot share a directory.
func TestOneServerADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openServer(t, dynamo.Options{Dir: dir})
	if _, err := dynamo.Open(dynamo.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("got %v", err)
	}
}
