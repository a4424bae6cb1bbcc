package states_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/local/states"
)

const function = "arn:aws:lambda:us-east-1:000000000000:function:f"

// invoker is a function for each call.
type invoker func(ctx context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error)

func (f invoker) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
	return f(ctx, arn, payload)
}

// echo answers with what it got.
func echo(_ context.Context, _ string, payload []byte) ([]byte, *states.FunctionError, error) {
	return payload, nil, nil
}

func fails(name string) invoker {
	return func(context.Context, string, []byte) ([]byte, *states.FunctionError, error) {
		return nil, &states.FunctionError{Type: name, Payload: []byte(`{"errorType":"` + name + `"}`)}, nil
	}
}

// lab is a server with a movable clock and one machine, "m".
type lab struct {
	*testing.T
	clock  *clock.Movable
	server *states.Server
	sdk    *sfn.Client
}

func newLab(t *testing.T, definition string, f invoker, change ...func(*states.Options)) *lab {
	t.Helper()
	var tokens atomic.Int64
	c := clock.New()
	o := states.Options{
		Clock: c, Invoker: f, Machines: map[string][]byte{"m": []byte(definition)},
		NewToken: func() string { return fmt.Sprint("t", tokens.Add(1)) },
	}
	for _, f := range change {
		f(&o)
	}
	server, err := states.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	sdk := sfn.New(sfn.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://states.invalid"), Retryer: aws.NopRetryer{},
		HTTPClient: &http.Client{Transport: server.Transport()},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	return &lab{T: t, clock: c, server: server, sdk: sdk}
}

func (l *lab) start(name, input string) string {
	l.Helper()
	started, err := l.server.Start(states.MachineArn("m"), name, []byte(input))
	if err != nil {
		l.Fatal(err)
	}
	return started.Arn
}

func (l *lab) wait(arn string) states.Description {
	l.Helper()
	d, err := l.server.Wait(l.Context(), arn)
	if err != nil {
		l.Fatal(err)
	}
	return d
}

// after waits until an event of this type was recorded n times.
func (l *lab) after(arn, eventType string, n int) {
	l.Helper()
	err := l.server.Await(l.Context(), arn, func(events []states.Event) bool {
		seen := 0
		for _, e := range events {
			if e.Type == eventType {
				seen++
			}
		}
		return seen >= n
	})
	if err != nil {
		l.Fatalf("waiting for %s: %v", eventType, err)
	}
}

// types lists the types of an execution's events.
func (l *lab) types(arn string) string {
	l.Helper()
	events, err := l.server.History(arn)
	if err != nil {
		l.Fatal(err)
	}
	var all []string
	for _, e := range events {
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}

// gaps measures the time between each event of one type and the next event, when that has the other type.
func (l *lab) gaps(arn, from, to string) (all []time.Duration) {
	l.Helper()
	events, err := l.server.History(arn)
	if err != nil {
		l.Fatal(err)
	}
	for i := 1; i < len(events); i++ {
		if events[i-1].Type == from && events[i].Type == to {
			all = append(all, events[i].Time.Sub(events[i-1].Time))
		}
	}
	return all
}

func (l *lab) same(what string, want, got any) {
	l.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		l.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func refused(t *testing.T, err error, code string) {
	t.Helper()
	var refusal *states.Error
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

// single is a definition with one state, X, that ends unless it is a kind that cannot.
func single(fields string) string {
	return `{"StartAt":"X","States":{"X":{"End":true,` + fields + `}}}`
}

func taskOf(fields string) string {
	return single(`"Type":"Task","Resource":"` + function + `"` + fields)
}

const tokenTask = `"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
	"Parameters":{"FunctionName":"f","Payload":{"token.$":"$$.Task.Token"}}`

// tokenKeeper is a function that hands its tokens to the test.
func tokenKeeper() (invoker, <-chan string) {
	tokens := make(chan string, 16)
	return func(_ context.Context, _ string, payload []byte) ([]byte, *states.FunctionError, error) {
		var in struct{ Token string }
		err := json.Unmarshal(payload, &in)
		tokens <- in.Token
		return []byte(`{"sent":true}`), nil, err
	}, tokens
}
