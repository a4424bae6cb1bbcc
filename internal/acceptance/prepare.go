package acceptance

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"holdfast/internal/app/work"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/local"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/internal/target"
)

// flowDefault is tried when nobody names a flow and there are several.
const flowDefault = "campaign-follow-up"

// plan is what is tried: one flow, its targets and their simulations, and an event that starts it.
type plan struct {
	options  Options
	file     flow.File
	text     []byte
	flow     *compile.Flow
	profiles map[string]*target.Profile
	sims     map[string]string // profile → simulated target
	specs    []simtarget.Spec
	source   source.Config
	sample   sample
	event    string // the sample's ids
	delivery string
}

// place is where a stage's effect happens in its simulated target.
type place struct {
	sim, route string
	skip       int // earlier stages' requests on the same route
}

func prepare(o Options) (*plan, error) {
	p, err := read(o)
	if err != nil {
		return nil, err
	}
	if err := p.simulations(); err != nil {
		return nil, err
	}
	p.sample, err = p.makeSample()
	return p, err
}

// read finds the flow, its targets and its source.
func read(o Options) (*plan, error) {
	p := &plan{options: o, profiles: map[string]*target.Profile{}, sims: map[string]string{}, event: eventSample, delivery: deliverySample}
	profiles, compiled, err := work.Load(work.Parts{Flows: o.Flows, Targets: o.Targets})
	if err != nil {
		return nil, &CallError{err}
	}
	for _, t := range profiles {
		p.profiles[t.Name] = t
	}
	if p.flow, err = choose(compiled, o.Flow); err != nil {
		return nil, err
	}
	p.file = p.flow.File()
	if p.text, err = fs.ReadFile(o.Flows, p.file.Path); err != nil {
		return nil, fmt.Errorf("read %s again: %w", p.file.Path, err)
	}
	return p, p.findSource()
}

func choose(all []*compile.Flow, name string) (*compile.Flow, error) {
	var names []string
	for _, f := range all {
		names = append(names, f.File().Name)
		if f.File().Name == name || name == "" && (len(all) == 1 || f.File().Name == flowDefault) {
			return f, nil
		}
	}
	slices.Sort(names)
	if name == "" {
		return nil, wrongCall("there are several flows; name one with --flow: %s", strings.Join(names, ", "))
	}
	return nil, wrongCall("there is no flow %s; there are: %s", name, strings.Join(names, ", "))
}

// simulations finds the simulated target of every stage: without one nobody could say what really happened.
func (p *plan) simulations() error {
	specs, err := simtarget.Load(p.options.Sims)
	if err != nil {
		return &CallError{err}
	}
	p.specs = specs
	var names []string
	for _, s := range specs {
		names = append(names, s.Target)
	}
	var missing []error
	for _, s := range p.file.Stages {
		sim := local.SimFor(s.Target, names)
		if sim == "" {
			missing = append(missing, fmt.Errorf("stage %s sends to %s, and nothing simulates it: acceptance must see what really happened there and make it fail, so it needs DIR/sim/%s.yaml, "+
				"where DIR is the directory of --targets; it says how the target behaves (its routes, what makes an effect, what it does with a repeat, its error answers): docs/simulations.md has an example and every field", s.Name, s.Target, s.Target))
		}
		p.sims[s.Target] = sim
	}
	if len(missing) > 0 {
		return &CallError{errors.Join(missing...)}
	}
	return nil
}

func (p *plan) findSource() error {
	configs, err := sourcefile.Load(p.options.Sources)
	if err != nil {
		return &CallError{err}
	}
	var names []string
	for _, c := range configs {
		if c.Name == p.file.Trigger.Source {
			p.source = c
			return nil
		}
		names = append(names, c.Name)
	}
	return wrongCall("%s: the flow waits for the source %s, which is not configured; there are: %s", p.file.Path, p.file.Trigger.Source, strings.Join(names, ", "))
}

// policy is what the stage's target lets the product rely on.
func (p *plan) policy(s flow.Stage) operation.Policy {
	return p.profiles[s.Target].Policy(target.Options{})
}

func (p *plan) standing() bool { return p.file.Approval.Standing }

func (p *plan) stages() []flow.Stage { return p.file.Stages }
