package load

import (
	"context"
	"errors"
	"sync"

	"holdfast/internal/local"
	"holdfast/internal/operation"
)

// Storm is what a storm of unique and repeated notifications left.
type Storm struct {
	Events     int `json:"events"`
	Repeat     int `json:"repeat"`
	InFlight   int `json:"in_flight"`
	Deliveries int `json:"deliveries"` // answered with a 2xx
	Refused    int `json:"refused"`    // answered "not now", and sent again
	Different  int `json:"different"`  // answered with another run than the first of their event
	// HeapMiB is the memory in use at the start, after a quarter, a half and all, each when everything was at its end.
	HeapMiB []float64 `json:"heap_mib"`
	// KeptBytesPerRun is by how much it grew for each run of the second half. Histories of executions are bounded, and
	// the ledger is on disk; the rest is names of executions and the simulated targets' own memory.
	KeptBytesPerRun float64 `json:"kept_bytes_per_run"`
	Count           Count   `json:"count"`
}

// keptBytesMax bounds what the second half of a storm may add to the memory in use for each run, in bytes. Measured on
// 10,000 and more runs, when the bounded histories are full: docs/load.md says what the parts of it are.
const keptBytesMax = 8 << 10

// historiesKept is how many ended executions keep their history.
const historiesKept = 10_000

// told remembers what was answered for each event.
type told struct {
	mu         sync.Mutex
	run        []operation.RunID // by event
	deliveries int
	refused    int
	different  int
	wrong      map[int]int // other answers, by status
}

func newTold(events int) *told {
	return &told{run: make([]operation.RunID, events), wrong: map[int]int{}}
}

// note takes one answer; it says how many there are.
func (t *told) note(n int, r reply) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case r.accepted():
		t.deliveries++
		if t.run[n] == "" {
			t.run[n] = r.ID
		}
		if t.run[n] != r.ID {
			t.different++
		}
	case r.refusedRight():
		t.refused++
	default:
		t.wrong[r.status]++
	}
	return t.deliveries
}

// accepted are the runs that somebody was told of.
func (t *told) accepted() map[operation.RunID]bool {
	out := map[operation.RunID]bool{}
	for _, id := range t.run {
		if id != "" {
			out[id] = true
		}
	}
	return out
}

// storm sends every event several times in a shuffled order, a quarter at a time.
func (o Options) storm(ctx context.Context) (out *Storm, broken promises, err error) {
	l, err := o.open(ctx, func(lo *local.Options) { lo.Dir = o.Dir })
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s := newSender(l, o.Concurrency, func(n int) (notification, error) { return standingNotification(o.Seed, n, 0), nil })
	defer s.close()
	out = &Storm{Events: o.Runs, Repeat: o.Repeat, InFlight: o.Concurrency}
	h := &house{l: l, answered: map[operation.Answer]int{}}
	t := newTold(o.Runs)
	order := mixedOrder(o.Seed, o.Runs, o.Repeat)
	heap := []uint64{heapNow()}
	half := 0
	for quarter := range 4 {
		part := order[len(order)*quarter/4 : len(order)*(quarter+1)/4]
		if err := o.blow(ctx, s, part, t); err != nil {
			return nil, nil, err
		}
		if err := h.settle(ctx); err != nil {
			return nil, nil, err
		}
		if quarter != 2 {
			heap = append(heap, heapNow())
		}
		if quarter == 1 {
			half = len(t.accepted())
		}
	}
	for _, b := range heap {
		out.HeapMiB = append(out.HeapMiB, inMiB(b))
	}
	out.KeptBytesPerRun = float64(int64(heap[3])-int64(heap[2])) / float64(max(o.Runs-half, 1))
	out.Deliveries, out.Refused, out.Different = t.deliveries, t.refused, t.different
	out.Count, err = recount(ctx, l)
	return out, out.judge(t, half), err
}

// tellEvery is how many answers are told at once.
const tellEvery = 5_000

func (o Options) blow(ctx context.Context, s *sender, order []int, t *told) error {
	return each(ctx, order, o.Concurrency, func(ctx context.Context, n int) error {
		r, refused, err := s.persist(ctx, n)
		if err != nil {
			return err
		}
		if answered := t.note(n, r); answered%tellEvery == 0 {
			o.Tell("%d deliveries answered", answered)
		}
		t.mu.Lock()
		t.refused += refused
		t.mu.Unlock()
		return nil
	})
}

func (s *Storm) judge(t *told, half int) (p promises) {
	p.holds(len(t.wrong) == 0, "answers that are neither a yes nor \"not now, come again\", by status: %v", t.wrong)
	p.holds(s.Different == 0, "%d repeats were answered with another run than the first delivery of their event", s.Different)
	p.holds(s.Count.Deliveries == s.Deliveries, "%d deliveries were answered with a 2xx and the ledger counts %d", s.Deliveries, s.Count.Deliveries)
	p.holds(len(t.accepted()) == s.Events, "%d of %d events were accepted, each with a run of its own", len(t.accepted()), s.Events)
	s.Count.accepted(&p, t.accepted())
	s.Count.judge(&p)
	if half >= historiesKept {
		p.holds(s.KeptBytesPerRun <= keptBytesMax, "memory grew by %.0f bytes a run, more than %d", s.KeptBytesPerRun, keptBytesMax)
	}
	return p
}
