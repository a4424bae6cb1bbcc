package simtarget

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// wire is one served connection. It counts every byte and bounds what one request may send.
type wire struct {
	net.Conn
	t     *target
	note  *Connection
	allow int // bytes that the current request may still send
}

func (w *wire) Read(p []byte) (int, error) {
	if w.allow <= 0 {
		return 0, errBodyTooLarge
	}
	n, err := w.Conn.Read(p[:min(len(p), w.allow)])
	w.allow -= n
	w.record(func(c *Connection) { c.BytesIn += int64(n) })
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.record(func(c *Connection) { c.BytesOut += int64(n) })
	return n, err
}

func (w *wire) record(f func(*Connection)) {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	f(w.note)
}

// serve answers the requests of one connection until one side ends it.
func (s *Sim) serve(t *target, c net.Conn) {
	w := &wire{Conn: c, t: t}
	t.mu.Lock()
	w.note = t.tally.open()
	t.mu.Unlock()
	defer w.record(func(c *Connection) { c.Open = false })
	if len(s.faults.take(t.spec.Target, atAccept)) > 0 {
		w.struck(KindResetBeforeFirstByte)
		cutConn(c)
		return
	}
	br := bufio.NewReader(w)
	for s.serveOne(w, br) {
	}
}

func (w *wire) struck(k Kind) {
	w.record(func(c *Connection) { c.Fault = k })
}

// serveOne answers one request; it reports whether the connection can carry another.
func (s *Sim) serveOne(w *wire, br *bufio.Reader) bool {
	w.allow = headerBytesMax + requestBytesMax
	req, err := http.ReadRequest(br)
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
			w.send(reply{status: http.StatusBadRequest}, http.MethodGet, true)
		}
		return false
	}
	w.record(func(c *Connection) { c.Requests++ })
	if len(s.faults.take(w.t.spec.Target, atHeaders, w.t.candidates(req)...)) > 0 {
		w.struck(KindResetAfterHeaders)
		cutConn(w.Conn)
		return false
	}
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		fmt.Fprint(w, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	x, err := readExchange(req, w.note.ID)
	switch {
	case errors.Is(err, errBodyTooLarge):
		w.send(reply{status: http.StatusRequestEntityTooLarge}, req.Method, true)
		return false
	case err != nil:
		return false // the sender went away inside its request: nothing happened
	}
	return s.finish(w, br, req, w.t.handle(x))
}

// candidates are the routes that a request's head leaves possible.
func (t *target) candidates(req *http.Request) (routes []*Route) {
	for i := range t.spec.Routes {
		r := &t.spec.Routes[i]
		if _, ok := matchPath(r.Path, req.URL.Path); ok && r.Method == req.Method {
			routes = append(routes, r)
		}
	}
	if routes == nil {
		routes = []*Route{nil}
	}
	return routes
}

// finish does on the wire what the outcome says.
func (s *Sim) finish(w *wire, br *bufio.Reader, req *http.Request, out outcome) bool {
	if out.fault != "" {
		w.struck(out.fault)
	}
	if !out.until.IsZero() && s.clock.SleepUntil(s.ctx, out.until) != nil {
		return false
	}
	if out.done != nil {
		out.done()
	}
	switch out.action {
	case cut:
		cutConn(w.Conn)
		return false
	case hang:
		w.allow = headerBytesMax + requestBytesMax
		io.Copy(io.Discard, br)
		return false
	case half:
		raw := out.reply.bytes(w.date(s), req.Method, false)
		w.Write(raw[:halfOf(len(raw), len(out.reply.body))])
		return false
	case answerThenBreak:
		if w.send(out.reply, req.Method, false) == nil {
			br.Peek(1)
			cutConn(w.Conn)
		}
		return false
	}
	return w.send(out.reply, req.Method, req.Close) == nil && !req.Close
}

// halfOf ends inside the body, or inside the head of an answer without one.
func halfOf(all, body int) int {
	if body == 0 {
		return all / 2
	}
	return all - (body+1)/2
}

func (w *wire) date(s *Sim) time.Time { return s.clock.Now() }

func (w *wire) send(r reply, method string, last bool) error {
	_, err := w.Write(r.bytes(w.date(w.t.sim), method, last))
	return err
}

// bytes is the answer's HTTP/1.1 form.
func (r reply) bytes(now time.Time, method string, last bool) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %03d %s\r\n", r.status, http.StatusText(r.status))
	fmt.Fprintf(&out, "Date: %s\r\n", now.UTC().Format(http.TimeFormat))
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&out, "%s: %s\r\n", name, oneLine(r.header[name]))
	}
	if last {
		out.WriteString("Connection: close\r\n")
	}
	if r.status != http.StatusNoContent {
		fmt.Fprintf(&out, "Content-Length: %d\r\n", len(r.body))
	}
	out.WriteString("\r\n")
	if method != http.MethodHead {
		out.Write(r.body)
	}
	return out.Bytes()
}

// oneLine keeps a header value from opening another header.
func oneLine(v string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(v) }

// cutConn resets a TCP connection, so that the peer sees a reset and not an end.
func cutConn(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}
