package acceptance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/local"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/target"
)

// world is what outlives a laptop: the targets, the ledger's folder and time. Several laptops live in it, one after
// the other.
type world struct {
	plan   *plan
	clock  *clock.Movable
	sim    *simtarget.Sim
	to     map[string]target.Destination
	folder string
	server *http.Server
	served chan error
	at     string       // of the simulated targets' control
	dead   *atomic.Bool // of the latest laptop
	mails  []invite     // that the first laptop sent
}

// nowhere is an address at which nothing listens.
const nowhere = "http://127.0.0.1:9"

func (p *plan) openWorld() (*world, error) {
	w := &world{plan: p, clock: clock.New(), to: map[string]target.Destination{}, served: make(chan error, 1)}
	w.sim = simtarget.New(simtarget.Options{Clock: w.clock, Specs: p.specs})
	var err error
	if w.folder, err = os.MkdirTemp("", "holdfast-acceptance-data-"); err != nil {
		return nil, errors.Join(err, w.sim.Close())
	}
	for profile, sim := range p.sims {
		base, err := w.sim.Listen(sim, "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.to[profile] = target.Destination{Base: base, Account: "local"}
	}
	for profile := range p.profiles { // the flow sends nothing there, so a laptop that comes back needs no port for it
		if _, used := w.to[profile]; !used {
			w.to[profile] = target.Destination{Base: nowhere}
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.at = "http://" + listener.Addr().String() + "/_sim"
	w.server = &http.Server{Handler: w.sim.Control(), ReadHeaderTimeout: 10 * time.Second}
	go func() { w.served <- w.server.Serve(listener) }()
	return w, nil
}

// laptop starts a laptop on what the ones before it left.
func (w *world) laptop(ctx context.Context, text []byte) (*site, error) {
	dead := &atomic.Bool{}
	w.dead = dead
	s, err := w.plan.openSite(ctx, text, func(o *local.Options) {
		o.Dir, o.Clock, o.Destinations = w.folder, w.clock, w.to
		o.Around = func(_ dynamo.Call, do func() dynamo.Reply) dynamo.Reply {
			if dead.Load() {
				return dynamo.Reply{Status: http.StatusBadRequest, Body: []byte(`{"__type":"com.amazon.coral.validate#ValidationException","message":"the process is dead"}`)}
			}
			return do()
		}
	})
	if err == nil {
		s.sim = w.at
	}
	return s, err
}

// kill ends the laptop as a crash would: from here on nothing of it reaches the ledger.
func (w *world) kill(s *site) error {
	w.dead.Store(true)
	return s.Close()
}

// Close ends everything; what the laptops left is gone.
func (w *world) Close() error {
	var failed []error
	if w.server != nil {
		failed = append(failed, w.server.Close())
		if err := <-w.served; !errors.Is(err, http.ErrServerClosed) {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, w.sim.Close(), os.RemoveAll(w.folder))...)
}
