package load

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"holdfast/internal/clock"
)

const mib = 1 << 20

// heapNow is the memory that is in use once everything unreachable is gone, in bytes. Collecting twice also empties
// what pools keep for one more cycle.
func heapNow() uint64 {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func inMiB(bytes uint64) float64 { return float64(int64(float64(bytes)/mib*10)) / 10 }

// peak watches the memory in use, garbage included, until it is stopped.
type peak struct {
	most   atomic.Uint64
	cancel context.CancelFunc
	done   chan struct{}
}

// lookEvery is how often the memory in use is read.
const lookEvery = 10 * time.Millisecond

func watchHeap(ctx context.Context, c clock.Clock) *peak {
	ctx, cancel := context.WithCancel(ctx)
	p := &peak{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for {
			p.look()
			if c.SleepUntil(ctx, c.Now().Add(lookEvery)) != nil {
				return
			}
		}
	}()
	return p
}

func (p *peak) look() {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	if n := s[0].Value.Uint64(); n > p.most.Load() {
		p.most.Store(n)
	}
}

// stop ends the watch and says the most that was in use, in bytes.
func (p *peak) stop() uint64 {
	p.look()
	p.cancel()
	<-p.done
	return p.most.Load()
}
