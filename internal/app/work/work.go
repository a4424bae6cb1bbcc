// Package work builds every handler but the webhook: plan, ask, execute, reconcile, review and sweep.
package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"holdfast/flows"
	"holdfast/internal/app"
	"holdfast/internal/approval"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/sweep"
	"holdfast/internal/target"
	"holdfast/internal/target/wire"
	"holdfast/internal/web"
	"holdfast/targets"
)

// Parts are what the handlers are made of besides a base.
type Parts struct {
	Flows, Targets fs.FS
	// Destinations are where targets are, by profile name, where configuration says something else than the profile.
	Destinations map[string]target.Destination
	Dial         wire.Dial
	Notifier     notify.Notifier
}

// App holds the handlers.
type App struct {
	*app.Base
	Runner *runner.Runner
	Desk   *approval.Desk
	Review *web.Review
	Sweep  *sweep.Sweep
	Flows  map[string]*compile.Flow
}

// killMargin is how much longer than the function's timeout a lease is.
const killMargin = 15 * time.Second

// Load reads and checks profiles and flows.
func Load(p Parts) ([]*target.Profile, []*compile.Flow, error) {
	profiles, err := target.Load(p.Targets)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range profiles {
		if room := runner.RoomFor(t.Timeout); room >= executeTimeout {
			return nil, nil, fmt.Errorf("target %s: its timeout of %s leaves no time to record an outcome within the execute function's %s; make it shorter", t.Name, t.Timeout, executeTimeout)
		}
	}
	compiled, err := compile.All(p.Flows, FieldRules(profiles))
	return profiles, compiled, err
}

// Policies answers the recovery rules for the ledger's fold, before the handlers exist.
func Policies(profiles []*target.Profile, c app.Config) func(*operation.Operation) operation.Policy {
	byName := map[string]*target.Profile{}
	for _, p := range profiles {
		byName[p.Name] = p
	}
	r := &runner.Runner{Profiles: func(name string) (*target.Profile, bool) { p, ok := byName[name]; return p, ok }, Policy: bounds(c)}
	return r.PolicyOf
}

// bounds: a lease is at least the longest function's hard kill time, whichever function reads it.
func bounds(c app.Config) target.Options {
	return target.Options{Lease: max(c.FunctionTimeout, executeTimeout) + killMargin}
}

// executeTimeout is the execute function's timeout; template.yaml sets the same.
const executeTimeout = 60 * time.Second

// New builds the handlers.
func New(ctx context.Context, b *app.Base, p Parts, profiles []*target.Profile, compiled []*compile.Flow) (*App, error) {
	a := &App{Base: b, Flows: map[string]*compile.Flow{}}
	for _, f := range compiled {
		a.Flows[f.File().Name] = f
	}
	byName := map[string]*target.Profile{}
	for _, t := range profiles {
		byName[t.Name] = t
	}
	codeKey, err := a.codeKey(ctx)
	if err != nil {
		return nil, err
	}
	a.Runner = &runner.Runner{
		Store: b.Ledger, Executions: b.Executions, Launcher: b.Launcher, Clock: b.Clock, Key: b.Key, Log: b.Log, Policy: bounds(b.Config),
		Engine:   &target.Engine{Dial: p.Dial, Clock: b.Clock, Secrets: targetSecrets(b.Secrets)},
		Flows:    func(name string) (*compile.Flow, bool) { f, ok := a.Flows[name]; return f, ok },
		Profiles: func(name string) (*target.Profile, bool) { t, ok := byName[name]; return t, ok },
		Destination: func(t *target.Profile) (target.Destination, error) {
			return t.To(p.Destinations[t.Name])
		},
		NewAttempt: func() operation.AttemptID { return operation.AttemptID(b.ID("at_")) },
		Accepted:   func() operation.Time { return b.Stack.Accepted },
	}
	a.Desk = &approval.Desk{
		Store: b.Ledger, Notifier: p.Notifier, Clock: b.Clock, Policy: a.Runner.PolicyOf, NewID: b.ID, NewCode: b.Code,
		CodeKey: codeKey, Review: b.Config.Review, Log: b.Log,
	}
	a.Runner.Asker = a.Desk
	a.Review = &web.Review{
		Store: b.Ledger, Desk: a.Desk, Resumer: b.Launcher, Runs: a.Runner, Policy: a.Runner.PolicyOf, Clock: b.Clock, NewID: b.ID, Log: b.Log,
		Targets: func(name string) web.TargetText { return textOf(name, byName[name]) },
	}
	a.Sweep = &sweep.Sweep{
		Store: b.Ledger, Launcher: b.Launcher, Asker: a.Desk, Policy: a.Runner.PolicyOf, Notifier: p.Notifier, Clock: b.Clock, Log: b.Log,
		Owner: a.ownerOf,
	}
	return a, nil
}

