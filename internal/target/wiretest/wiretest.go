// Package wiretest is a target made of raw TCP for tests: it answers what a script says, or nothing, and counts
// what reached it.
//
// It promises that every connection and every request on it is counted. It never speaks for a real target.
package wiretest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Got is one request that arrived whole.
type Got struct {
	Method string
	URI    string
	Header http.Header
	Body   []byte
}

// Server listens on loopback. Each connection is served by the script and then watched to its end for more requests.
type Server struct {
	URL      string
	Received chan Got // one for each request that arrived whole

	listener    net.Listener
	script      Script
	wait        sync.WaitGroup
	mu          sync.Mutex
	connections int
	requests    []Got
}

// Script serves one connection after its n-th request (from 0) arrived whole.
type Script func(c *Conn, n int)

// Conn is one connection as a script sees it.
type Conn struct {
	*net.TCPConn
	reader *bufio.Reader
}

// Say writes text as it stands.
func (c *Conn) Say(text string) { _, _ = io.WriteString(c, text) }

// Reset breaks the connection without an orderly end.
func (c *Conn) Reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// Hang waits until the other side goes away.
func (c *Conn) Hang() { _, _ = io.Copy(io.Discard, c.reader) }

// New starts a server whose script runs once for each request.
func New(tb testing.TB, script Script) *Server {
	tb.Helper()
	return start(tb, script, false)
}

// NewEarly starts a server whose script runs at once on each connection, before anything is read.
func NewEarly(tb testing.TB, script Script) *Server {
	tb.Helper()
	return start(tb, script, true)
}

func start(tb testing.TB, script Script, early bool) *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{URL: "http://" + l.Addr().String(), Received: make(chan Got, 1024), listener: l, script: script}
	s.wait.Go(func() { s.accept(early) })
	tb.Cleanup(s.Close)
	return s
}

// Close ends the server and waits for its connections; call it before counting.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.wait.Wait()
}

// Counts gives the connections and the whole requests so far.
func (s *Server) Counts() (connections, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections, len(s.requests)
}

func (s *Server) accept(early bool) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.connections++
		s.mu.Unlock()
		s.wait.Go(func() { s.serve(&Conn{c.(*net.TCPConn), bufio.NewReader(c)}, early) })
	}
}

func (s *Server) serve(c *Conn, early bool) {
	defer c.Close()
	if early {
		s.script(c, 0)
	}
	for n := 0; ; n++ {
		r, err := http.ReadRequest(c.reader)
		if err != nil {
			return
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			return
		}
		got := Got{r.Method, r.RequestURI, r.Header, body.Bytes()}
		s.mu.Lock()
		s.requests = append(s.requests, got)
		s.mu.Unlock()
		s.Received <- got
		if !early {
			s.script(c, n)
		}
	}
}
