package simtarget

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
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

func (w *wire) record(f func(*Connection)) { w.t.noted(w.note, f) }

// serve answers the requests of one connection until one side ends it.
func (s *Sim) serve(t *target, c net.Conn) {
	w := &wire{Conn: c, t: t, note: t.opened()}
	defer w.record(func(c *Connection) { c.Open = false })
	if s.resetAtAccept(t) {
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
	switch {
	case gone(err):
		return false
	case err != nil:
		return s.finish(w, br, refuse(s.clock.Now(), http.StatusBadRequest, http.MethodGet))
	}
	w.record(func(c *Connection) { c.Requests++ })
	if s.resetAtHeaders(w.t, req) {
		return s.finish(w, br, Exchange{Action: ActionCut, Fault: KindResetAfterHeaders})
	}
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		fmt.Fprint(w, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	x, err := w.t.readExchange(req)
	if gone(err) {
		return false // the sender went away inside its request: nothing happened
	}
	return s.finish(w, br, s.carryOut(w.t, w.note, req, x, err))
}

// candidates are the routes that a request's head leaves possible.
func (t *target) candidates(req *http.Request) (routes []*Route) {
	for i := range t.spec.Routes {
		r := &t.spec.Routes[i]
		if r.Method == req.Method && r.at(req.URL.Path) {
			routes = append(routes, r)
		}
	}
	if routes == nil {
		routes = []*Route{nil}
	}
	return routes
}

// finish does on the wire what the exchange says; it reports whether the connection can carry another request.
func (s *Sim) finish(w *wire, br *bufio.Reader, ex Exchange) bool {
	if ex.Fault != "" {
		w.struck(ex.Fault)
	}
	if !ex.At.IsZero() && s.clock.SleepUntil(s.ctx, ex.At) != nil {
		return false
	}
	if ex.Done != nil {
		ex.Done()
	}
	switch ex.Action {
	case ActionCut:
		cutConn(w.Conn)
		return false
	case ActionHang:
		w.allow = headerBytesMax + requestBytesMax
		io.Copy(io.Discard, br)
		return false
	}
	if _, err := w.Write(ex.Answer); err != nil {
		return false
	}
	if ex.Action == ActionAnswerThenCut {
		br.Peek(1)
		cutConn(w.Conn)
	}
	return ex.Action == ActionAnswer && !ex.Last
}

// bytes is the answer's HTTP/1.1 form.
func (r reply) bytes(now time.Time, method string, last bool) []byte {
	out := make([]byte, 0, answerHeadBytes+len(r.body))
	out = append(out, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(r.status), 10)
	out = append(append(append(out, ' '), http.StatusText(r.status)...), "\r\nDate: "...)
	out = append(now.UTC().AppendFormat(out, http.TimeFormat), "\r\n"...)
	for _, h := range r.header {
		out = append(append(append(append(out, h.name...), ": "...), oneLine(h.value)...), "\r\n"...)
	}
	if last {
		out = append(out, "Connection: close\r\n"...)
	}
	if r.status != http.StatusNoContent {
		out = append(strconv.AppendInt(append(out, "Content-Length: "...), int64(len(r.body)), 10), "\r\n"...)
	}
	out = append(out, "\r\n"...)
	if method != http.MethodHead {
		out = append(out, r.body...)
	}
	return out
}

// oneLine keeps a header value from opening another header.
func oneLine(v string) string {
	return strings.ReplaceAll(strings.ReplaceAll(v, "\r", " "), "\n", " ")
}

// cutConn resets a TCP connection, so that the peer sees a reset and not an end.
func cutConn(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}
