package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"holdfast/internal/clock"
)

// gate stands between the request and the connection, above TLS. The first write asks the fence; what is written
// is counted before the connection sees it, so that a write which fails half-way counts as handed over.
type gate struct {
	ctx    context.Context
	to     io.Writer
	fence  func() error
	passed bool
	closed error
	handed int64
}

// Write implements io.Writer.
func (g *gate) Write(p []byte) (int, error) {
	if g.closed != nil {
		return 0, g.closed
	}
	if !g.passed {
		if g.closed = g.ask(); g.closed != nil {
			return 0, g.closed
		}
		g.passed = true
	}
	g.handed += int64(len(p))
	return g.to.Write(p)
}

func (g *gate) ask() error {
	if err := g.ctx.Err(); err != nil {
		return errOver
	}
	if g.fence == nil {
		return nil
	}
	return g.fence()
}

// errOver is the cause of a context that ended by our own deadline.
var errOver = errors.New("the time for this request is over")

// watch ends the request at its deadline, or with the caller's context: it cancels ctx, which ends dialing, and makes
// every read and write on the connection fail. What it started has ended when finish returns.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   []func()
	mu     sync.Mutex
	conn   net.Conn
	over   bool
}

func newWatch(parent context.Context, c clock.Clock, timeout time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watch{ctx: ctx, cancel: cancel}
	var called sync.WaitGroup
	called.Add(1)
	detach := context.AfterFunc(parent, func() {
		defer called.Done()
		w.abort()
	})
	w.stop = []func(){
		c.AfterFunc(c.Now().Add(timeout), func() {
			cancel(errOver)
			w.abort()
		}),
		func() {
			if detach() {
				called.Done()
			}
			called.Wait()
		},
	}
	return w
}

// hold gives the connection to the watch, which closes it in finish.
func (w *watch) hold(conn net.Conn) {
	w.mu.Lock()
	w.conn = conn
	over := w.over
	w.mu.Unlock()
	if over {
		w.abort()
	}
}

func (w *watch) abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.conn != nil {
		_ = w.conn.SetDeadline(time.Unix(1, 0)) // an instant long past: pending reads and writes return now
	}
}

// ended says that our deadline or the caller's context ended the request.
func (w *watch) ended() bool { return w.ctx.Err() != nil }

func (w *watch) finish() {
	w.cancel(nil)
	for _, stop := range w.stop {
		stop()
	}
	if w.conn != nil {
		_ = w.conn.Close()
	}
}
