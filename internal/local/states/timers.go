package states

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"holdfast/internal/clock"
)

// alarms call something once the clock reached a time. What they call must be quick and must not wait.
type alarms interface {
	set(at time.Time, fire func()) alarm
}

// alarm is one due time; off takes it back, if it has not fired already.
type alarm interface{ off() }

// clockAlarms leaves every due time to the clock, for a server whose Parallel was given: the scheduler that made both
// decides when they fire, and no goroutine sleeps here.
type clockAlarms struct{ clock clock.Clock }

type clockAlarm func()

func (c clockAlarms) set(at time.Time, fire func()) alarm {
	return clockAlarm(c.clock.AfterFunc(at, fire))
}

func (stop clockAlarm) off() { stop() }

// timers keeps all due times of a server in one heap with one sleeper, so that a hundred thousand waiting executions
// cost one goroutine and a moved clock wakes one.
type timers struct {
	clock clock.Clock

	mu      sync.Mutex
	due     timerHeap
	asleep  time.Time // until when the sleeper sleeps; zero: until it is woken
	resting bool
	wake    chan struct{}
}

type timer struct {
	at    time.Time
	fire  func()
	home  *timers
	index int // in the heap; -1 when it is not there any more
}

func newTimers(c clock.Clock) *timers { return &timers{clock: c, wake: make(chan struct{}, 1)} }

// set implements alarms.
func (t *timers) set(at time.Time, fire func()) alarm {
	one := &timer{at: at, fire: fire, home: t}
	t.mu.Lock()
	heap.Push(&t.due, one)
	sooner := t.resting && (t.asleep.IsZero() || at.Before(t.asleep))
	t.mu.Unlock()
	if sooner {
		t.rouse()
	}
	return one
}

// off implements alarm.
func (one *timer) off() {
	t := one.home
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.index >= 0 {
		heap.Remove(&t.due, one.index)
	}
}

func (t *timers) rouse() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run fires timers until ctx ends.
func (t *timers) run(ctx context.Context) {
	for ctx.Err() == nil {
		t.fireDue()
		t.rest(ctx)
	}
}

func (t *timers) fireDue() {
	for {
		now := t.clock.Now()
		t.mu.Lock()
		if len(t.due) == 0 || t.due[0].at.After(now) {
			t.resting, t.asleep = true, time.Time{}
			if len(t.due) > 0 {
				t.asleep = t.due[0].at
			}
			t.mu.Unlock()
			return
		}
		one := heap.Pop(&t.due).(*timer)
		t.mu.Unlock()
		one.fire()
	}
}

// rest returns when the next timer is due, a sooner one was added, or ctx ended.
func (t *timers) rest(ctx context.Context) {
	t.mu.Lock()
	until := t.asleep
	t.mu.Unlock()
	if until.IsZero() {
		select {
		case <-t.wake:
		case <-ctx.Done():
		}
	} else {
		t.sleep(ctx, until)
	}
	t.mu.Lock()
	t.resting = false
	t.mu.Unlock()
}

func (t *timers) sleep(ctx context.Context, until time.Time) {
	nap, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-t.wake:
			cancel()
		case <-nap.Done():
		}
	})
	// An early end is no error: the caller looks at the clock again.
	_ = t.clock.SleepUntil(nap, until)
	cancel()
	watcher.Wait()
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }

// Push implements heap.Interface.
func (h *timerHeap) Push(v any) {
	one := v.(*timer)
	one.index = len(*h)
	*h = append(*h, one)
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	old := *h
	one := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	one.index = -1
	return one
}
