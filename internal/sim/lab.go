package sim

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"holdfast"
	"holdfast/internal/app"
	"holdfast/internal/app/work"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/identity"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/local/states"
	"holdfast/internal/samtemplate"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/internal/target"
	"holdfast/sources"
	"holdfast/statemachine"
	"holdfast/targets"
	targetsim "holdfast/targets/sim"
)

//go:embed flows/*.yaml
var flowFiles embed.FS

// Lab holds what every simulated world shares and nothing changes: the shipped targets, sources and state machine, and
// the flows that are run. It is safe for use by several worlds at once.
type Lab struct {
	// Store is how the ledger reaches its table; the zero value is StoreMemory.
	Store Store

	profiles []*target.Profile
	compiled []*compile.Flow
	files    []flow.File
	sources  []source.Config
	specs    []simtarget.Spec
	machine  *states.Definition
	limits   map[string]time.Duration // of functions, by their id in the template
	sims     []string                 // simulated targets, in order; the index is the port
	to       map[string]target.Destination
	key      identity.Key
	log      *slog.Logger
}

// Store is a way of a ledger to its table.
type Store string

// The ways. The first is the fastest; the others put the same ledger behind the AWS SDK's client.
const (
	StoreMemory Store = "memory" // typed calls to the DynamoDB server in memory
	StoreSDK    Store = "sdk"    // the SDK's client, over the server in memory
	StoreFile   Store = "file"   // the SDK's client, over the server on disk; its table is never restored
)

// NewLab reads everything once.
func NewLab() (*Lab, error) {
	l := &Lab{limits: map[string]time.Duration{}, to: map[string]target.Destination{}, log: slog.New(slog.DiscardHandler)}
	for _, load := range []func() error{l.loadFlows, l.loadTargets, l.loadMachine, l.loadLimits} {
		if err := load(); err != nil {
			return nil, fmt.Errorf("simulation: %w", err)
		}
	}
	var err error
	l.key, err = identity.NewKey([]byte(secretOf("identity-key")))
	return l, err
}

func (l *Lab) loadFlows() error {
	files, err := fs.Sub(flowFiles, "flows")
	if err != nil {
		return err
	}
	if l.profiles, l.compiled, err = work.Load(work.Parts{Flows: files, Targets: targets.FS}); err != nil {
		return err
	}
	if l.files, err = flow.Load(files); err != nil {
		return err
	}
	l.sources, err = sourcefile.Load(sources.Files())
	return err
}

// loadTargets gives every profile that is used its simulated target.
func (l *Lab) loadTargets() error {
	var err error
	if l.specs, err = simtarget.Load(targetsim.FS); err != nil {
		return err
	}
	for _, s := range l.specs {
		l.sims = append(l.sims, s.Target)
	}
	for i, name := range l.sims {
		for profile, sim := range standsFor {
			if sim == name {
				l.to[profile] = target.Destination{Base: fmt.Sprintf("http://127.0.0.1:%d", portFirst+i), Account: "local"}
			}
		}
	}
	return nil
}

// standsFor says which simulated target stands for a profile.
var standsFor = map[string]string{
	"generic-key": "generic-key", "generic-lookup": "generic-lookup", "generic-natural": "generic-natural", "generic-none": "generic-none",
	"hubspot-task": "hubspot", "resend-email": "resend",
}

func (l *Lab) loadMachine() error {
	arns := map[string]string{}
	for _, name := range []string{"Plan", "Ask", "Execute", "Reconcile"} {
		arns[name+"FunctionArn"] = functionArn(name + "Function")
	}
	definition, err := statemachine.Fill(arns)
	if err != nil {
		return err
	}
	l.machine, err = states.Parse(definition)
	return err
}

func functionArn(id string) string { return "arn:aws:lambda:us-east-1:000000000000:function:" + id }

func (l *Lab) loadLimits() error {
	t, err := samtemplate.Parse(holdfast.Template)
	if err != nil {
		return err
	}
	found, err := t.Functions()
	for _, f := range found {
		l.limits[f.ID] = time.Duration(f.TimeoutS) * time.Second
	}
	return err
}

func (l *Lab) config() app.Config {
	return app.Config{
		Table: tableName, Machine: states.MachineArn(machineName), Stack: "simulated", Review: "https://review.invalid",
		MailFrom: "holdfast@example.com", Owner: "owner@example.com", FunctionTimeout: time.Minute,
	}
}

const (
	tableName   = "holdfast"
	machineName = "holdfast-run"
)

// secrets are made from their names: nothing here is secret.
type secrets struct{}

// Secret implements app.Secrets.
func (secrets) Secret(_ context.Context, name string) (string, error) { return secretOf(name), nil }

func secretOf(name string) string {
	if name == "sources/standard" {
		return "whsec_c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQ="
	}
	return "simulated-" + name + "-0123456789-0123456789-0123456789"
}
