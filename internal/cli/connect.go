package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
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

var errNoLedger = errors.New("no ledger is in reach: start `holdfast local`, or set HOLDFAST_TABLE and the other variables of template.yaml for a deployed stack")

// connect finds the ledger to work on.
func connect(ctx context.Context) (connection, error) {
	if os.Getenv("HOLDFAST_TABLE") != "" {
		return deployedConnection(ctx)
	}
	path, err := local.Announcement()
	if err != nil {
		return connection{}, errNoLedger
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return connection{}, errNoLedger
	}
	var a local.Announced
	if err := json.Unmarshal(raw, &a); err != nil {
		return connection{}, fmt.Errorf("%s cannot be read (%w); start `holdfast local` again", path, err)
	}
	return laptopConnection(ctx, a)
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

func laptopConnection(ctx context.Context, a local.Announced) (connection, error) {
	c, err := app.ConfigFrom(func(name string) string { return a.Environment[name] })
	if err != nil {
		return connection{}, err
	}
	now := clock.New()
	offset, err := offsetOf(ctx, a.Addresses.Clock)
	if err != nil {
		return connection{}, fmt.Errorf("the laptop that was announced does not answer (%w); start `holdfast local` again", err)
	}
	now.Move(offset)
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	return connection{config: c, aws: cfg, laptop: &a, parts: app.Parts{
		Clock: now, Secrets: a.Secrets,
		Dynamo: dynamodb.NewFromConfig(cfg, ledger.Bounded, func(o *dynamodb.Options) { o.BaseEndpoint = &a.Addresses.DynamoDB }),
		States: sfn.NewFromConfig(cfg, func(o *sfn.Options) { o.BaseEndpoint = &a.Addresses.States }),
	}}, nil
}

// offsetOf is how far a person moved the laptop's clock.
func offsetOf(ctx context.Context, url string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var state struct {
		Offset string `json:"offset"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		return 0, err
	}
	return time.ParseDuration(state.Offset)
}

// destinations are those of the laptop or stack; --target on the command line counts more.
func (c connection) destinations(f files) (map[string]target.Destination, error) {
	out := map[string]target.Destination{}
	if c.laptop != nil {
		out = c.laptop.Destinations
	} else if own, err := target.ParseOverrides(c.config.Destinations); err != nil {
		return nil, usage{err}
	} else {
		out = own
	}
	named, err := target.ParseOverrides(f.Target)
	if err != nil {
		return nil, usage{err}
	}
	maps.Copy(out, named)
	return out, nil
}

// configured uses the laptop's own files where the command line names none.
func (c connection) configured(f files) files {
	if c.laptop != nil {
		f.Flows, f.Targets = cmp.Or(f.Flows, c.laptop.FlowsDir), cmp.Or(f.Targets, c.laptop.TargetsDir)
	}
	return f
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
