package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
)

// AWSParts are the parts that a deployed function works with, and the SDK's configuration they came from.
func AWSParts(ctx context.Context, c Config) (Parts, aws.Config, error) {
	if c.Secrets == "" {
		return Parts{}, aws.Config{}, errors.New("environment variable HOLDFAST_SECRETS is not set: it is the path of the parameters that hold the secrets")
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return Parts{}, cfg, fmt.Errorf("AWS configuration: %w", err)
	}
	now := clock.New()
	return Parts{
		Clock: now, Dynamo: dynamodb.NewFromConfig(cfg, ledger.Bounded), States: sfn.NewFromConfig(cfg),
		Secrets: &Parameters{Client: ssm.NewFromConfig(cfg), Path: c.Secrets, Clock: now},
	}, cfg, nil
}

// Parameters reads secrets from Systems Manager and keeps each for a while.
type Parameters struct {
	Client *ssm.Client
	Path   string
	Clock  clock.Clock

	mu   sync.Mutex
	kept map[string]parameter
}

type parameter struct {
	value string
	until time.Time
}

// parameterKept is how long a rotated secret may still be used.
const parameterKept = 5 * time.Minute

// Secret implements Secrets. Its errors name the parameter and never its value.
func (p *Parameters) Secret(ctx context.Context, name string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	if k, ok := p.kept[name]; ok && now.Before(k.until) {
		return k.value, nil
	}
	path := strings.TrimSuffix(p.Path, "/") + "/" + name
	out, err := p.Client.GetParameter(ctx, &ssm.GetParameterInput{Name: &path, WithDecryption: aws.Bool(true)})
	var missing *types.ParameterNotFound
	if errors.As(err, &missing) {
		return "", fmt.Errorf("parameter %s: %w", path, ErrNoSecret)
	}
	if err != nil {
		return "", fmt.Errorf("parameter %s: %w", path, err)
	}
	if p.kept == nil {
		p.kept = map[string]parameter{}
	}
	p.kept[name] = parameter{aws.ToString(out.Parameter.Value), now.Add(parameterKept)}
	return p.kept[name].value, nil
}
