package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/app"
	"holdfast/internal/app/hook"
	"holdfast/internal/app/work"
	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/outbox"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/local/states"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/internal/target"
	"holdfast/internal/target/wire"
)

// Options say how a laptop runs. Every address is on loopback.
type Options struct {
	Port    int    // of pages and hooks; 0 picks one
	Dir     string // keeps the ledger and the secrets; "" keeps nothing
	Flows   fs.FS
	Targets fs.FS
	Sims    fs.FS
	Sources fs.FS
	// Destinations are real servers for profiles, by name; a profile without one gets its simulated target.
	Destinations map[string]target.Destination
	Seed         uint64         // of the simulated targets
	Clock        *clock.Movable // shared with what outlives this laptop; nil makes a new one
	Log          *slog.Logger
	// Around, when set, stands around every call to the embedded DynamoDB server.
	Around func(dynamo.Call, func() dynamo.Reply) dynamo.Reply
	// OnCall, when set, is told of the capacity of each ledger call.
	OnCall func(call string, units float64)
	// OnAnswer, when set, is told what a function of the template answered, before whoever called it is.
	OnAnswer func(function string, answer []byte)
	// SweepEvery is the schedule of the sweep by the product's clock; 0 means a minute, negative means never.
	SweepEvery time.Duration
	// Outside is what goes on when this laptop ends. Nil parts are the laptop's own and end with it.
	Outside Outside
}

// Outside are the systems and the time that do not end with a process of the product, for whoever starts it again.
type Outside struct {
	Clock   *clock.Movable
	Dynamo  *dynamo.Server
	Sim     *simtarget.Sim
	Secrets Secrets
	// Dial makes the connections to targets.
	Dial wire.Dial
	// States stands around every call to the Step Functions API.
	States func(http.RoundTripper) http.RoundTripper
}

// Addresses are where a running laptop is reached.
type Addresses struct {
	Hooks    string `json:"hooks"`
	Console  string `json:"console"`
	Outbox   string `json:"outbox"`
	Targets  string `json:"targets"`
	DynamoDB string `json:"dynamodb"`
	States   string `json:"states"`
	Review   string `json:"review"`
	Clock    string `json:"clock"`
}

// Local is a running laptop.
type Local struct {
	Addresses
	Clock   *clock.Movable
	App     *work.App
	Sim     *simtarget.Sim
	Outbox  *outbox.Outbox
	States  *states.Server
	Dynamo  *dynamo.Server
	Secrets Secrets
	Config  app.Config
	// Destinations are where each profile's requests go.
	Destinations map[string]target.Destination

	options   Options
	functions *functions
	turns     *turns       // nil where calls wait for other machines, which takes nobody's time
	front     http.Handler // hooks and pages
	admission admission
	sources   []source.Config
	kept      kept
	keeping   sync.Mutex // held while kept is written
	log       *slog.Logger
	servers   []*http.Server
	cancel    context.CancelFunc
	done      chan struct{}
	closers   []func() error
}

const (
	tableName   = "holdfast"
	machineName = "holdfast-run"
	ownerLocal  = "owner@example.com"
)

// Start starts everything. Close ends it.
func Start(ctx context.Context, o Options) (*Local, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Local{options: o, Clock: o.Outside.Clock, log: o.Log, done: make(chan struct{})}
	if l.Clock == nil {
		l.Clock = clock.New()
	}
	l.functions = newFunctions(l.Clock)
	l.functions.onAnswer = o.OnAnswer
	if l.ownDynamo() && o.Outside.States == nil {
		l.turns = newTurns(o.Dir != "")
	}
	if err := l.start(ctx); err != nil {
		close(l.done)
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Local) start(ctx context.Context) error {
	if err := l.openDir(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", l.options.Port))
	if err != nil {
		return fmt.Errorf("port %d cannot be used (%w); choose another with --port, or --port 0", l.options.Port, err)
	}
	base := "http://" + listener.Addr().String()
	l.closers = append(l.closers, func() error { _ = listener.Close(); return nil })
	l.Addresses = Addresses{Hooks: base + "/hooks", Console: base + "/", Outbox: base + "/outbox", Targets: base + "/_sim/", Review: base + "/review", Clock: base + "/_local/clock"}
	if err := l.startServices(ctx); err != nil {
		return err
	}
	if err := l.startHandlers(ctx); err != nil {
		return err
	}
	if l.front, err = l.pages(); err != nil {
		return err
	}
	l.serve(listener, l.front)
	running, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	go l.sweeps(running)
	return nil
}

// openDir makes the data directory and reads what an earlier laptop kept in it.
func (l *Local) openDir() error {
	dir := l.options.Dir
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("the data directory cannot be made (%w); name one that you may write with --data", err)
		}
	}
	var err error
	if l.kept, err = loadKept(dir); err != nil {
		return err
	}
	return l.moveAsKept()
}

