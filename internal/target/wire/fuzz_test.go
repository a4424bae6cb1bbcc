package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/clock"
	"holdfast/internal/fuzztest"
	"holdfast/internal/target/wire"
)

// answerBound is what reading one answer may allocate, in bytes; the reader's own bounds are far below.
var answerBound = fuzztest.Bound{Base: 16 << 20, PerByte: 64}

// readMax is what may be read of an answer in all, in bytes: the bounds of headers and body, and one buffer.
const readMax = wire.HeaderBytesMax + wire.BodyBytesMax + 256<<10 + 4<<10

// scripted is a connection that takes a request and has an answer ready, some bytes at a time.
type scripted struct {
	net.Conn
	got    bytes.Buffer
	answer []byte
	piece  int
	read   int
	closed bool
}

func (c *scripted) Write(p []byte) (int, error) { return c.got.Write(p) }

func (c *scripted) Read(p []byte) (int, error) {
	if c.read == len(c.answer) {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.piece)], c.answer[c.read:])
	c.read += n
	return n, nil
}

func (c *scripted) Close() error {
	c.closed = true
	return nil
}

func (c *scripted) SetDeadline(time.Time) error { return nil }
func (c *scripted) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

var failures = []wire.Failure{"", wire.FailureNoAnswer, wire.FailureBroken, wire.FailureHeaders, wire.FailureInterim, wire.FailureCut, wire.FailureLarge}

// R2: whatever comes back, one request was written on one connection, and the answer is whole or has a fixed reason; in
// whatever pieces it comes, it is the same answer, and no more of it is read and kept than the bounds say.
//
//fuzz:slow
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"id\":\"1\"}\n", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nto the end", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 12),
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nabcde", "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1/other\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nbody", "HTTP/2 200\r\n\r\n", "HTTP/1.1 99999 x\r\n\r\n", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", 70000) + "\r\n\r\n", "HTTP/1.1 200 OK\nX: y\n\n", "HTTP/1.1 200 OK\r\n X: folded\r\n\r\n",
		"\x16\x03\x01", "", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 413 \r\n\r\n", "HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 099 OK\r\n\r\n",
		"big:HTTP/1.1 100 Continue\r\n\r\n", "big:HTTP/1.1 200 OK\r\n\r\nto the end", "big:a", "big:HTTP/1.1 200 OK\r\nA: b\r\n", "big:HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n",
	} {
		f.Add([]byte(seed), uint8(0))
	}
	f.Fuzz(func(t *testing.T, answer []byte, piece uint8) {
		if strings.HasPrefix(string(answer), "big:") { // the engine makes no large inputs by itself
			answer = bytes.Repeat(answer[len("big:"):], 1+(2<<20)/len(answer))
		}
		var whole wire.Result
		fuzztest.Bounded(t, answerBound, len(answer), func() { whole = exchange(t, answer, len(answer)+1) })
		check(t, whole)
		if len(answer) > 64<<10 {
			return
		}
		if diff := cmp.Diff(whole, exchange(t, answer, int(piece)%7+1), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("in pieces it is another answer:\n%s", diff)
		}
	})
}

func exchange(t *testing.T, answer []byte, piece int) wire.Result {
	t.Helper()
	conn, dials := &scripted{answer: answer, piece: piece}, 0
	line := wire.Line{Clock: clock.New(), Dial: func(context.Context, string, string) (net.Conn, error) {
		dials++
		return conn, nil
	}}
	const body = `{"effect":1}`
	u := &url.URL{Scheme: "http", Host: "127.0.0.1:1", Path: "/effects"}
	got := line.Do(t.Context(), wire.Request{Timeout: time.Hour, HTTP: &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: http.Header{}, Close: true,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}})
	if dials != 1 || !conn.closed || int64(conn.got.Len()) != got.Handed || conn.read > readMax {
		t.Fatalf("%d connections, %d bytes written, %d said, %d read, closed %v", dials, conn.got.Len(), got.Handed, conn.read, conn.closed)
	}
	onlyRequest(t, &conn.got, body)
	return got
}

func onlyRequest(t *testing.T, got *bytes.Buffer, body string) {
	t.Helper()
	r := bufio.NewReader(got)
	req, err := http.ReadRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	if sent, err := io.ReadAll(req.Body); err != nil || string(sent) != body {
		t.Fatalf("sent %q: %v", sent, err)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Fatalf("%q follows the request", rest)
	}
}

func check(t *testing.T, got wire.Result) {
	t.Helper()
	said := fmt.Sprintf("status %d, %d bytes, complete %v, failure %q", got.Status, len(got.Body), got.Complete, got.Failure)
	switch {
	case !slices.Contains(failures, got.Failure), got.Complete != (got.Failure == ""), got.Complete && got.Status == 0:
		t.Fatal(said)
	case got.Status == 0 && (got.Header != nil || got.Body != nil):
		t.Fatalf("something of an answer without a status: %s", said)
	case got.Status != 0 && got.Status < 200 && got.Status != http.StatusSwitchingProtocols || len(got.Body) > wire.BodyBytesMax:
		t.Fatal(said)
	}
}
