package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"holdfast/internal/clock"
)

const (
	// HeaderBytesMax bounds an answer's status line and headers, interim answers included, in bytes.
	HeaderBytesMax = 64 << 10
	// BodyBytesMax bounds what is read of an answer's body, in bytes.
	BodyBytesMax = 1 << 20
	// interimMax bounds how many 1xx answers may come before the final one.
	interimMax = 8
	// framingBytesMax is what chunk sizes and trailers may add to a body, in bytes.
	framingBytesMax = 256 << 10
)

// Failure says, in fixed words, what went wrong. The zero value means that a whole answer was read.
type Failure string

// The failures. The first six are only ever reported with nothing handed over.
const (
	FailureName     Failure = "the host name was not found"
	FailureRefused  Failure = "the connection was refused"
	FailureConnect  Failure = "no connection was made"
	FailureTLS      Failure = "no trusted TLS session was made"
	FailureLoopback Failure = "plain http was answered from outside of this machine"
	FailureFence    Failure = "the fence at the first byte refused"
	FailureDeadline Failure = "no answer in time"
	FailureWrite    Failure = "the connection broke while the request was written"
	FailureNoAnswer Failure = "the connection ended without an answer"
	FailureBroken   Failure = "what came back is not an HTTP answer"
	FailureHeaders  Failure = "the answer's headers are too large"
	FailureInterim  Failure = "too many interim answers"
	FailureCut      Failure = "the answer ended half-way"
	FailureLarge    Failure = "the answer is too large to read whole"
)

// Dial makes the connection; (&net.Dialer{}).DialContext is one.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Line makes connections and reads time from one place.
type Line struct {
	Dial  Dial
	TLS   *tls.Config // may be nil
	Clock clock.Clock
}

// Request is one request and its bounds. HTTP must have a host and, when it has a body, its ContentLength.
type Request struct {
	HTTP    *http.Request
	Timeout time.Duration // of everything: dialing, TLS, writing, reading
	Fence   func() error  // asked right before the first byte; nil lets everything pass
}

// Result is what one exchange showed.
type Result struct {
	Handed   int64 // bytes of the request handed to the connection, above TLS
	Status   int   // zero while no final status line was read
	Header   http.Header
	Body     []byte
	Complete bool // the whole body was read, by the answer's own framing
	Failure  Failure
	Refusal  error // the fence's own words, with FailureFence
}

// Do makes one connection, writes the request once and reads one answer.
func (l Line) Do(ctx context.Context, r Request) Result {
	w := newWatch(ctx, l.Clock, r.Timeout)
	defer w.finish()
	conn, failure := l.connect(w, r.HTTP.URL)
	if failure != "" {
		return Result{Failure: failure}
	}
	g := &gate{ctx: w.ctx, to: conn, fence: r.Fence}
	writeErr := write(r.HTTP, g)
	if g.handed == 0 {
		return Result{Failure: unsent(w, g), Refusal: refusal(g)}
	}
	out := read(conn, r.HTTP) // also after a failed write: an early refusal may be waiting
	out.Handed = g.handed
	if out.Failure != "" && out.Status == 0 && writeErr != nil {
		out.Failure = FailureWrite
	}
	if out.Failure != "" && w.ended() {
		out.Failure = FailureDeadline
	}
	return out
}

func write(r *http.Request, g *gate) error {
	buffered := bufio.NewWriter(g)
	if err := r.Write(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}

func unsent(w *watch, g *gate) Failure {
	switch {
	case errors.Is(g.closed, errOver):
		return FailureDeadline
	case g.closed != nil:
		return FailureFence
	case w.ended():
		return FailureDeadline
	}
	return FailureConnect
}

func refusal(g *gate) error {
	if errors.Is(g.closed, errOver) {
		return nil
	}
	return g.closed
}

func (l Line) connect(w *watch, u *url.URL) (net.Conn, Failure) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := l.Dial(w.ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, dialFailure(w, err)
	}
	w.hold(conn)
	if u.Scheme != "https" {
		return conn, loopback(conn)
	}
	secure := tls.Client(conn, l.config(u.Hostname()))
	if err := secure.HandshakeContext(w.ctx); err != nil {
		if w.ended() {
			return nil, FailureDeadline
		}
		return nil, FailureTLS
	}
	return secure, ""
}

func (l Line) config(host string) *tls.Config {
	c := &tls.Config{}
	if l.TLS != nil {
		c = l.TLS.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = host
	}
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	c.NextProtos = []string{"http/1.1"} // HTTP/2 replays requests by itself
	return c
}

// loopback refuses plain http to another machine, whatever its name resolved to.
func loopback(conn net.Conn) Failure {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		return FailureLoopback
	}
	return ""
}

func dialFailure(w *watch, err error) Failure {
	var name *net.DNSError
	switch {
	case w.ended():
		return FailureDeadline
	case errors.As(err, &name):
		return FailureName
	case errors.Is(err, syscall.ECONNREFUSED):
		return FailureRefused
	}
	return FailureConnect
}

func read(conn io.Reader, r *http.Request) Result {
	limited := &io.LimitedReader{R: conn, N: HeaderBytesMax}
	buffered := bufio.NewReader(limited)
	for range interimMax + 1 {
		answer, err := http.ReadResponse(buffered, r)
		if err != nil {
			return Result{Failure: headFailure(limited, err)}
		}
		if interim(answer.StatusCode) {
			continue
		}
		if answer.StatusCode < http.StatusContinue { // the library takes 000; Status is zero only without an answer
			return Result{Failure: FailureBroken}
		}
		limited.N = BodyBytesMax + framingBytesMax
		return body(answer)
	}
	return Result{Failure: FailureInterim}
}

func interim(status int) bool {
	return status >= 100 && status < 200 && status != http.StatusSwitchingProtocols
}

func headFailure(limited *io.LimitedReader, err error) Failure {
	var broken net.Error
	switch {
	case limited.N <= 0:
		return FailureHeaders
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.As(err, &broken):
		return FailureNoAnswer
	}
	return FailureBroken
}

func body(answer *http.Response) Result {
	out := Result{Status: answer.StatusCode, Header: answer.Header}
	got, err := io.ReadAll(io.LimitReader(answer.Body, BodyBytesMax+1))
	switch {
	case len(got) > BodyBytesMax:
		out.Body, out.Failure = got[:BodyBytesMax], FailureLarge
	case err != nil:
		out.Body, out.Failure = got, FailureCut
	default:
		out.Body, out.Complete = got, true
	}
	return out
}
