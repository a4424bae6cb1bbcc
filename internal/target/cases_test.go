package target_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
	"holdfast/internal/target"
	"holdfast/internal/target/wiretest"
)

// B050: between two attempts a default of the profile changes. The second attempt sends the stored bytes; and the
// target's "same key, other body" would prove that an earlier request arrived, never that nothing happened.
func TestCaseB050_AReplaySendsTheStoredBytes(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	replies := make(chan string, 2)
	replies <- ""
	replies <- answer(409, `{"error":{"code":"key_reused"}}`)
	server := wiretest.New(t, func(c *wiretest.Conn, _ int) {
		c.Say(<-replies)
		c.Close()
	})
	stored := filledFor(t, p, server.URL).Encode()
	changed := *p
	changed.Version++
	changed.Content = append([]target.Field{{Name: "added", Type: target.FieldString, Required: true}}, p.Content...)
	changed.Request = shipped(t)["generic-natural"].Request
	var got []wiretest.Got
	var sent []target.Sent
	for _, profile := range []*target.Profile{p, &changed} {
		r, err := target.Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, newEngine(clock.New()).Send(t.Context(), profile, r, open))
		got = append(got, <-server.Received)
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Errorf("the replay differs (-first +replay):\n%s", diff)
	}
	if sent[1].Outcome != operation.OutcomeUnknown || !sent[1].Conflict || !sent[1].NoRepeat {
		t.Errorf("got %+v, want unknown, in conflict, not to be repeated", sent[1])
	}
}

// B056: "taken" is neither done nor failed; only the read with our mark tells whose it is.
func TestCaseB056_TakenIsSettledByReadingItBack(t *testing.T) {
	t.Parallel()
	p := shipped(t)["shopify-discount-code"]
	taken := `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":null,"userErrors":[{"code":"TAKEN"}]}}}`
	v := target.Classify(p, testOp, target.Answer{Status: http.StatusOK, Body: []byte(taken), Complete: true})
	if v.Outcome != operation.OutcomeUnknown || !v.Conflict {
		t.Errorf("got %+v, want unknown in conflict", v)
	}
	for mark, want := range map[string]target.LookResult{testOp: target.LookFound, "op_of_somebody_else": target.LookConflict} {
		body := `{"data":{"codeDiscountNodeByCode":{"id":"gid://1","codeDiscount":{"title":"Spring ` + mark + `"}}}}`
		if got := target.ReadLookup(p, testOp, target.Answer{Status: http.StatusOK, Body: []byte(body), Complete: true}); got.Result != want {
			t.Errorf("mark %s: %v, want %v", mark, got.Result, want)
		}
	}
}

// B074: nothing outlives Send, whether it was answered, cut off or timed out. The bubble fails when a goroutine is
// left, and its clock runs the request's own deadline.
func TestCaseB074_NothingOutlivesSend(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	r := filledFor(t, p, "http://127.0.0.1:1")
	for name, tc := range map[string]struct {
		reply string
		hang  bool
		want  string
		took  time.Duration
	}{
		"answered":  {answer(201, `{"id":"eff-1"}`), false, "carried out (HTTP 201)", 0},
		"cut":       {"HTTP/1.1 201 Cre", false, "the connection ended without an answer", 0},
		"timed out": {"", true, "no answer in time", p.Timeout},
		"drip":      {"HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{", true, "no answer in time", p.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := newEngine(clock.New())
				engine.Dial = func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					go pipeTarget(there, tc.reply, tc.hang)
					return here, nil
				}
				c := engine.Clock
				start := c.Now()
				sent := engine.Send(t.Context(), p, r, open)
				if !strings.Contains(sent.Detail, tc.want) || c.Now().Sub(start) != tc.took {
					t.Errorf("got %q after %v, want %q after %v", sent.Detail, c.Now().Sub(start), tc.want, tc.took)
				}
			})
		})
	}
}

