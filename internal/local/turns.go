package local

import (
	"context"
	"net"
	"runtime"
	"sync"

	"holdfast/internal/local/states"
	"holdfast/internal/target/wire"
)

// How many calls of the state machine work at once. More would only take the machine's time from each other, and from
// the notifications, which take no turn: a sender waits for its answer, a run does not.
const (
	turnsPerCPU = 1   // with the ledger in memory: all that a call does then is work, but for what it lends
	turnsMin    = 2   // one that hangs stops nobody
	turnsOnDisk = 128 // with a ledger that waits for the disk, where many writes share one wait
)

// turns share the machine's time among the functions that the state machine calls. Whoever waits for the network lets
// others work meanwhile and never waits to go on, so that no lease or time limit is spent in a queue.
type turns struct {
	mu    sync.Mutex
	free  int // below zero while more came back from the network than there are turns
	begun []*waiter
	fresh []*waiter
}

type waiter struct{ ready chan struct{} }

func newTurns(disk bool) *turns {
	if disk {
		return &turns{free: turnsOnDisk}
	}
	return &turns{free: max(turnsPerCPU*runtime.GOMAXPROCS(0), turnsMin)}
}

// take waits for a turn; a run that has begun goes before a fresh one. It is false when ctx ended first.
func (t *turns) take(ctx context.Context, fresh bool) bool {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return true
	}
	w := &waiter{ready: make(chan struct{})}
	if fresh {
		t.fresh = append(t.fresh, w)
	} else {
		t.begun = append(t.begun, w)
	}
	t.mu.Unlock()
	select {
	case <-w.ready:
		return true
	case <-ctx.Done():
		t.giveUp(w)
		return false
	}
}

// giveUp: a turn that was given at the last moment goes on to the next one. Who waits on with an ended context is passed
// over, so nothing is removed from the queues.
func (t *turns) giveUp(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.ready:
		t.free++
		t.next()
	default:
		close(w.ready)
	}
}

// give ends a turn, or lends it while its owner waits for the network.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	t.next()
}

// back goes on after the network without waiting.
func (t *turns) back() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free--
}

// next gives free turns to those that wait.
func (t *turns) next() {
	for t.free > 0 {
		queue := &t.begun
		if len(t.begun) == 0 {
			queue = &t.fresh
		}
		if len(*queue) == 0 {
			return
		}
		w := (*queue)[0]
		(*queue)[0] = nil
		*queue = (*queue)[1:]
		select {
		case <-w.ready: // gave up
		default:
			t.free--
			close(w.ready)
		}
	}
}

// lending dials so that the caller's turn is lent while it waits for the other side. Without turns it only dials.
func (t *turns) lending(dial wire.Dial) wire.Dial {
	if t == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(turnKey{}) != t {
			return dial(ctx, network, address)
		}
		t.give()
		conn, err := dial(ctx, network, address)
		t.back()
		if err != nil {
			return nil, err
		}
		return &lender{conn, t}, nil
	}
}

// turnKey is where a context carries the turns of which its call holds one.
type turnKey struct{}

// lender lends its owner's turn while it reads.
type lender struct {
	net.Conn
	turns *turns
}

// Read implements net.Conn.
func (l *lender) Read(b []byte) (int, error) {
	l.turns.give()
	defer l.turns.back()
	return l.Conn.Read(b)
}

// queued is how the state machine calls functions: each call when its turn has come.
type queued struct {
	functions *functions
	turns     *turns // nil when there are no turns
}

// Invoke implements states.Invoker.
func (q queued) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
	if q.turns == nil {
		return q.functions.Invoke(ctx, arn, payload)
	}
	q.functions.busy.Add(1)
	defer q.functions.busy.Add(-1)
	if !q.turns.take(ctx, arn == functionArn(firstFunction)) {
		return nil, nil, ctx.Err()
	}
	defer q.turns.give()
	return q.functions.Invoke(context.WithValue(ctx, turnKey{}, q.turns), arn, payload)
}

// firstFunction is the one that a fresh run waits for.
const firstFunction = "PlanFunction"
