// Package clock is the only place that reads the machine's time.
//
// It promises that everything which waits, waits on the same clock that everything else reads, so that a
// person or a test can move it. It never sleeps on a time that cannot be moved.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and waits for it. Now is UTC. Mono only ever grows while the process runs and is
// measured apart from Now, so that a paused or corrected wall clock shows as a difference between the two.
type Clock interface {
	// Now is the wall clock's time in UTC.
	Now() time.Time
	// Mono is the time since the clock was made, by the monotonic clock.
	Mono() time.Duration
	// SleepUntil returns nil once Now is at or after t, or ctx's error when that ends first.
	SleepUntil(ctx context.Context, t time.Time) error
	// AfterFunc calls f once, when Now is at or after t, unless stop comes first. f runs beside the caller and must not
	// wait for it. Once stop has returned, f has either ended or will never run.
	AfterFunc(t time.Time, f func()) (stop func())
}

// Movable is the machine's clock plus an offset that can grow. The zero offset is real time.
// It is safe for use by several goroutines.
type Movable struct {
	start  time.Time
	mu     sync.Mutex
	offset time.Duration
	moved  chan struct{}
}

// New returns a clock that runs with the machine's clock.
func New() *Movable {
	return &Movable{start: time.Now(), moved: make(chan struct{})}
}

// Now implements Clock.
func (c *Movable) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().UTC().Add(c.offset).Round(0)
}

// Mono implements Clock; a move of the clock moves it too, as if that time had passed.
func (c *Movable) Mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.start) + c.offset
}

// Offset says how far the clock has been moved.
func (c *Movable) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// Move lets d pass at once and wakes every sleeper to look again. A negative d is ignored: time does not run back.
func (c *Movable) Move(d time.Duration) {
	if d <= 0 {
		return
	}
	c.mu.Lock()
	c.offset += d
	close(c.moved)
	c.moved = make(chan struct{})
	c.mu.Unlock()
}

// SleepUntil implements Clock.
func (c *Movable) SleepUntil(ctx context.Context, t time.Time) error {
	for {
		c.mu.Lock()
		left := t.Sub(time.Now().UTC().Add(c.offset))
		moved := c.moved
		c.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-moved:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// AfterFunc implements Clock. It costs one goroutine until f has run or stop was called.
func (c *Movable) AfterFunc(t time.Time, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		if c.SleepUntil(ctx, t) == nil {
			f()
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}
