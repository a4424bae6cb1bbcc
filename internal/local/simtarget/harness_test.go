package simtarget_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/local/simtarget"
	"holdfast/targets/sim"
)

// world is one simulation with a raw client that sees the wire as it is.
type world struct {
	t     *testing.T
	sim   *simtarget.Sim
	clock *clock.Movable
	urls  map[string]string
}

// shipped reads the data files once for all tests; a simulation does not change them.
var shipped = sync.OnceValues(func() ([]simtarget.Spec, error) { return simtarget.Load(sim.FS) })

func newWorld(t *testing.T) *world {
	t.Helper()
	specs, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: clock.New(), urls: map[string]string{}}
	w.sim = simtarget.New(simtarget.Options{Clock: w.clock, Specs: specs, Seed: 7})
	t.Cleanup(func() { w.sim.Close() })
	return w
}

func (w *world) fault(f simtarget.Fault) {
	w.t.Helper()
	if f.Count == 0 && f.Probability == 0 {
		f.Count = 1
	}
	if _, err := w.sim.SetFault(f); err != nil {
		w.t.Fatal(err)
	}
}

// dial opens a TCP connection, so that a reset can be told from an end.
func (w *world) dial(target string) net.Conn {
	w.t.Helper()
	c, err := w.tryDial(target)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) tryDial(target string) (net.Conn, error) {
	w.t.Helper()
	if w.urls[target] == "" {
		u, err := w.sim.Listen(target, "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		w.urls[target] = u
	}
	u, err := url.Parse(w.urls[target])
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err == nil {
		w.t.Cleanup(func() { c.Close() })
	}
	return c, err
}

func (w *world) pipe(target string) net.Conn {
	w.t.Helper()
	c, err := w.sim.Dial(context.Background(), target)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

// got is an answer as the wire gave it.
type got struct {
	status int
	header http.Header
	body   string
}

func (g got) field(path string) any {
	var v any
	if json.Unmarshal([]byte(g.body), &v) != nil {
		return nil
	}
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i := 0
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func write(c net.Conn, method, path, body string, headers ...string) error {
	all := "Authorization: Bearer x\r\nX-Shopify-Access-Token: x\r\n"
	for i := 0; i < len(headers); i += 2 {
		all += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	_, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: sim\r\n%sContent-Length: %d\r\n\r\n%s", method, path, all, len(body), body)
	return err
}

func read(c net.Conn) (got, error) { return readFrom(bufio.NewReader(c)) }

func readFrom(br *bufio.Reader) (got, error) {
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		return got{}, err
	}
	body, err := io.ReadAll(res.Body)
	return got{res.StatusCode, res.Header, string(body)}, err
}

// call makes one request on a connection of its own.
func (w *world) call(target, method, path, body string, headers ...string) got {
	w.t.Helper()
	g, err := w.try(target, method, path, body, headers...)
	if err != nil {
		w.t.Fatalf("%s %s %s: %v", target, method, path, err)
	}
	return g
}

func (w *world) try(target, method, path, body string, headers ...string) (got, error) {
	c := w.pipe(target)
	defer c.Close()
	if err := write(c, method, path, body, headers...); err != nil {
		return got{}, err
	}
	return read(c)
}

func (w *world) effects(target string) int { return w.sim.Effects()[target].Effects }

func (w *world) wantEffects(target string, want int) {
	w.t.Helper()
	if n := w.effects(target); n != want {
		w.t.Errorf("%s: %d effects, want %d", target, n, want)
	}
}

func (w *world) wantStatus(g got, want int) {
	w.t.Helper()
	if g.status != want {
		w.t.Errorf("status %d, want %d; body %s", g.status, want, g.body)
	}
}

func (w *world) wantField(g got, path string, want any) {
	w.t.Helper()
	if v := g.field(path); v != want {
		w.t.Errorf("%s is %v, want %v; body %s", path, v, want, g.body)
	}
}

const (
	hour = simtarget.Duration(time.Hour)
	mail = `{"from":"a@example.com","to":["b@example.com"],"subject":"Hi","html":"<p>x</p>"}`
)
