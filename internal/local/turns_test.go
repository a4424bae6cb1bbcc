package local

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"holdfast/internal/clock"
)

// crowd is functions that say when they work and end when they are told to.
type crowd struct {
	working, most atomic.Int64
	order         chan string
	leave         chan struct{}
}

func newCrowd() *crowd { return &crowd{order: make(chan string, 100), leave: make(chan struct{})} }

func (c *crowd) work(_ context.Context, in string) error {
	n := c.working.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	c.order <- in
	<-c.leave
	c.working.Add(-1)
	return nil
}

// invoker calls the functions of a crowd through n turns.
func (c *crowd) invoker(n int) queued {
	f := newFunctions(clock.New())
	f.add("PlanFunction", c.work, 1<<62)
	f.add("ExecuteFunction", c.work, 1<<62)
	return queued{f, &turns{free: n}}
}

func call(t *testing.T, ctx context.Context, q queued, function, in string) {
	go func() {
		if _, failed, err := q.Invoke(ctx, functionArn(function), []byte(`"`+in+`"`)); (err != nil || failed != nil) && ctx.Err() == nil {
			t.Errorf("%s: %v %v", in, failed, err)
		}
	}()
	synctest.Wait()
}

func TestTurnsBoundWhatWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		q := c.invoker(2)
		for range 10 {
			call(t, t.Context(), q, "PlanFunction", "x")
		}
		if n := q.functions.busy.Load(); c.working.Load() != 2 || n < 10 {
			t.Errorf("%d work and %d are busy; want 2, and all 10", c.working.Load(), n)
		}
		close(c.leave)
		synctest.Wait()
		if c.most.Load() != 2 || len(c.order) != 10 || q.functions.busy.Load() != 0 || q.turns.free != 2 {
			t.Errorf("at most %d worked, %d in all, %d still busy, %d turns left", c.most.Load(), len(c.order), q.functions.busy.Load(), q.turns.free)
		}
	})
}

// A run that has begun is ended before a fresh one begins, each kind in the order it came.
func TestTurnsGoToRunsThatHaveBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		q := c.invoker(1)
		call(t, t.Context(), q, "PlanFunction", "first")
		for _, in := range []string{"fresh 1", "fresh 2"} {
			call(t, t.Context(), q, "PlanFunction", in)
		}
		for _, in := range []string{"begun 1", "begun 2"} {
			call(t, t.Context(), q, "ExecuteFunction", in)
		}
		close(c.leave)
		synctest.Wait()
		close(c.order)
		got := slices.Collect(func(yield func(string) bool) {
			for in := range c.order {
				yield(in)
			}
		})
		if want := []string{"first", "begun 1", "begun 2", "fresh 1", "fresh 2"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Who gives up waiting takes no turn with it.
func TestTurnsOutliveWhoGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		q := c.invoker(1)
		call(t, t.Context(), q, "PlanFunction", "first")
		ctx, cancel := context.WithCancel(t.Context())
		call(t, ctx, q, "PlanFunction", "gives up")
		cancel()
		synctest.Wait()
		call(t, t.Context(), q, "PlanFunction", "last")
		close(c.leave)
		synctest.Wait()
		if len(c.order) != 2 || q.turns.free != 1 {
			t.Errorf("%d worked, want 2; %d turns left, want 1", len(c.order), q.turns.free)
		}
	})
}

// A turn is lent while its owner dials or reads, and taken back without waiting.
func TestTurnsAreLentToOthersWhileTheNetworkIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		q := c.invoker(1)
		ours, theirs := net.Pipe()
		dialled, dial := make(chan struct{}), func(context.Context, string, string) (net.Conn, error) { return ours, nil }
		slow := q.turns.lending(func(ctx context.Context, network, address string) (net.Conn, error) {
			<-dialled
			return dial(ctx, network, address)
		})
		read := make(chan error, 1)
		q.functions.add("ReconcileFunction", func(ctx context.Context) error {
			conn, err := slow(ctx, "tcp", "target")
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
			read <- err
			return nil
		}, 1<<62)
		call(t, t.Context(), q, "ReconcileFunction", "")
		call(t, t.Context(), q, "PlanFunction", "while it dials")
		close(dialled)
		c.leave <- struct{}{}
		call(t, t.Context(), q, "PlanFunction", "while it reads")
		if c.working.Load() != 1 {
			t.Errorf("%d work, want 1", c.working.Load())
		}
		if _, err := theirs.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil { // although the other one has not ended
			t.Error(err)
		}
		close(c.leave)
		synctest.Wait()
		if len(c.order) != 2 || q.turns.free != 1 {
			t.Errorf("%d worked, want 2; %d turns left, want 1", len(c.order), q.turns.free)
		}
	})
}

// A failed dial gives its turn back as well, and a call from outside of the state machine has none to lend.
func TestTurnsAfterAFailedDial(t *testing.T) {
	t.Parallel()
	broken := errors.New("no route")
	tests := map[string]struct {
		holds bool
		lent  int
	}{"holds a turn": {true, 1}, "holds none": {false, 0}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns, ctx, lent := &turns{}, t.Context(), 0
			if tt.holds {
				ctx = context.WithValue(ctx, turnKey{}, turns)
			}
			dial := turns.lending(func(context.Context, string, string) (net.Conn, error) {
				lent = turns.free
				return nil, broken
			})
			if _, err := dial(ctx, "tcp", "target"); !errors.Is(err, broken) || lent != tt.lent || turns.free != 0 {
				t.Errorf("%v, %d lent meanwhile, %d left; want the error, %d and 0", err, lent, turns.free, tt.lent)
			}
		})
	}
}
