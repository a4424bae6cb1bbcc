package local

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/flow/compile"
	"holdfast/internal/target"
)

// destinations give every profile a simulated target, unless a real server is named for it.
func (l *Local) destinations(profiles []*target.Profile) (map[string]target.Destination, error) {
	out := map[string]target.Destination{}
	urls := map[string]string{}
	for _, p := range profiles {
		if d, ok := l.options.Destinations[p.Name]; ok {
			out[p.Name] = d
			continue
		}
		name := SimFor(p.Name, l.Sim.Names())
		if name == "" {
			continue
		}
		if urls[name] == "" {
			url, err := l.listenSim(name)
			if err != nil {
				return nil, err
			}
			urls[name] = url
		}
		out[p.Name] = target.Destination{Base: urls[name], Account: "local"}
	}
	for name := range l.options.Destinations {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("--target %s: there is no such profile", name)
		}
	}
	return out, nil
}

// real are the profiles for which a server was named, with its address.
func (l *Local) real() map[string]string {
	out := map[string]string{}
	for name, d := range l.options.Destinations {
		out[name] = d.Base
	}
	return out
}

// allSimulated keeps a laptop from sending to a vendor that nobody named on purpose.
func allSimulated(compiled []*compile.Flow, to map[string]target.Destination) error {
	for _, f := range compiled {
		for _, s := range f.File().Stages {
			if _, ok := to[s.Target]; !ok {
				return fmt.Errorf("flow %s, stage %s: nothing stands for target %s here; write DIR/sim/%s.yaml, where DIR is the directory of --targets (docs/simulations.md), or name a real server with --target %s=URL",
					f.File().Name, s.Name, s.Target, s.Target, s.Target)
			}
		}
	}
	return nil
}

// SimFor is the simulated target that stands for a profile's vendor: the one of its name, or of its first word.
func SimFor(profile string, sims []string) string {
	if slices.Contains(sims, profile) {
		return profile
	}
	vendor, _, _ := strings.Cut(profile, "-")
	for _, s := range sims {
		if first, _, _ := strings.Cut(s, "-"); first == vendor && vendor != "generic" {
			return s
		}
	}
	return ""
}

// listenSim gives a simulated target its address, the same one as before.
func (l *Local) listenSim(name string) (string, error) {
	addr := l.kept.Targets[name]
	if addr == "" {
		base, err := l.firstListen(name)
		if err != nil {
			return "", err
		}
		u, err := url.Parse(base)
		if err != nil {
			return "", err
		}
		l.kept.Targets[name] = u.Host
		return base, nil
	}
	base, err := l.Sim.Listen(name, addr)
	if err != nil {
		return "", fmt.Errorf("the simulated target %s needs the address %s again, which open operations in %s are bound to (%w); end the program that uses it", name, addr, l.options.Dir, err)
	}
	return base, nil
}

// Ports that are kept over a restart lie below those that systems give to outgoing connections, so that no client's
// connection sits on one when the laptop comes back.
const (
	keptPortMin   = 20000
	keptPorts     = 12000
	keptPortTries = 50
)

// firstListen gives a simulated target its first address.
func (l *Local) firstListen(name string) (string, error) {
	if l.options.Dir == "" {
		return l.Sim.Listen(name, "127.0.0.1:0")
	}
	var err error
	for range keptPortTries {
		var base string
		if base, err = l.Sim.Listen(name, fmt.Sprintf("127.0.0.1:%d", keptPortMin+NewSeed()%keptPorts)); err == nil {
			return base, nil
		}
	}
	return "", err
}
