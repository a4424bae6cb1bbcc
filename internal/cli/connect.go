package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"holdfast/internal/app"
	"holdfast/internal/app/work"
	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/local"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// connection is to a ledger: of a laptop that runs, or of a stack that the environment names.
type connection struct {
	config app.Config
	parts  app.Parts
	aws    aws.Config
	laptop *local.Announced // nil for a deployed stack
}

// reach names the ledger that a command works on.
type reach struct {
	Laptop string `placeholder:"URL" env:"HOLDFAST_LAPTOP" help:"The address that this laptop's start printed, when several run; the newest is meant otherwise."`
}

var errNoLedger = errors.New("no ledger is in reach: start `holdfast local`, or set HOLDFAST_TABLE and the other variables of template.yaml for a deployed stack")

// connect finds the ledger to work on.
func connect(ctx context.Context, at reach, s *streams) (connection, error) {
	if at.Laptop == "" && os.Getenv("HOLDFAST_TABLE") != "" {
		return deployedConnection(ctx)
	}
	all, err := local.Laptops()
	if err != nil {
		return connection{}, err
	}
	found, err := answering(ctx, at, all)
	if err != nil {
		return connection{}, err
	}
	if len(found) > 1 {
		fmt.Fprintf(s.err, "%d laptops run here; this is about the newest, %s. --laptop URL names another.\n", len(found), found[0].announced.Addresses.Console)
	}
	return laptopConnection(found[0])
}

// answered is a laptop that runs, and how far a person moved its clock.
type answered struct {
	announced local.Announced
	offset    time.Duration
}

// answering are the laptops that run, the newest first: those that were killed do not answer.
func answering(ctx context.Context, at reach, all []local.Announced) ([]answered, error) {
	var out []answered
	var last error
	for _, a := range all {
		if at.Laptop != "" && strings.TrimSuffix(at.Laptop, "/") != strings.TrimSuffix(a.Addresses.Console, "/") {
			continue
		}
		offset, err := offsetOf(ctx, a.Addresses.Clock)
		if err != nil {
			last = err
			continue
		}
		out = append(out, answered{a, offset})
	}
	switch {
	case len(out) > 0:
		return out, nil
	case last != nil:
		return nil, fmt.Errorf("the laptop that was announced does not answer (%w); start `holdfast local` again", last)
	case at.Laptop != "":
		return nil, usage{fmt.Errorf("no laptop was announced at %s; `holdfast local` prints its address when it starts", at.Laptop)}
	}
	return nil, errNoLedger
}

func deployedConnection(ctx context.Context) (connection, error) {
	if os.Getenv("HOLDFAST_FUNCTION_TIMEOUT_S") == "" {
		if err := os.Setenv("HOLDFAST_FUNCTION_TIMEOUT_S", "60"); err != nil {
			return connection{}, err
		}
	}
	c, err := app.ConfigFrom(os.Getenv)
	if err != nil {
		return connection{}, usage{err}
	}
	parts, cfg, err := app.AWSParts(ctx, c)
	return connection{config: c, parts: parts, aws: cfg}, err
}

func laptopConnection(found answered) (connection, error) {
	a := found.announced
	c, err := app.ConfigFrom(func(name string) string { return a.Environment[name] })
	if err != nil {
		return connection{}, fmt.Errorf("the laptop at %s was started by another version: %w; start it again", a.Addresses.Console, err)
	}
	now := clock.New()
	now.Move(found.offset)
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	return connection{config: c, aws: cfg, laptop: &a, parts: app.Parts{
		Clock: now, Secrets: a.Secrets,
		Dynamo: dynamodb.NewFromConfig(cfg, ledger.Bounded, func(o *dynamodb.Options) { o.BaseEndpoint = &a.Addresses.DynamoDB }),
		States: sfn.NewFromConfig(cfg, func(o *sfn.Options) { o.BaseEndpoint = &a.Addresses.States }),
	}}, nil
}

// What the answer of a laptop's clock is bounded by.
const (
	answerWait     = 5 * time.Second
	answerBytesMax = 1 << 10
)

// offsetOf is how far a person moved the laptop's clock.
func offsetOf(ctx context.Context, url string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	direct := &http.Transport{DisableKeepAlives: true} // no proxy of the environment: it is this machine
	resp, err := (&http.Client{Transport: direct}).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var state struct {
		Offset string `json:"offset"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, answerBytesMax)).Decode(&state); err != nil {
		return 0, err
	}
	return time.ParseDuration(state.Offset)
}

// destinations are those of the laptop or stack; --target on the command line counts more.
func (c connection) destinations(f files) (map[string]target.Destination, error) {
	own, err := target.ParseOverrides(c.config.Destinations)
	if err != nil {
		return nil, usage{err}
	}
	if c.laptop != nil {
		maps.Copy(own, c.laptop.Destinations)
	}
	named, err := target.ParseOverrides(f.Target)
	if err != nil {
		return nil, usage{err}
	}
	maps.Copy(own, named)
	return own, nil
}

// configured uses the laptop's own files where the command line names none.
func (c connection) configured(f files) files {
	if c.laptop != nil {
		f.Flows, f.Targets = cmp.Or(f.Flows, c.laptop.FlowsDir), cmp.Or(f.Targets, c.laptop.TargetsDir)
	}
	return f
}

// openWork connects and builds the handlers' parts.
func openWork(ctx context.Context, f files, at reach, s *streams) (*work.App, error) {
	conn, err := connect(ctx, at, s)
	if err != nil {
		return nil, err
	}
	return conn.workOn(ctx, f, s)
}

// workOn builds the handlers' parts over the ledger, as the functions have them.
func (c connection) workOn(ctx context.Context, f files, s *streams) (*work.App, error) {
	f = c.configured(f)
	p := work.Parts{Flows: f.flowFS(), Targets: f.targetFS(), Dial: (&net.Dialer{}).DialContext, Notifier: app.Mailer(c.config, c.aws)}
	var err error
	if p.Destinations, err = c.destinations(f); err != nil {
		return nil, err
	}
	profiles, compiled, err := work.Load(p)
	if err != nil {
		return nil, err
	}
	c.parts.Log = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c.parts.Fold = runner.Fold(work.Policies(profiles, c.config))
	base, err := app.New(ctx, c.config, c.parts)
	if err != nil {
		return nil, err
	}
	return work.New(ctx, base, p, profiles, compiled)
}
