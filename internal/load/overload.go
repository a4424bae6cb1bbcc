package load

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"holdfast/internal/local"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/operation"
)

// Overload is what more than can be taken left. In each part, who was refused came again until it was taken.
type Overload struct {
	// Stuck: the handlers answer nothing while requests keep coming, first many, then large ones.
	Stuck []Wave `json:"stuck"`
	// Flood: notifications come faster than their runs end.
	Flood Wave `json:"flood"`
	// Throttled: the table takes no request for a while.
	Throttled Wave `json:"throttled"`
}

// Wave is one part of an overload.
type Wave struct {
	Offered   int     `json:"offered"`
	InFlight  int     `json:"in_flight"`
	BodyBytes int     `json:"body_bytes"`
	Unsized   bool    `json:"unsized,omitempty"`  // nobody says how large they are
	AtOnce    int     `json:"at_once"`            // taken before anything was let go on
	Refused   int     `json:"refused"`            // times that somebody was told to come again
	Statuses  []int   `json:"statuses,omitempty"` // of the refusals
	Accepted  int     `json:"accepted"`           // in the end
	BeforeMiB float64 `json:"before_mib"`
	PeakMiB   float64 `json:"peak_mib"` // garbage included
	AfterMiB  float64 `json:"after_mib"`
	Count     Count   `json:"count"`
}

// peakMiBMax bounds what a wave may add to the memory in use, garbage included: twice, for the collector, what requests
// in progress and the runs behind them may hold. docs/load.md has the sum.
const peakMiBMax = 1024

func (o Options) overload(ctx context.Context) (*Overload, promises, error) {
	out, p := &Overload{}, promises{}
	for _, w := range []Wave{{Offered: 2_000, InFlight: 2_000, BodyBytes: 1 << 10}, {Offered: 200, InFlight: 200, BodyBytes: 800 << 10}} {
		o.Tell("stuck: %d requests of %d bytes at once", w.Offered, w.BodyBytes)
		broken, err := o.stuck(ctx, &w)
		if err != nil {
			return nil, nil, err
		}
		out.Stuck, p = append(out.Stuck, w), append(p, named("stuck", broken)...)
	}
	out.Flood = Wave{Offered: o.Runs, InFlight: o.Concurrency, BodyBytes: 0}
	o.Tell("flood: %d notifications, %d in flight", o.Runs, o.Concurrency)
	broken, err := o.flood(ctx, &out.Flood)
	if err != nil {
		return nil, nil, err
	}
	p = append(p, named("flood", broken)...)
	out.Throttled = Wave{Offered: min(o.Runs, throttledRuns), InFlight: o.Concurrency}
	o.Tell("throttled: %d notifications", out.Throttled.Offered)
	broken, err = o.throttled(ctx, &out.Throttled)
	return out, append(p, named("throttled", broken)...), err
}

// throttledRuns is enough: each waits through the client's own repeats.
const throttledRuns = 500

func named(part string, broken promises) promises {
	for i := range broken {
		broken[i] = part + ": " + broken[i]
	}
	return broken
}

// gate lets callers pass, or keeps them waiting while it is shut.
type gate struct {
	mu      sync.Mutex
	opened  chan struct{}
	waiting atomic.Int64
}

func newGate() *gate {
	open := make(chan struct{})
	close(open)
	return &gate{opened: open}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.opened)
}

func (g *gate) pass() {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	<-opened
}

// stuck offers everything at once while the answers of the webhook are kept back: durable, and not yet told.
func (o Options) stuck(ctx context.Context, w *Wave) (promises, error) {
	g := newGate()
	return o.wave(ctx, w, func(lo *local.Options) {
		lo.OnAnswer = func(function string, _ []byte) {
			if function == "WebhookFunction" {
				g.pass()
			}
		}
	}, func(ctx context.Context, s *sender, t *told) ([]int, error) {
		g.shut()
		return o.untilDecided(ctx, s, t, w, g)
	})
}

// untilDecided offers all, and opens the gate once each is either refused or waits at it. It answers who was refused.
func (o Options) untilDecided(ctx context.Context, s *sender, t *told, w *Wave, g *gate) ([]int, error) {
	var mu sync.Mutex
	var again []int
	open := sync.OnceFunc(func() {
		w.AtOnce = int(g.waiting.Load())
		g.open()
	})
	defer open()
	refused := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(again)
	}
	decided := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for refused()+int(g.waiting.Load()) < w.Offered {
			if err := s.l.Clock.SleepUntil(ctx, s.l.Clock.Now().Add(lookEvery)); err != nil {
				decided <- nil
				return
			}
		}
		open()
		decided <- nil
	}()
	err := each(ctx, mixedOrder(o.Seed, w.Offered, 1), w.InFlight, func(ctx context.Context, n int) error {
		r, err := s.send(ctx, n)
		if err != nil {
			return err
		}
		t.note(n, r)
		if !r.accepted() {
			mu.Lock()
			again = append(again, n)
			w.Statuses = with(w.Statuses, r.status)
			mu.Unlock()
		}
		return nil
	})
	cancel()
	return again, errors.Join(err, <-decided)
}

