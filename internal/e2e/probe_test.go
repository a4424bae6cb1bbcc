package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"holdfast/internal/local/dynamo"
	"holdfast/internal/target/wire"
)

// moment says on which side of a boundary something goes wrong: before the thing is done, or after it was done and
// before its answer is heard.
type moment int

const (
	before moment = iota
	after
)

// fate says what goes wrong at a boundary.
type fate int

const (
	noFate   fate = iota
	restart       // every handler of the process ends there, the process starts again on the same store
	killed        // only this invocation ends there; Step Functions is told
	lostWord      // nothing ends; the call fails for its caller
)

func (f fate) String() string {
	return [...]string{"none", "process restart", "invocation killed", "answer lost"}[f]
}

func (m moment) String() string { return [...]string{"before", "after"}[m] }

var errCut = errors.New("the connection broke")

// probe stands at every boundary between the handlers and the outside: writes to the ledger, calls to Step Functions,
// events on the wire to targets. It counts them, and lets one go wrong.
type probe struct {
	mu    sync.Mutex
	armed bool
	at    int // index of the boundary that goes wrong
	when  moment
	how   fate
	seen  []string
	calls map[string]int
	dead  bool
	fired bool
	onHit func(name string, m moment) // also called at every boundary, for tests that steer by them
	// refuse lets a call fail before it is made, whenever it says so.
	refuse func(name string) bool
}

func (p *probe) arm(at int, m moment, how fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.at, p.when, p.how, p.seen, p.fired, p.calls = true, at, m, how, nil, false, map[string]int{}
}

func (p *probe) disarm() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	return slices.Clone(p.seen)
}

func (p *probe) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *probe) revived() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = false
}

func (p *probe) hasFired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fired
}

// cross passes one boundary. It is false when the caller has to be told that the call failed.
func (p *probe) cross(name string, do func()) bool {
	n := p.count(name)
	if p.refuses(name) {
		return false
	}
	if !p.strike(n, name, before) {
		return false
	}
	do()
	return p.strike(n, name, after)
}

func (p *probe) refuses(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse != nil && p.refuse(name)
}

func (p *probe) count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		p.mu.Unlock()
		defer p.mu.Lock()
		runtime.Goexit() // the process has ended: none of its goroutines does anything more
	}
	if !p.armed {
		return -1
	}
	p.seen = append(p.seen, name)
	return len(p.seen) - 1
}

func (p *probe) strike(n int, name string, m moment) bool {
	p.mu.Lock()
	hook := p.onHit
	hit := n >= 0 && p.armed && !p.fired && n == p.at && m == p.when && p.how != noFate
	if hit {
		p.fired = true
		p.dead = p.how == restart
	}
	how := p.how
	p.mu.Unlock()
	if hook != nil {
		hook(name, m)
	}
	if hit && how != lostWord {
		runtime.Goexit()
	}
	return !hit
}

// observer marks the context of the test's own calls.
type observer struct{}

func observing() context.Context { return context.WithValue(context.Background(), observer{}, true) }

var writes = []string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"}

// around stands around the DynamoDB server. Reads are counted, and no boundary: a process that ends at a read has
// ended after the write before it.
func (p *probe) around(c dynamo.Call, next func() dynamo.Reply) dynamo.Reply {
	if c.Context.Value(observer{}) != nil {
		return next() // the test itself looks; it does not end with the process
	}
	if !slices.Contains(writes, c.Op) {
		p.read(c)
		return next()
	}
	reply := dynamo.Reply{Err: errCut}
	name := "ledger " + c.Op + " " + keysOf(c.Body)
	p.tally(name)
	if !p.cross(name, func() { reply = next() }) {
		return dynamo.Reply{Err: errCut}
	}
	return reply
}

func (p *probe) read(c dynamo.Call) {
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	if dead {
		runtime.Goexit()
	}
	p.tally("ledger " + c.Op + " " + keysOf(c.Body))
}

func (p *probe) tally(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed {
		p.calls[name]++
	}
}

var keyText = regexp.MustCompile(`"pk":\{"S":"([a-z]+)[^"]*"\},"sk":\{"S":"([a-z]+)`)

var (
	namedText = regexp.MustCompile(`"S":"([a-z]+)#`)
	pkText    = regexp.MustCompile(`"pk":\{"S":"([a-z]+)`)
	skText    = regexp.MustCompile(`"sk":\{"S":"([a-z]+)`)
)

// keysOf says which kinds of items a call names.
func keysOf(body []byte) string {
	var compact map[string]any
	if json.Unmarshal(body, &compact) != nil {
		return "?"
	}
	canonical, err := json.Marshal(compact)
	if err != nil {
		return "?"
	}
	var kinds []string
	for _, m := range keyText.FindAllSubmatch(canonical, -1) {
		kinds = append(kinds, string(m[1])+"/"+string(m[2]))
	}
	if strings.Contains(string(canonical), `"IndexName"`) {
		kinds = append(kinds, "index")
	}
	if len(kinds) == 0 {
		pk, sk := pkText.FindSubmatch(canonical), skText.FindSubmatch(canonical)
		if pk != nil && sk != nil {
			return string(pk[1]) + "/" + string(sk[1])
		}
		if m := namedText.FindSubmatch(canonical); m != nil {
			kinds = append(kinds, string(m[1])+"/*")
		}
	}
	return strings.Join(kinds, "+")
}

// states stands around the Step Functions API.
func (p *probe) states(to http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (out *http.Response, err error) {
		_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		p.tally("states " + op)
		if !p.cross("states "+op, func() { out, err = to.RoundTrip(r) }) {
			return nil, errCut
		}
		return out, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dial stands around the connections to targets.
func (p *probe) dial(to wire.Dial) wire.Dial {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		if !p.cross("wire dial", func() { conn, err = to(ctx, network, address) }) {
			if conn != nil {
				conn.Close()
			}
			return nil, errCut
		}
		if err != nil {
			return nil, err
		}
		return &probed{Conn: conn, probe: p}, nil
	}
}

type probed struct {
	net.Conn
	probe  *probe
	heard  bool
	wrote  bool
	failed error
}

func (c *probed) Write(b []byte) (n int, err error) {
	if c.wrote {
		return c.Conn.Write(b)
	}
	c.wrote = true
	if !c.probe.cross("wire write", func() { n, err = c.Conn.Write(b) }) {
		c.Conn.Close()
		c.failed = errCut
		return n, errCut
	}
	return n, err
}

func (c *probed) Read(b []byte) (n int, err error) {
	if c.failed != nil {
		return 0, c.failed
	}
	if c.heard {
		return c.Conn.Read(b)
	}
	c.heard = true
	if !c.probe.cross("wire read", func() { n, err = c.Conn.Read(b) }) {
		c.Conn.Close()
		c.failed = errCut
		return 0, errCut
	}
	return n, err
}

func (p *probe) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s %s boundary %d", p.how, p.when, p.at)
}

// killOnce ends the invocation that first passes a boundary.
func (w *world) killOnce(name string, m moment) func(string, moment) {
	var first atomic.Bool
	return func(n string, at moment) {
		if n == name && at == m && first.CompareAndSwap(false, true) {
			runtime.Goexit()
		}
	}
}
