package e2e

import (
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"testing"
	"time"

	"holdfast/flows"
	"holdfast/internal/app"
	"holdfast/internal/clock"
	"holdfast/internal/local"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/outbox"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/target"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

// world is the product with everything around it. The store, the targets, the time and the secrets go on when the
// product's process ends.
type world struct {
	t       testing.TB
	clock   *clock.Movable
	db      *dynamo.Server
	sim     *simtarget.Sim
	probe   *probe
	options local.Options
	local   *local.Local
	old     []*outbox.Outbox // of processes that have ended
	config  app.Config
	foreign int // effects at the targets that are not ours
}

type change func(*world)

// withFlows adds flow files to the shipped ones.
func withFlows(add fs.FS) change {
	return func(w *world) { w.options.Flows = both{add, w.options.Flows} }
}

func newWorld(t testing.TB, changes ...change) *world {
	t.Helper()
	w := &world{t: t, clock: clock.New(), probe: &probe{}}
	var err error
	w.db, err = dynamo.Open(dynamo.Options{Clock: w.clock, Around: w.probe.around})
	must(t, err)
	t.Cleanup(func() { _ = w.db.Close() })
	specs, err := simtarget.Load(sim.FS)
	must(t, err)
	w.sim = simtarget.New(simtarget.Options{Clock: w.clock, Specs: specs, Seed: 7})
	t.Cleanup(func() { _ = w.sim.Close() })
	w.options = local.Options{
		Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(), SweepEvery: -1, Seed: 7,
		Log:          slog.New(slog.DiscardHandler),
		Destinations: w.destinations(),
		Outside: local.Outside{
			Clock: w.clock, Dynamo: w.db, Sim: w.sim, Dial: w.probe.dial((&net.Dialer{}).DialContext), States: w.probe.states,
		},
	}
	for _, c := range changes {
		c(w)
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// destinations are addresses that stay when the product starts again.
func (w *world) destinations() map[string]target.Destination {
	profiles, err := target.Load(targets.FS)
	must(w.t, err)
	out := map[string]target.Destination{}
	urls := map[string]string{}
	for _, p := range profiles {
		name := local.SimFor(p.Name, w.sim.Names())
		if urls[name] == "" {
			urls[name], err = w.sim.Listen(name, "127.0.0.1:0")
			must(w.t, err)
		}
		out[p.Name] = target.Destination{Base: urls[name], Account: "local"}
	}
	return out
}

func (w *world) start() {
	w.t.Helper()
	l, err := local.Start(context.Background(), w.options)
	must(w.t, err)
	w.local, w.config = l, l.Config
	w.options.Outside.Secrets = maps.Clone(l.Secrets)
}

// stop ends the process of the product.
func (w *world) stop() {
	if w.local == nil {
		return
	}
	w.old = append(w.old, w.local.Outbox)
	if err := w.local.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	w.local = nil
}

// revive starts the product again when its process has ended; executions that it ran are gone with it.
func (w *world) revive() {
	if w.probe.isDead() {
		w.restart()
	}
}

func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.probe.revived()
	w.start()
}

// mails are all mails so far, oldest first.
func (w *world) mails() []outbox.Message {
	var all []outbox.Message
	for _, o := range w.old {
		all = append(all, o.Messages()...)
	}
	return append(all, w.local.Outbox.Messages()...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience bounds every wait for an event; it is real time and never asserted.
const patience = 30 * time.Second

// both is the first file system with the second behind it.
type both struct{ first, second fs.FS }

func (b both) Open(name string) (fs.File, error) {
	if f, err := b.first.Open(name); err == nil && name != "." {
		return f, nil
	}
	return b.second.Open(name)
}

func (b both) ReadDir(name string) ([]fs.DirEntry, error) {
	one, err := fs.ReadDir(b.first, name)
	if err != nil {
		return nil, err
	}
	two, err := fs.ReadDir(b.second, name)
	return append(one, two...), err
}

func (b both) Glob(pattern string) ([]string, error) {
	one, err := fs.Glob(b.first, pattern)
	if err != nil {
		return nil, err
	}
	two, err := fs.Glob(b.second, pattern)
	return append(one, two...), err
}
