// Package app builds what every handler needs from configuration: the ledger, the executions, ids and keys.
//
// It promises that nothing works before the ledger was found to be this stack's own, under the right identity key. It
// never holds a business rule. Handlers that need expressions or targets are built by its sub-packages, so that the
// webhook links neither.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/execution"
	"holdfast/internal/identity"
	"holdfast/internal/launch"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// Config is what the environment says. See template.yaml.
type Config struct {
	Table           string
	Machine         string // ARN of the state machine
	Stack           string // the stack's own id
	Review          string // address of the review pages, without a final slash
	MailFrom        string
	SMTP            string // host:port of a mail server; empty: Amazon SES
	Secrets         string // path of the parameters that hold secrets
	Owner           operation.Person
	FunctionTimeout time.Duration // the function's hard kill time
	Destinations    []string      // NAME=URL of targets that are elsewhere than their profiles say
	NoCodes         bool          // no codes are sent: nobody can decide on the review page
}

// ConfigFrom reads the environment; get is os.Getenv or a stand-in.
func ConfigFrom(get func(string) string) (Config, error) {
	c := Config{
		Table: get("HOLDFAST_TABLE"), Machine: get("HOLDFAST_STATE_MACHINE"), Stack: get("HOLDFAST_STACK"),
		Review: strings.TrimSuffix(get("HOLDFAST_REVIEW_URL"), "/"), MailFrom: get("HOLDFAST_MAIL_FROM"), SMTP: get("HOLDFAST_SMTP"),
		Secrets: get("HOLDFAST_SECRETS"), Owner: operation.Person(get("HOLDFAST_OWNER")), NoCodes: get("HOLDFAST_CODES") == "off",
		Destinations: strings.Fields(get("HOLDFAST_TARGETS")),
	}
	var missing []error
	for _, v := range [][2]string{{"HOLDFAST_TABLE", c.Table}, {"HOLDFAST_STATE_MACHINE", c.Machine}, {"HOLDFAST_STACK", c.Stack}, {"HOLDFAST_OWNER", string(c.Owner)}} {
		if v[1] == "" {
			missing = append(missing, fmt.Errorf("environment variable %s is not set", v[0]))
		}
	}
	seconds, err := strconv.Atoi(get("HOLDFAST_FUNCTION_TIMEOUT_S"))
	if err != nil || seconds < 1 || seconds > 900 {
		missing = append(missing, errors.New("environment variable HOLDFAST_FUNCTION_TIMEOUT_S must be the function's timeout in whole seconds, 1 to 900"))
	}
	c.FunctionTimeout = time.Duration(seconds) * time.Second
	return c, errors.Join(missing...)
}

// Secrets gives one secret by its name: identity-key, code-key, sources/NAME, targets/NAME.
type Secrets interface {
	Secret(ctx context.Context, name string) (string, error)
}

// ErrNoSecret says that a secret is not configured.
var ErrNoSecret = errors.New("this secret is not configured")

// Parts are what a Base is made of besides configuration. Nil fields take what a deployed function uses.
type Parts struct {
	Clock   clock.Clock
	Random  io.Reader
	Dynamo  ledger.API
	States  execution.API
	Secrets Secrets
	Fold    ledger.Fold // for handlers that read operations
	Log     *slog.Logger
	OnCall  func(call string, units float64)
}

// Base is what every handler needs.
type Base struct {
	Config
	Clock      clock.Clock
	Random     io.Reader
	Ledger     *ledger.Ledger
	Executions *execution.Executions
	Launcher   *launch.Launcher
	Key        identity.Key
	Secrets    Secrets
	Log        *slog.Logger
	Stack      ledger.Stack
}

// New builds a Base and checks the ledger; it refuses to work under a wrong identity key or on a copied table.
func New(ctx context.Context, c Config, p Parts) (*Base, error) {
	b, err := Unchecked(ctx, c, p)
	if err != nil {
		return nil, err
	}
	b.Stack, err = b.Ledger.Check(ctx, b.Identity())
	return b, err
}

// Unchecked builds a Base whose ledger only reads until it is checked or accepted.
func Unchecked(ctx context.Context, c Config, p Parts) (*Base, error) {
	p.defaults()
	secret, err := p.Secrets.Secret(ctx, "identity-key")
	if err != nil {
		return nil, fmt.Errorf("identity key: %w", err)
	}
	key, err := identity.NewKey([]byte(secret))
	if err != nil {
		return nil, err
	}
	b := &Base{Config: c, Clock: p.Clock, Random: p.Random, Key: key, Secrets: p.Secrets, Log: p.Log}
	b.Ledger = ledger.New(ledger.Options{
		Client: p.Dynamo, Table: c.Table, Clock: p.Clock, Fold: p.Fold, OnCall: p.OnCall,
		WriteID: func() string { return b.ID("w") },
	})
	b.Executions = &execution.Executions{Client: p.States, Machine: c.Machine, Arn: execution.ExecutionArn}
	b.Launcher = &launch.Launcher{Store: b.Ledger, Executions: b.Executions, Clock: p.Clock, Log: p.Log}
	return b, nil
}

func (p *Parts) defaults() {
	if p.Clock == nil {
		p.Clock = clock.New()
	}
	if p.Random == nil {
		p.Random = rand.Reader
	}
	if p.Log == nil {
		p.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
}

// Identity is what this process says of itself to the ledger.
func (b *Base) Identity() ledger.Identity {
	return ledger.Identity{Stack: b.Config.Stack, Fingerprint: b.Key.Fingerprint()}
}

// ID makes a random id in an alphabet that survives mail clients. Without randomness nothing may go on, so it panics.
func (b *Base) ID(prefix string) string {
	id, err := identity.Random(b.Random, prefix)
	if err != nil {
		panic(fmt.Sprintf("no randomness: %v", err))
	}
	return id
}

// codeLetters leaves out what people confuse.
const codeLetters = "ABCDEFGHJKMNPQRSTVWXYZ23456789"

// codeFair is the largest multiple of the letters in a byte: what lies above would favour the first letters.
const codeFair = 256 - 256%len(codeLetters)

// codeLength letters are about 39 bits; a link takes a handful of tries.
const codeLength = 8

// codeBytesMax bounds the random bytes that one code takes: 1 in 16 is thrown away.
const codeBytesMax = 1 << 10

// Code makes a code that a person types, each letter as likely as any other.
func (b *Base) Code() string {
	code := make([]byte, 0, codeLength)
	for range codeBytesMax {
		if len(code) == codeLength {
			return string(code)
		}
		var raw [1]byte
		if _, err := io.ReadFull(b.Random, raw[:]); err != nil {
			panic(fmt.Sprintf("no randomness: %v", err))
		}
		if int(raw[0]) < codeFair {
			code = append(code, codeLetters[int(raw[0])%len(codeLetters)])
		}
	}
	panic("no randomness: the source gives the same byte again and again")
}
