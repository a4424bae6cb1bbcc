package sim

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"holdfast/internal/local/simtarget"
)

// How long a request is under way.
const (
	wireTime    = 20 * time.Millisecond
	lateArrival = 25 * time.Second // after every caller's deadline, before the lease is over
	muchLater   = 4 * time.Minute  // still within what targets document
)

// portFirst is the port of the first simulated target; no socket is ever opened.
const portFirst = 20000

// dial makes a connection to the simulated target whose port is in the address.
func (w *world) dial(_ context.Context, _, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil || n-portFirst < 0 || n-portFirst >= len(w.lab.sims) {
		w.fail("R2", "a connection to "+address+" was asked for, where no target is")
		return nil, &net.DNSError{Err: "no such target", Name: address, IsNotFound: true}
	}
	c := &conn{w: w, target: w.lab.sims[n-portFirst]}
	c.bell.b = w.baton
	w.tick(wireTime)
	switch w.choose(kindDial, c.target) {
	case dialRefused:
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case dialHangs:
		c.hangs = true
	case dialFreeze:
		w.freeze()
	case dialCrash:
		w.crash()
	}
	return c, nil
}

// conn is one connection whose every step the adversary sees.
type conn struct {
	w      *world
	target string
	bell   bell
	hangs  bool // nothing that is written leaves
	broken error
	over   bool // the deadline has passed
	sent   []byte
	whole  bool
	answer []byte
	cut    bool // the answer ends with the connection
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	if c.over {
		return 0, os.ErrDeadlineExceeded
	}
	w := c.w
	if len(c.sent) == 0 {
		w.firstByte(c)
		switch w.choose(kindWrite, c.target) {
		case writeFails:
			c.broken = errReset
			return 0, c.broken
		case writeCut:
			c.sent = append(c.sent, p[:len(p)/2]...)
			c.broken = errReset
			return len(p) / 2, c.broken
		case writeCrash:
			c.sent = append(c.sent, p...)
			c.arrive()
			w.crash()
		case writeFreeze:
			c.sent = append(c.sent, p...)
			c.arrive()
			w.freeze()
			return len(p), nil
		case writeFailsAfter:
			c.sent = append(c.sent, p...)
			c.arrive()
			c.broken, c.answer = errReset, nil
			return 0, c.broken
		}
	}
	c.sent = append(c.sent, p...)
	c.arrive()
	return len(p), nil
}

var errReset = &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.ECONNRESET)}

// arrive brings the whole request to the target, at once or later or never.
func (c *conn) arrive() {
	if c.whole || c.hangs || !complete(c.sent) {
		return
	}
	c.whole = true
	c.w.onTheWire(c.w.current(), c.sent)
	w := c.w
	w.tick(wireTime)
	switch w.choose(kindArrive, c.target) {
	case arriveLate:
		w.arriveAt(lateArrival, c)
		return
	case arriveNever:
		return
	case arriveAfterAll:
		w.arriveAt(muchLater, c)
		return
	}
	c.carryOut(w.current())
}

// arriveAt has the request arrive when its sender has given up, or is gone.
func (w *world) arriveAt(after time.Duration, c *conn) {
	a := w.current()
	w.underWay++
	w.at(w.now.Add(after), func() {
		w.underWay--
		c.carryOut(a)
	})
}

// carryOut is the target's part. It does not park.
func (c *conn) carryOut(sender *actor) {
	ex, err := c.w.target(sender, c.target, c.sent)
	if err != nil {
		c.w.fail("", "the simulated target "+c.target+": "+err.Error())
		return
	}
	switch ex.Action {
	case simtarget.ActionAnswer, simtarget.ActionAnswerThenCut:
		c.answer = ex.Answer
	case simtarget.ActionHalf:
		c.answer, c.cut = ex.Answer, true
	case simtarget.ActionCut:
		c.broken = errReset
	}
	c.bell.Ring()
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	w := c.w
	if c.broken == nil && !c.over && !c.hangs {
		w.tick(wireTime)
		c.adversary()
	}
	for {
		switch {
		case c.over:
			return 0, os.ErrDeadlineExceeded
		case c.broken != nil && len(c.answer) == 0:
			return 0, c.broken
		case len(c.answer) > 0 && !c.hangs:
			n := copy(p, c.answer)
			if c.answer = c.answer[n:]; len(c.answer) == 0 && c.cut {
				c.broken = io.ErrUnexpectedEOF
			}
			return n, nil
		}
		c.bell.Wait()
	}
}

// adversary does what it likes to the answer.
func (c *conn) adversary() {
	w := c.w
	switch w.choose(kindAnswer, c.target) {
	case answerLost:
		w.lost++
		c.broken, c.answer = errReset, nil
	case answerHangs:
		w.lost++
		c.hangs = true
	case answerHalf:
		w.lost++
		c.answer, c.cut = c.answer[:len(c.answer)/2], true
		if len(c.answer) == 0 {
			c.broken = errReset
		}
	case answerCrash:
		w.lost++
		w.crash()
	case answerFreeze:
		w.freeze()
	case answerLate:
		w.lost++
		w.sleep(time.Minute)
	}
}

// complete says that the bytes are one whole request.
func complete(b []byte) bool {
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	_, after, ok := bytes.Cut(head, []byte("Content-Length: "))
	if !ok {
		return true
	}
	digits, _, _ := bytes.Cut(after, []byte("\r\n"))
	n, err := strconv.Atoi(string(digits))
	return err == nil && len(body) >= n
}

// Close implements net.Conn.
func (c *conn) Close() error {
	if c.broken == nil {
		c.broken = net.ErrClosed
	}
	return nil
}

// SetDeadline implements net.Conn: the product only sets one that has passed.
func (c *conn) SetDeadline(time.Time) error {
	c.over = true
	c.bell.Ring()
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
