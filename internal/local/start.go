package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast"
	"holdfast/internal/identity"
	"holdfast/internal/ledger"
	"holdfast/internal/local/states"
	"holdfast/internal/samtemplate"
	"holdfast/statemachine"

	cryptorand "crypto/rand"
)

func (l *Local) newID(prefix string) string { return NewID(prefix) }

// NewID is an id that nothing else has, such as of a notification.
func NewID(prefix string) string {
	id, err := identity.Random(cryptorand.Reader, prefix)
	if err != nil {
		panic(fmt.Sprintf("no randomness: %v", err))
	}
	return id
}

// startStates starts the interpreter with the shipped file, its placeholders filled with local functions.
func (l *Local) startStates() error {
	definition, err := statemachine.Fill(map[string]string{
		"PlanFunctionArn": functionArn("PlanFunction"), "AskFunctionArn": functionArn("AskFunction"),
		"ExecuteFunctionArn": functionArn("ExecuteFunction"), "ReconcileFunctionArn": functionArn("ReconcileFunction"),
	})
	if err != nil {
		return err
	}
	l.States, err = states.New(states.Options{
		Clock: l.Clock, Invoker: queued{l.functions, l.turns}, MaxCalls: callsMax, NewToken: func() string { return l.newID("t") }, Random: rand.Float64,
		Machines: map[string][]byte{machineName: definition},
	})
	if err != nil {
		return err
	}
	l.closers = append(l.closers, func() error { l.States.Close(); return nil })
	l.Addresses.States, err = l.listen(l.States)
	return err
}

// callsMax is how many calls of the state machine may wait for their turn or work. The states' own time limits go on while
// they wait; so many are through long before that.
const callsMax = 10_000

// addFunctions registers every function of the template with its handler and time limit. One without the other is an
// error: local must not run less, or more, than what is deployed.
func (l *Local) addFunctions(webhook any) error {
	t, err := samtemplate.Parse(holdfast.Template)
	if err != nil {
		return err
	}
	handlers := map[string]any{
		"WebhookFunction": webhook, "PlanFunction": l.App.Runner.Plan, "AskFunction": l.App.Runner.Ask, "ExecuteFunction": l.App.Runner.Execute,
		"ReconcileFunction": l.App.Runner.Reconcile, "ReviewFunction": l.App.Review.Handle, "SweepFunction": l.App.HandleSweep,
	}
	found, err := t.Functions()
	if err != nil {
		return err
	}
	for _, f := range found {
		handler, ok := handlers[f.ID]
		if !ok {
			return fmt.Errorf("template.yaml has the function %s, and no handler is known for it", f.ID)
		}
		l.functions.add(f.ID, handler, time.Duration(f.TimeoutS)*time.Second)
		delete(handlers, f.ID)
	}
	if len(handlers) > 0 {
		return fmt.Errorf("template.yaml lacks functions that have handlers: %d", len(handlers))
	}
	return nil
}

// listen serves a handler on a loopback port of its own.
func (l *Local) listen(h http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	l.serve(listener, onlyLoopback(h))
	return "http://" + listener.Addr().String(), nil
}

// How long the other side of a connection may take, by the machine's clock.
const (
	headerWait = 10 * time.Second
	bodyWait   = time.Minute
	idleWait   = 2 * time.Minute
)

func (l *Local) serve(listener net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: headerWait, ReadTimeout: bodyWait, IdleTimeout: idleWait, MaxHeaderBytes: 2 * headerBytesMax}
	l.servers = append(l.servers, s)
	go func() {
		if err := s.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			l.log.Error("server ended", "address", listener.Addr().String(), "error", err)
		}
	}()
}

// makeTable creates the ledger's table where there is none.
func makeTable(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, ledger.TableInput(tableName))
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	return dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(tableName)}, time.Minute)
}

// sweeps calls the sweep function on its schedule, by the product's clock.
func (l *Local) sweeps(ctx context.Context) {
	defer close(l.done)
	every := l.options.SweepEvery
	if every == 0 {
		every = time.Minute
	}
	if every < 0 {
		<-ctx.Done()
		return
	}
	audited := l.Clock.Now()
	for {
		if err := l.Clock.SleepUntil(ctx, l.Clock.Now().Add(every)); err != nil {
			return
		}
		if _, err := l.SweepOnce(ctx); err != nil && ctx.Err() == nil {
			l.log.Error("sweep", "error", err)
		}
		if now := l.Clock.Now(); now.Sub(audited) >= auditEvery {
			audited = now
			if _, err := l.Invoke(ctx, "SweepFunction", []byte(`{"audit":true}`)); err != nil && ctx.Err() == nil {
				l.log.Error("audit", "error", err)
			}
		}
	}
}

// auditEvery is the schedule of the audit; template.yaml has the same.
const auditEvery = 24 * time.Hour

// SweepOnce calls the sweep function through its Lambda signature.
func (l *Local) SweepOnce(ctx context.Context) ([]byte, error) {
	return l.Invoke(ctx, "SweepFunction", []byte("{}"))
}

// NewSeed is a seed for simulated targets that no earlier start had.
func NewSeed() uint64 { return rand.Uint64() }
