package simtarget

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/clock"
)

// Options make a simulation. Seed decides every id and every probability. Specs are shared, not copied: do not
// change them afterwards.
type Options struct {
	Clock    clock.Clock
	Specs    []Spec
	Seed     uint64
	OnEffect func(Commit) // nil, or called at each commit, in order for each target; it must not call the Sim
}

// Sim runs the simulated targets. It is safe for use by several goroutines.
type Sim struct {
	clock    clock.Clock
	onEffect func(Commit)
	targets  map[string]*target
	names    []string
	faults   faultSet
	ctx      context.Context // ends with Close; every waiting goroutine hangs on it
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	used      map[string]bool   // targets that something was told the address of
	real      map[string]string // what is not simulated here, by its name
	conns     map[net.Conn]bool
	late      map[int]func() // stops of what is still to come
	lateMade  int
}

var errClosed = errors.New("the simulated targets are closed")

// New returns a simulation that serves nothing yet. Close ends it.
func New(o Options) *Sim {
	s := &Sim{clock: o.Clock, onEffect: o.OnEffect, targets: map[string]*target{}, conns: map[net.Conn]bool{}, used: map[string]bool{}, late: map[int]func(){}}
	s.faults.rng = rand.New(rand.NewPCG(o.Seed, o.Seed+1))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for i := range o.Specs {
		spec := &o.Specs[i]
		s.targets[spec.Target] = newTarget(s, spec, o.Seed)
		s.names = append(s.names, spec.Target)
	}
	slices.Sort(s.names)
	return s
}

// Names lists the targets in order.
func (s *Sim) Names() []string { return slices.Clone(s.names) }

// Named tells the page of servers that are not simulated here, by name with their address.
func (s *Sim) Named(real map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.real = maps.Clone(real)
}

// inUse lists the targets that somebody can reach, in order, and the real servers.
func (s *Sim) inUse() ([]string, map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.Names(), func(name string) bool { return !s.used[name] }), maps.Clone(s.real)
}

func (s *Sim) target(name string) (*target, error) {
	if t := s.targets[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("unknown target %q; known: %s", name, strings.Join(s.names, ", "))
}

// Listen serves a target at a loopback address such as 127.0.0.1:0 and returns its base URL.
func (s *Sim) Listen(name, addr string) (string, error) {
	t, err := s.target(name)
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("address %q: simulated targets listen on loopback only; use for example 127.0.0.1:0", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("target %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errors.Join(errClosed, l.Close())
	}
	s.listeners = append(s.listeners, l)
	s.used[name] = true
	s.work.Go(func() { s.accept(t, l) })
	return "http://" + l.Addr().String(), nil
}

func (s *Sim) accept(t *target, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if s.admit(t, c) != nil {
			cutConn(c)
		}
	}
}

// Dial opens a connection to a target without sockets; the same code serves it.
func (s *Sim) Dial(ctx context.Context, name string) (net.Conn, error) {
	t, err := s.target(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.use(name); err != nil {
		return nil, err
	}
	mine, theirs := net.Pipe()
	if err := s.admit(t, theirs); err != nil {
		return nil, errors.Join(err, mine.Close(), theirs.Close())
	}
	return mine, nil
}

// admit starts serving a connection.
func (s *Sim) admit(t *target, c net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if len(s.conns) >= connectionsMax {
		return fmt.Errorf("%d connections are open already", connectionsMax)
	}
	s.conns[c] = true
	s.work.Go(func() {
		defer s.dismiss(c)
		s.serve(t, c)
	})
	return nil
}

func (s *Sim) dismiss(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.Close()
}

// later runs f once the clock has reached at, unless the simulation is closed first. It costs no goroutine of ours.
func (s *Sim) later(at time.Time, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.lateMade++
	id := s.lateMade
	s.late[id] = s.clock.AfterFunc(at, func() { s.runLate(id, f) })
}

// runLate runs what later put off. Close waits for it as long as its stop is in the map, so that leaves last.
func (s *Sim) runLate(id int, f func()) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	f()
	s.mu.Lock()
	delete(s.late, id)
	s.mu.Unlock()
}

// SetFault adds a switch and returns it with its id.
func (s *Sim) SetFault(f Fault) (Fault, error) {
	t, err := s.target(f.Target)
	if err != nil {
		return f, err
	}
	if err := checkFault(*t.spec, f); err != nil {
		return f, err
	}
	return s.faults.add(f)
}

// Faults lists the switches that can still strike.
func (s *Sim) Faults() []Fault { return s.faults.list() }

// ClearFaults removes the switches of a target, or the one with the id; empty texts match all.
func (s *Sim) ClearFaults(target, id string) int { return s.faults.remove(target, id) }

// Effects reports every target by name.
func (s *Sim) Effects() map[string]Report {
	out := map[string]Report{}
	for name, t := range s.targets {
		out[name] = t.report()
	}
	return out
}

// Counts reports one target's counters without building a report; zero for an unknown target.
func (s *Sim) Counts(name string) Counts {
	t := s.targets[name]
	if t == nil {
		return Counts{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tally.counts()
}

// Reset empties the targets and removes all switches. Late commits that are still to come do not happen.
func (s *Sim) Reset() {
	s.faults.remove("", "")
	for _, t := range s.targets {
		t.mu.Lock()
		t.reset()
		t.mu.Unlock()
	}
}

// Close cuts all connections, ends all waiting and returns when nothing runs any more.
func (s *Sim) Close() error {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	for _, l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.Close()
	}
	stops := slices.Collect(maps.Values(s.late))
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
	s.work.Wait()
	return nil
}
