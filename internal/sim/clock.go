package sim

import (
	"context"
	"time"
)

// processClock is the time as one process sees it: the world's, off by its skew.
type processClock struct {
	w    *world
	skew time.Duration
	boot time.Time
}

// Now implements clock.Clock.
func (c *processClock) Now() time.Time { return c.w.now.Add(c.skew) }

// Mono implements clock.Clock: no skew is in it.
func (c *processClock) Mono() time.Duration { return c.w.now.Sub(c.boot) }

// SleepUntil implements clock.Clock.
func (c *processClock) SleepUntil(_ context.Context, t time.Time) error {
	c.w.sleep(t.Sub(c.Now()))
	return nil
}

// AfterFunc implements clock.Clock.
func (c *processClock) AfterFunc(t time.Time, f func()) (stop func()) {
	due := c.w.at(t.Add(-c.skew), f)
	return func() { c.w.cancel(due) }
}
