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
	thaw time.Time // its process is frozen until then
}

// freeze stops the process of the actor who has the baton: none of its timers goes off before it thaws, and then the
// actor comes first.
func (w *world) freeze() {
	d := frozenTime
	if w.tape.draw(w.me, 4) == 0 {
		d = frozenLong
	}
	if c := w.me.call; c != nil && c.process != nil {
		c.process.clock.thaw = w.now.Add(d)
	}
	w.sleep(d)
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
	var due *timer
	var fire func()
	fire = func() {
		if c.w.now.Before(c.thaw) {
			due = c.w.at(c.thaw.Add(time.Millisecond), fire)
			return
		}
		f()
	}
	due = c.w.at(t.Add(-c.skew), fire)
	return func() { c.w.cancel(due) }
}