func pipeTarget(conn net.Conn, reply string, hang bool) {
	defer conn.Close()
	buffer := make([]byte, 4096)
	if _, err := conn.Read(buffer); err != nil {
		return
	}
	if _, err := conn.Write([]byte(reply)); err != nil || !hang {
		return
	}
	for {
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
}

// A dial that never comes back ends with the request's deadline, and nothing was sent.
func TestR02_ADialThatHangsEndsInTime(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	r := filledFor(t, p, "http://127.0.0.1:1")
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(clock.New())
		engine.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		sent := engine.Send(t.Context(), p, r, open)
		if sent.Outcome != operation.OutcomeNotExecuted || sent.Detail != "nothing sent: no answer in time" {
			t.Errorf("got %+v, want nothing sent", sent)
		}
	})
}

// A refusal that comes before the whole body was read is still read: the target documents that it comes before any effect.
func TestAnEarlyRefusalIsRead(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	d, _ := p.To(target.Destination{Base: "http://127.0.0.1:1"})
	r, err := target.Render(p, testOp, map[string]any{"effect": map[string]any{"fill": strings.Repeat("x", 100_000)}}, d)
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(clock.New())
	engine.Dial = func(context.Context, string, string) (net.Conn, error) { return &earlyRefusal{}, nil }
	sent := engine.Send(t.Context(), p, r, open)
	if sent.Outcome != operation.OutcomeNotExecuted || sent.Evidence != operation.EvidenceAnswer || sent.BytesWritten == 0 {
		t.Errorf("got %+v, want not_executed by the answer", sent)
	}
}

// earlyRefusal takes some bytes, breaks the rest of the request, and has its refusal ready to read.
type earlyRefusal struct {
	net.Conn
	taken, read int
}

func (c *earlyRefusal) Write(p []byte) (int, error) {
	if c.taken > 0 {
		return 0, net.ErrClosed
	}
	c.taken = len(p)
	return len(p), nil
}

func (c *earlyRefusal) Read(p []byte) (int, error) {
	n := copy(p, answer(422, refused422)[c.read:])
	c.read += n
	if n == 0 {
		return 0, net.ErrClosed
	}
	return n, nil
}

func (c *earlyRefusal) Close() error                { return nil }
func (c *earlyRefusal) SetDeadline(time.Time) error { return nil }
func (c *earlyRefusal) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// The secret never stands in what is stored, shown or compared.
func TestR10_NoSecretInAnyTextOfAnAttempt(t *testing.T) {
	t.Parallel()
	for name, p := range shipped(t) {
		d := to(t, p)
		d.Base = "http://127.0.0.1:1"
		r, err := target.Render(p, testOp, contents()[name], d)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(r.Encode()), "secret-of") || slices.ContainsFunc(r.Headers, func(h target.Header) bool {
			return h.Name == "Authorization" || h.Name == p.Auth.Header
		}) {
			t.Errorf("%s: a secret or its header stands in the content", name)
		}
	}
}

// slowToWake is a clock whose waiter takes until release to end after it was called off.
type slowToWake struct {
	*clock.Movable
	release chan struct{}
}

func (c *slowToWake) AfterFunc(time.Time, func()) (stop func()) {
	return func() { <-c.release }
}

// B074: Send waits for its own watcher, so that it cannot thaw inside somebody else's request.
func TestCaseB074_SendWaitsForItsWatcher(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	r := filledFor(t, p, "http://127.0.0.1:1")
	synctest.Test(t, func(t *testing.T) {
		c := &slowToWake{clock.New(), make(chan struct{})}
		engine := newEngine(c)
		engine.Dial = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go pipeTarget(there, answer(201, `{"id":"eff-1"}`), false)
			return here, nil
		}
		done := make(chan target.Sent, 1)
		go func() { done <- engine.Send(t.Context(), p, r, open) }()
		synctest.Wait()
		if len(done) != 0 {
			t.Error("Send returned while its watcher was still running")
		}
		close(c.release)
		if sent := <-done; sent.Outcome != operation.OutcomeExecuted {
			t.Errorf("got %+v, want executed", sent)
		}
	})
}