// startServices starts what stands for AWS and for the outside world.
func (l *Local) startServices(ctx context.Context) error {
	err := l.startDynamo()
	if err != nil {
		return err
	}
	if l.DynamoDB, err = l.listen(l.Dynamo); err != nil {
		return err
	}
	l.Outbox = outbox.New(outbox.Options{Clock: l.Clock})
	l.closers = append(l.closers, l.Outbox.Close)
	if err := l.startSim(); err != nil {
		return err
	}
	if l.Secrets = l.options.Outside.Secrets; l.Secrets == nil {
		if l.Secrets, err = loadSecrets(l.options.Dir, sourceSecrets(l.options.Sources)); err != nil {
			return err
		}
	}
	return l.startStates()
}

func (l *Local) startDynamo() error {
	if l.Dynamo = l.options.Outside.Dynamo; l.Dynamo != nil {
		return nil
	}
	dir := ""
	if l.options.Dir != "" {
		dir = filepath.Join(l.options.Dir, "dynamodb")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var err error
	if l.Dynamo, err = dynamo.Open(dynamo.Options{Dir: dir, Memory: dir == "", Clock: l.Clock, Around: l.options.Around}); err != nil {
		if dir != "" {
			return fmt.Errorf("the data directory %s cannot be used (%w); stop the `holdfast local` that uses it, or name another with --data", l.options.Dir, err)
		}
		return err
	}
	l.closers = append(l.closers, l.Dynamo.Close)
	return nil
}

func (l *Local) startSim() error {
	if l.Sim = l.options.Outside.Sim; l.Sim != nil {
		return nil
	}
	specs, err := simtarget.Load(l.options.Sims)
	if err != nil {
		return err
	}
	l.Sim = simtarget.New(simtarget.Options{Clock: l.Clock, Specs: specs, Seed: l.options.Seed})
	l.closers = append(l.closers, l.Sim.Close)
	return nil
}

// sourceSecrets names a secret for each source file; the file's own checks come later.
func sourceSecrets(files fs.FS) []string {
	names, _ := fs.Glob(files, "*.yaml")
	for i, n := range names {
		names[i] = "sources/" + strings.TrimSuffix(n, ".yaml")
	}
	return names
}

func (l *Local) startHandlers(ctx context.Context) error {
	smtp, err := l.Outbox.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	l.Config = app.Config{
		Table: tableName, Machine: states.MachineArn(machineName), Stack: "local", Review: l.Review, MailFrom: "holdfast@example.com",
		SMTP: smtp, Owner: ownerLocal, FunctionTimeout: time.Minute,
	}
	parts := work.Parts{Flows: l.options.Flows, Targets: l.options.Targets, Dial: l.dial(), Notifier: app.Mailer(l.Config, awsConfig())}
	profiles, compiled, err := work.Load(parts)
	if err != nil {
		return err
	}
	if parts.Destinations, err = l.destinations(profiles); err != nil {
		return err
	}
	if err := l.keep(); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := allSimulated(compiled, parts.Destinations); err != nil {
		return err
	}
	l.Destinations = parts.Destinations
	l.Sim.Named(l.real())
	base, err := l.base(ctx, runner.Fold(work.Policies(profiles, l.Config)))
	if err != nil {
		return err
	}
	if l.App, err = work.New(ctx, base, parts, profiles, compiled); err != nil {
		return err
	}
	if err := l.App.KeepShapes(ctx); err != nil {
		return err
	}
	if l.sources, err = sourcefile.Load(l.options.Sources); err != nil {
		return err
	}
	in, err := hook.New(base, l.options.Flows, l.options.Sources)
	if err != nil {
		return err
	}
	return l.addFunctions(in.Handle)
}

func (l *Local) dial() wire.Dial {
	if d := l.options.Outside.Dial; d != nil {
		return l.turns.lending(d)
	}
	return l.turns.lending((&net.Dialer{}).DialContext)
}

func (l *Local) base(ctx context.Context, fold ledger.Fold) (*app.Base, error) {
	client := l.dynamoClient()
	if err := makeTable(ctx, client); err != nil {
		return nil, err
	}
	parts := app.Parts{Clock: l.Clock, Secrets: l.Secrets, Fold: fold, Log: l.log, OnCall: l.options.OnCall, Dynamo: client, States: l.statesAPI()}
	if l.ownDynamo() {
		parts.Dynamo = l.Dynamo.Direct()
	}
	return app.New(ctx, l.Config, parts)
}

// ServeHTTP answers a request for hooks and pages as the laptop's own port does, without a connection.
func (l *Local) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.front.ServeHTTP(w, r) }

// Close ends everything and waits for it.
func (l *Local) Close() error {
	if l.cancel != nil {
		l.cancel()
	}
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var failed []error
	for _, s := range l.servers {
		if err := s.Shutdown(ctx); err != nil {
			failed = append(failed, s.Close())
		}
	}
	for _, closer := range slices.Backward(l.closers) {
		failed = append(failed, closer())
	}
	return errors.Join(append(failed, l.functions.wait(ctx))...)
}

// operationTime is now by the product's clock.
func (l *Local) operationTime() operation.Time { return operation.TimeOf(l.Clock.Now()) }
