package simtarget_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/local/simtarget"
)

const post = `{"x":1}`

// wantReset reads until the connection ends and wants a reset, not an orderly end.
func wantReset(t *testing.T, c io.Reader) {
	t.Helper()
	raw, err := io.ReadAll(c)
	if !errors.Is(err, syscall.ECONNRESET) || len(raw) > 0 {
		t.Errorf("read %q and %v, want nothing and a reset", raw, err)
	}
}

func TestResetsReachTheWireAsResets(t *testing.T) {
	t.Parallel()
	cases := []struct {
		kind    simtarget.Kind
		effects int
	}{
		{simtarget.KindResetAfterRequest, 0},
		{simtarget.KindLostAfterCommit, 1},
	}
	for _, c := range cases {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fault(simtarget.Fault{Target: "generic-none", Kind: c.kind})
			conn := w.dial("generic-none")
			if err := write(conn, "POST", "/effects", post, "X-Operation-Id", "op_a"); err != nil {
				t.Fatal(err)
			}
			wantReset(t, conn)
			w.wantEffects("generic-none", c.effects)
			w.wantStatus(w.call("generic-none", "POST", "/effects", post), 201) // the switch struck once only
		})
	}
}

func TestResetBeforeFirstByteReadsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindResetBeforeFirstByte})
	if conn, err := w.tryDial("generic-none"); err == nil { // else the reset came before the dial returned
		wantReset(t, conn)
	} else if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dial: %v, want a reset", err)
	}
	c := w.sim.Effects()["generic-none"].Connections[0]
	if c.BytesIn != 0 || c.Requests != 0 {
		t.Errorf("the target saw %d bytes and %d requests, want none", c.BytesIn, c.Requests)
	}
	w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindResetBeforeFirstByte})
	if err := write(w.pipe("generic-none"), "POST", "/effects", post); err == nil {
		t.Error("a request could be written to a connection that was cut when it was accepted")
	}
	w.wantEffects("generic-none", 0)
}

func TestResetAfterHeadersDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "resend", Kind: simtarget.KindResetAfterHeaders, Match: "send"})
	conn := w.dial("resend")
	if _, err := io.WriteString(conn, "POST /emails HTTP/1.1\r\nHost: sim\r\nContent-Length: 5\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	wantReset(t, conn)
	w.wantEffects("resend", 0)
	if c := w.sim.Effects()["resend"].Connections[0]; c.Requests != 1 || c.Fault != simtarget.KindResetAfterHeaders {
		t.Errorf("connection %+v, want one request and the switch's name", c)
	}
}

func TestSpoiledAnswers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		kind        simtarget.Kind
		status      int
		contentType string
		body        string
		effects     int
	}{
		{simtarget.KindBrokenBefore, 500, "application/json", `"code":"internal"`, 0},
		{simtarget.KindBrokenAfter, 500, "application/json", `"code":"internal"`, 1},
		{simtarget.KindUnreadable, 200, "application/json", `{"id": "`, 1},
		{simtarget.KindRedirect, 307, "", "", 0},
		{simtarget.KindProxyBefore, 403, "text/html", "firewall", 0},
		{simtarget.KindProxyAfter, 403, "text/html", "firewall", 1},
		{simtarget.KindLimited, 429, "application/json", `"rate_limited"`, 0},
		{simtarget.KindRefusedAfter, 422, "application/json", `"invalid"`, 1},
		{simtarget.KindKeyForgotten, 201, "application/json", `"id"`, 1},
	}
	for _, c := range cases {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fault(simtarget.Fault{Target: "generic-key", Kind: c.kind})
			g := w.call("generic-key", "POST", "/effects", post, "Idempotency-Key", "op_a")
			w.wantStatus(g, c.status)
			if !strings.HasPrefix(g.header.Get("Content-Type"), c.contentType) || !strings.Contains(g.body, c.body) {
				t.Errorf("content type %q, body %q; want %q and %q in it", g.header.Get("Content-Type"), g.body, c.contentType, c.body)
			}
			w.wantEffects("generic-key", c.effects)
		})
	}
}

func TestLimitedSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "resend", Kind: simtarget.KindLimited, Delay: simtarget.Duration(90 * time.Second)})
	g := w.call("resend", "POST", "/emails", mail)
	if after := g.header.Get("Retry-After"); after != "90" {
		t.Errorf("Retry-After %q, want 90", after)
	}
	w.wantField(g, "name", "rate_limit_exceeded")
}

func TestRedirectNamesAPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindRedirect})
	if at := w.call("generic-none", "POST", "/effects", post).header.Get("Location"); at != "/effects?moved=1" {
		t.Errorf("Location %q", at)
	}
}

func TestHalfAnswerEndsInsideTheBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindHalfAnswer})
	conn := w.dial("generic-none")
	if err := write(conn, "POST", "/effects", post); err != nil {
		t.Fatal(err)
	}
	g, err := read(conn)
	if !errors.Is(err, io.ErrUnexpectedEOF) || g.status != 201 || g.body == "" {
		t.Errorf("answer %+v and %v, want a 201 whose body ends early", g, err)
	}
	w.wantEffects("generic-none", 1)
}

func TestHangAfterCommitKeepsTheConnectionOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindHangAfterCommit})
	conn := w.pipe("generic-none")
	if err := write(conn, "POST", "/effects", post); err != nil {
		t.Fatal(err)
	}
	// A hanging target still takes bytes: the write ends only when the target has read it, so the effect is done.
	if _, err := io.WriteString(conn, "more"); err != nil {
		t.Errorf("the connection is not open: %v", err)
	}
	w.wantEffects("generic-none", 1)
	if c := w.sim.Effects()["generic-none"].Connections[0]; !c.Open || c.BytesOut != 0 {
		t.Errorf("connection %+v, want open and nothing written", c)
	}
}

func TestKeepaliveBreakCutsTheSecondRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindKeepaliveBreak})
	conn := w.dial("generic-none")
	br := bufio.NewReader(conn)
	if err := write(conn, "POST", "/effects", post); err != nil {
		t.Fatal(err)
	}
	g, err := readFrom(br)
	if err != nil || g.status != 201 || g.header.Get("Connection") != "" {
		t.Fatalf("first answer %+v and %v, want a 201 that keeps the connection", g, err)
	}
	if err := write(conn, "POST", "/effects", post); err != nil {
		t.Fatal(err)
	}
	wantReset(t, br)
	w.wantEffects("generic-none", 1)
}

func TestOneConnectionCarriesSeveralRequestsWithoutASwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn := w.dial("generic-none")
	br := bufio.NewReader(conn)
	for range 3 {
		if err := write(conn, "POST", "/effects", post); err != nil {
			t.Fatal(err)
		}
		if g, err := readFrom(br); err != nil || g.status != 201 {
			t.Fatalf("%+v, %v", g, err)
		}
	}
	if c := w.sim.Effects()["generic-none"].Connections; len(c) != 1 || c[0].Requests != 3 {
		t.Errorf("connections %+v, want one with three requests", c)
	}
}