// textOf is what the review page says about a target.
func textOf(name string, t *target.Profile) web.TargetText {
	if t == nil {
		return web.TargetText{Title: name, Summary: "Its profile is no longer there, so nothing is sent to it."}
	}
	a := t.Advice()
	return web.TargetText{Title: t.Title, Summary: t.Summary, Mark: a.Mark, Ask: a.Ask, Protected: a.Protected, Lost: a.Lost}
}

func (a *App) ownerOf(name string) operation.Person {
	if f, ok := a.Flows[name]; ok {
		return f.File().Owner
	}
	return a.Base.Owner
}

func (a *App) codeKey(ctx context.Context) ([]byte, error) {
	if a.NoCodes {
		return nil, nil
	}
	secret, err := a.Secrets.Secret(ctx, "code-key")
	if errors.Is(err, app.ErrNoSecret) {
		return nil, nil // nobody can decide on the page: closed unless configured
	}
	return []byte(secret), err
}

func targetSecrets(s app.Secrets) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) { return s.Secret(ctx, "targets/"+name) }
}

// KeepShapes compares the shape of every stage's business key with what the ledger keeps under its name. A changed one
// is refused: it would give other identities to the same intention.
func (a *App) KeepShapes(ctx context.Context) error {
	var changed []error
	for name, f := range a.Flows {
		for _, s := range f.File().Stages {
			want := flow.KeyShape(s)
			stands, err := a.Ledger.KeepShape(ctx, name, s.Name, want)
			if err != nil {
				return err
			}
			if stands != want {
				changed = append(changed, fmt.Errorf("flow %s, stage %s: the key is %s, and the ledger knows this stage with %s; give the stage another name", name, s.Name, want, stands))
			}
		}
	}
	return errors.Join(changed...)
}

// SweepInput is what the schedule sends: {"audit": true} makes it read the whole ledger.
type SweepInput struct {
	Audit bool `json:"audit"`
}

// HandleSweep is the Lambda handler of the schedule.
func (a *App) HandleSweep(ctx context.Context, raw json.RawMessage) (any, error) {
	var in SweepInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("sweep: the input is not JSON: %w", err)
	}
	if in.Audit {
		return a.Sweep.Audit(ctx)
	}
	return a.Sweep.Handle(ctx)
}

// Must builds the handlers of a deployed function, or ends the process with what is wrong.
func Must(ctx context.Context) *App {
	a, err := deployed(ctx)
	if err != nil {
		panic(err)
	}
	return a
}

// MustPlan is Must for the function that makes operations: it also compares the shapes of all business keys.
func MustPlan(ctx context.Context) *App {
	a := Must(ctx)
	if err := a.KeepShapes(ctx); err != nil {
		panic(err)
	}
	return a
}

func deployed(ctx context.Context) (*App, error) {
	c, err := app.ConfigFrom(os.Getenv)
	if err != nil {
		return nil, err
	}
	parts, cfg, err := app.AWSParts(ctx, c)
	if err != nil {
		return nil, err
	}
	p := Parts{Flows: flows.FS, Targets: targets.FS, Dial: (&net.Dialer{}).DialContext, Notifier: app.Mailer(c, cfg)}
	if p.Destinations, err = target.ParseOverrides(c.Destinations); err != nil {
		return nil, fmt.Errorf("environment variable HOLDFAST_TARGETS: %w", err)
	}
	profiles, compiled, err := Load(p)
	if err != nil {
		return nil, err
	}
	parts.Fold = runner.Fold(Policies(profiles, c))
	b, err := app.New(ctx, c, parts)
	if err != nil {
		return nil, err
	}
	slog.SetDefault(b.Log)
	return New(ctx, b, p, profiles, compiled)
}