// flood sends as fast as it is taken. Who is refused comes again at once with the next, until all were offered once.
func (o Options) flood(ctx context.Context, w *Wave) (promises, error) {
	return o.wave(ctx, w, nil, func(ctx context.Context, s *sender, t *told) ([]int, error) {
		return o.once(ctx, s, t, w)
	})
}

// once offers each notification once and answers who was refused.
func (o Options) once(ctx context.Context, s *sender, t *told, w *Wave) (again []int, err error) {
	var mu sync.Mutex
	err = each(ctx, mixedOrder(o.Seed, w.Offered, 1), w.InFlight, func(ctx context.Context, n int) error {
		r, err := s.send(ctx, n)
		if err != nil {
			return err
		}
		if answered := t.note(n, r); answered%tellEvery == 0 && r.accepted() {
			o.Tell("%d accepted", answered)
		}
		mu.Lock()
		defer mu.Unlock()
		if r.accepted() {
			w.AtOnce++
			return nil
		}
		again, w.Statuses = append(again, n), with(w.Statuses, r.status)
		return nil
	})
	return again, err
}

func with(statuses []int, status int) []int {
	for _, s := range statuses {
		if s == status {
			return statuses
		}
	}
	return append(statuses, status)
}

// throttled takes the table away once half of the notifications are in, while the others come.
func (o Options) throttled(ctx context.Context, w *Wave) (promises, error) {
	var away atomic.Bool
	return o.wave(ctx, w, func(lo *local.Options) {
		lo.Around = func(_ dynamo.Call, next func() dynamo.Reply) dynamo.Reply {
			if away.Load() {
				return dynamo.Reply{Status: http.StatusBadRequest, Body: []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"Rate exceeded"}`)}
			}
			return next()
		}
	}, func(ctx context.Context, s *sender, t *told) ([]int, error) {
		half := *w
		half.Offered /= 2
		if again, err := o.once(ctx, s, t, &half); err != nil || len(again) > 0 {
			return again, err
		}
		w.AtOnce = half.AtOnce
		away.Store(true)
		again, err := o.once(ctx, s, t, w) // the first half are repeats now: they are refused as well
		away.Store(false)
		return again, err
	})
}

// wave starts a laptop, offers, lets those who were refused come again, brings everything to its end, and counts.
func (o Options) wave(ctx context.Context, w *Wave, change func(*local.Options), offer func(context.Context, *sender, *told) ([]int, error)) (p promises, err error) {
	l, err := o.open(ctx, change)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s := newSender(l, w.InFlight, func(n int) (notification, error) {
		out := standingNotification(o.Seed, n, w.BodyBytes)
		out.unsized = w.Unsized
		return out, nil
	})
	defer s.close()
	t := newTold(w.Offered)
	w.BeforeMiB = inMiB(heapNow())
	watch := watchHeap(ctx, l.Clock)
	again, err := offer(ctx, s, t)
	w.PeakMiB = inMiB(watch.stop())
	if err != nil {
		return nil, err
	}
	if err := o.comeAgain(ctx, s, t, again, w.InFlight); err != nil {
		return nil, err
	}
	h := &house{l: l, answered: map[operation.Answer]int{}}
	if err := h.settle(ctx); err != nil {
		return nil, err
	}
	w.Refused, w.Accepted, w.AfterMiB = t.refused, len(t.accepted()), inMiB(heapNow())
	w.Count, err = recount(ctx, l)
	return w.judge(t), err
}

func (o Options) comeAgain(ctx context.Context, s *sender, t *told, again []int, inFlight int) error {
	return each(ctx, again, min(inFlight, o.Concurrency), func(ctx context.Context, n int) error {
		r, refused, err := s.persist(ctx, n)
		t.note(n, r)
		t.mu.Lock()
		t.refused += refused
		t.mu.Unlock()
		return err
	})
}

func (w *Wave) judge(t *told) (p promises) {
	p.holds(len(t.wrong) == 0, "answers that are neither a yes nor \"not now, come again\", by status: %v", t.wrong)
	p.holds(t.different == 0, "%d repeats were answered with another run", t.different)
	p.holds(w.Accepted == w.Offered, "%d of %d got in at last", w.Accepted, w.Offered)
	p.holds(w.PeakMiB-w.BeforeMiB <= peakMiBMax, "memory in use grew by %.0f MiB, more than %d", w.PeakMiB-w.BeforeMiB, peakMiBMax)
	w.Count.accepted(&p, t.accepted())
	w.Count.judge(&p)
	return p
}
