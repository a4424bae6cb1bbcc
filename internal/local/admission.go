package local

import "sync"

const (
	requestsMax      = 1000     // requests in progress: Lambda's own limit on concurrent calls in a new account
	requestsBytesMax = 64 << 20 // bytes of their bodies together
	backlogMax       = 8_000    // calls of functions in progress or waiting for their turn: fewer than callsMax, so that runs that were taken in go on
)

// admission bounds what is in progress, before any of it is read. Who is refused was answered with no 2xx, so that the
// sender sends again and nothing accepted is lost.
type admission struct {
	mu       sync.Mutex
	requests int
	bytes    int64
}

// behind says that so many runs wait to go on that no notification is taken in: each one would only wait behind them, and
// take memory meanwhile. People and their pages are let in.
func (l *Local) behind(function string) bool {
	return function == webhookFunction && l.Busy() >= backlogMax
}

// webhookFunction takes notifications in.
const webhookFunction = "WebhookFunction"

// enter admits a request with a body of size bytes; a body of unknown size counts as the largest one. leave must be
// called once it is answered.
func (a *admission) enter(size int64) (leave func(), ok bool) {
	if size < 0 || size > bodyBytesMax {
		size = bodyBytesMax
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests >= requestsMax || a.bytes+size > requestsBytesMax {
		return nil, false
	}
	a.requests++
	a.bytes += size
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.requests--
		a.bytes -= size
	}, true
}
