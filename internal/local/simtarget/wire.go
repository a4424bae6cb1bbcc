package simtarget

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Action is what the wire does once an exchange's time has come.
type Action int

// The actions. Answer's bytes are already what the wire carries: a halved answer ends where the wire ends it.
const (
	ActionAnswer        Action = iota // Answer goes out whole; the connection can carry another request unless Last
	ActionCut                         // the connection is reset and nothing goes out
	ActionHang                        // nothing ever goes out; the connection stays open until the sender ends it
	ActionHalf                        // Answer, which is cut short, goes out and the connection ends
	ActionAnswerThenCut               // Answer goes out whole; the next request on the connection is cut unread
)

// String names the action for logs and stories.
func (a Action) String() string {
	names := []string{"answer", "cut", "hang", "half an answer", "answer, then cut"}
	if a < 0 || int(a) >= len(names) {
		return "unknown action"
	}
	return names[a]
}

// Exchange is what one request led to.
type Exchange struct {
	Action Action
	Answer []byte    // bytes for the wire; nil for ActionCut and ActionHang
	Status int       // of the answer; 0 when none goes out
	At     time.Time // when the action's time comes; zero: at once
	Done   func()    // nil, or to be called once at At before Answer goes out, whether the sender still waits or not; it settles the key
	Fault  Kind      // the switch that struck; empty: none
	Last   bool      // the connection ends after Answer
	Size   int       // bytes of the request; what follows them was not looked at
}

// ErrPartial says that the bytes do not hold a whole request yet, so that nothing happened and no switch was used up.
var ErrPartial = errors.New("the request is not whole: nothing reached the target; call again with all of its bytes")

// Exchange carries out one request, whole as it came, and returns when its effect is committed: there is no
// connection, no waiting and no goroutine. The exchange counts as a connection of its own that carried one request.
// Only KindLateCommit commits later, through the clock's AfterFunc; KindLateAnswer commits now and leaves At and Done
// to the caller. Errors: ErrPartial, an unknown target, a closed simulation; none of them had an effect.
func (s *Sim) Exchange(name string, request []byte) (Exchange, error) {
	t, err := s.target(name)
	if err != nil {
		return Exchange{}, err
	}
	if err := s.use(name); err != nil {
		return Exchange{}, err
	}
	if !headEnds(request) && len(request) < headerBytesMax+requestBytesMax {
		return Exchange{}, ErrPartial
	}
	src := bytes.NewReader(request)
	br := bufio.NewReaderSize(src, min(len(request)+1, sourceBytes))
	req, err := http.ReadRequest(br)
	var x *exchange
	if err == nil {
		x, err = t.readExchange(req)
	}
	if gone(err) {
		return Exchange{}, ErrPartial
	}
	size := len(request) - src.Len() - br.Buffered()
	ex := s.exchange(t, req, x, err, size)
	ex.Size = size
	return ex, nil
}

// exchange passes the stages that a connection passes, with everything read already.
func (s *Sim) exchange(t *target, req *http.Request, x *exchange, err error, size int) (ex Exchange) {
	note := t.opened()
	defer func() {
		t.noted(note, func(c *Connection) {
			c.Open, c.Fault, c.BytesIn, c.BytesOut = false, ex.Fault, int64(size), int64(len(ex.Answer))
		})
	}()
	if s.resetAtAccept(t) {
		size = 0 // nothing was read
		return Exchange{Action: ActionCut, Fault: KindResetBeforeFirstByte}
	}
	if req == nil {
		return refuse(s.clock.Now(), http.StatusBadRequest, http.MethodGet)
	}
	t.noted(note, func(c *Connection) { c.Requests++ })
	if s.resetAtHeaders(t, req) {
		return Exchange{Action: ActionCut, Fault: KindResetAfterHeaders}
	}
	return s.carryOut(t, note, req, x, err)
}

func (s *Sim) resetAtAccept(t *target) bool {
	return s.faults.any() && len(s.faults.take(t.spec.Target, atAccept)) > 0
}

func (s *Sim) resetAtHeaders(t *target, req *http.Request) bool {
	return s.faults.any() && len(s.faults.take(t.spec.Target, atHeaders, t.candidates(req)...)) > 0
}

// carryOut hands a request that was read to its end to the target. readErr is what reading its body led to.
func (s *Sim) carryOut(t *target, note *Connection, req *http.Request, x *exchange, readErr error) Exchange {
	switch {
	case errors.Is(readErr, errBodyTooLarge):
		return refuse(s.clock.Now(), http.StatusRequestEntityTooLarge, req.Method)
	case readErr != nil: // no way to frame the body
		return refuse(s.clock.Now(), http.StatusBadRequest, req.Method)
	}
	x.conn = note.ID
	return t.handle(x).onWire(s.clock.Now(), req)
}

// refuse answers what never reached the target.
func refuse(now time.Time, status int, method string) Exchange {
	return Exchange{Answer: reply{status: status}.bytes(now, method, true), Status: status, Last: true}
}

// onWire gives an outcome the bytes that it has on the wire.
func (out outcome) onWire(now time.Time, req *http.Request) Exchange {
	ex := Exchange{Action: out.action, At: out.until, Done: out.done, Fault: out.fault, Last: req.Close}
	if out.action == ActionCut || out.action == ActionHang {
		return ex
	}
	if !out.until.IsZero() {
		now = out.until
	}
	ex.Status = out.reply.status
	ex.Answer = out.reply.bytes(now, req.Method, req.Close && out.action == ActionAnswer)
	if out.action == ActionHalf {
		ex.Answer = ex.Answer[:halfOf(len(ex.Answer), len(out.reply.body))]
	}
	return ex
}

// halfOf ends inside the body, or inside the head of an answer without one.
func halfOf(all, body int) int {
	if body == 0 {
		return all / 2
	}
	return all - (body+1)/2
}

// headEnds is true when the blank line after a request's head is there.
func headEnds(request []byte) bool {
	return bytes.Contains(request, []byte("\n\r\n")) || bytes.Contains(request, []byte("\n\n"))
}

// gone is true when the sender went away inside its request, or before one.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// use notes that somebody reaches the target.
func (s *Sim) use(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("target %s: %w", name, errClosed)
	}
	s.used[name] = true
	return nil
}
