package target_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
	"holdfast/internal/target"
	"holdfast/internal/target/wiretest"
)

const testOp = "op_0123456789abcdefghjkmnpqrs"

func open() error { return nil }

func newEngine(c clock.Clock) *target.Engine {
	return &target.Engine{
		Dial:    (&net.Dialer{}).DialContext,
		Clock:   c,
		Secrets: func(_ context.Context, name string) (string, error) { return "secret-of-" + name, nil },
	}
}

// filledFor renders and fills a small request of a shipped generic profile for a server.
func filledFor(tb testing.TB, p *target.Profile, base string) target.Request {
	tb.Helper()
	d, err := p.To(target.Destination{Base: base})
	if err != nil {
		tb.Fatal(err)
	}
	r, err := target.Render(p, testOp, map[string]any{"effect": map[string]any{"note": "a task for Ms Ö"}}, d)
	if err != nil {
		tb.Fatal(err)
	}
	filled, err := target.Fill(r, target.Key(testOp, 0), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return filled
}

func answer(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d Whatever\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func say(text string) wiretest.Script { return func(c *wiretest.Conn, _ int) { c.Say(text) } }

type lost struct {
	name   string
	script wiretest.Script
	detail string
}

// waysToLoseAnAnswer are all alike in one thing: the target may have carried the operation out.
func waysToLoseAnAnswer() []lost {
	good := answer(201, `{"id":"eff-1"}`)
	return []lost{
		{"reset after the request", func(c *wiretest.Conn, _ int) { c.Reset() }, "bytes of the request were handed over"},
		{"closed after the request", func(c *wiretest.Conn, _ int) { c.Close() }, "the connection ended without an answer"},
		{"closed in the status line", func(c *wiretest.Conn, _ int) { c.Say("HTTP/1.1 201 Cre"); c.Close() }, "the connection ended without an answer"},
		{"closed in the headers", func(c *wiretest.Conn, _ int) { c.Say("HTTP/1.1 201 Created\r\nContent-Le"); c.Close() }, "what came back is not an HTTP answer"},
		{"reset after the headers", func(c *wiretest.Conn, _ int) { c.Say("HTTP/1.1 201 Created\r\nContent-Length: 14\r\n\r\n"); c.Close() }, "answer not read whole (HTTP 201): the answer ended half-way"},
		{"half an answer", func(c *wiretest.Conn, _ int) { c.Say(good[:len(good)-6]); c.Close() }, "answer not read whole (HTTP 201): the answer ended half-way"},
		{"half a chunked answer", func(c *wiretest.Conn, _ int) {
			c.Say("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{\"id\":\"eff-1\"}\r\n")
			c.Close()
		}, "answer not read whole (HTTP 201): the answer ended half-way"},
		{"chunked garbage", say("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{\"id\":\"eff-1\"}\r\n"), "answer not read whole (HTTP 201): the answer ended half-way"},
		{"plain 500", say(answer(500, "oops")), "answer that the profile does not know (HTTP 500)"},
		{"503 without the error shape", say(answer(503, `{"error":{"code":"unavailable"}}`)), "answer that the profile does not know (HTTP 503)"},
		{"a proxy's 403 page", say(answer(403, "<html><h1>403 Forbidden</h1></html>")), "answer that the profile does not know (HTTP 403)"},
		{"a proxy's 404 in JSON", say(answer(404, `{"message":"no Route matched"}`)), "answer that the profile does not know (HTTP 404)"},
		{"redirect", say("HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), "answer that the profile does not know (HTTP 307)"},
		{"unreadable 201", say(answer(201, `{"id":"eff-1"`)), "carried out without a usable reference (HTTP 201)"},
		{"201 without an id", say(answer(201, `{"ok":true}`)), "carried out without a usable reference (HTTP 201)"},
		{"201 with two ids", say(answer(201, `{"id":"eff-1","id":"eff-2"}`)), "carried out without a usable reference (HTTP 201)"},
		{"201 with an id of spaces", say(answer(201, `{"id":"e f f"}`)), "carried out without a usable reference (HTTP 201)"},
		{"not HTTP at all", say("SSH-2.0-OpenSSH_9.9\r\n\r\n"), "what came back is not an HTTP answer"},
		{"a status that is none", say("HTTP/1.1 000 Whatever\r\nContent-Length: 14\r\n\r\n{\"id\":\"eff-1\"}"), "what came back is not an HTTP answer"},
		{"100-continue without end", func(c *wiretest.Conn, _ int) { c.Say(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50)) }, "too many interim answers"},
		{"switching protocols", say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), "(HTTP 101)"},
		{"huge headers", say("HTTP/1.1 201 Created\r\nX-Fill: " + strings.Repeat("x", 200_000) + "\r\n\r\n"), "the answer's headers are too large"},
		{"huge body", say(answer(201, `{"id":"eff-1","fill":"`+strings.Repeat("x", 2<<20)+`"}`)), "answer not read whole (HTTP 201): the answer is too large to read whole"},
	}
}

// R2, R3: after the first byte, only an answer that a rule knows proves anything, and however the answer is lost,
// there was one connection with one request on it.
func TestR02_OneAttemptIsAtMostOneRequestHoweverTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	for _, tc := range waysToLoseAnAnswer() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := wiretest.New(t, tc.script)
			sent := newEngine(clock.New()).Send(t.Context(), p, filledFor(t, p, server.URL), open)
			server.Close()
			if sent.Outcome != operation.OutcomeUnknown || sent.Evidence != operation.EvidenceNoAnswer || sent.BytesWritten == 0 {
				t.Errorf("got %v by %v with %d bytes, want unknown by no_answer after the first byte", sent.Outcome, sent.Evidence, sent.BytesWritten)
			}
			if !strings.Contains(sent.Detail, tc.detail) {
				t.Errorf("detail %q, want %q in it", sent.Detail, tc.detail)
			}
			if c, r := server.Counts(); c != 1 || r != 1 {
				t.Errorf("%d connections with %d requests, want 1 with 1", c, r)
			}
		})
	}
}

// The connection is accepted and reset before anything was read: the bytes were handed over all the same.
func TestR02_ResetBeforeTheFirstByteIsReadIsUnknown(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	dialed, reset := make(chan struct{}), make(chan struct{})
	server := wiretest.NewEarly(t, func(c *wiretest.Conn, _ int) {
		<-dialed
		c.Reset()
		close(reset)
	})
	engine := newEngine(clock.New())
	engine.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		close(dialed)
		<-reset
		return conn, err
	}
	sent := engine.Send(t.Context(), p, filledFor(t, p, server.URL), open)
	server.Close()
	if sent.Outcome != operation.OutcomeUnknown || sent.BytesWritten == 0 {
		t.Errorf("got %+v, want unknown after the first byte", sent)
	}
	if c, _ := server.Counts(); c != 1 {
		t.Errorf("%d connections, want 1", c)
	}
}

// A keep-alive connection that breaks makes Go's own transport send a request with a key again; here every attempt
// has its own connection and says that it ends with it.
func TestR02_EveryAttemptHasItsOwnConnection(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	server := wiretest.New(t, func(c *wiretest.Conn, _ int) {
		c.Say("HTTP/1.1 201 Created\r\nConnection: keep-alive\r\nContent-Length: 14\r\n\r\n{\"id\":\"eff-1\"}")
		c.Hang()
	})
	engine := newEngine(clock.New())
	for range 3 {
		sent := engine.Send(t.Context(), p, filledFor(t, p, server.URL), open)
		if sent.Outcome != operation.OutcomeExecuted || sent.Reference != "eff-1" || sent.Evidence != operation.EvidenceAnswer {
			t.Fatalf("got %+v, want executed with eff-1", sent)
		}
	}
	server.Close()
	if c, r := server.Counts(); c != 3 || r != 3 {
		t.Errorf("%d connections with %d requests, want 3 with 3", c, r)
	}
	got := <-server.Received
	if got.Header.Get("Connection") != "close" || got.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("headers %v: want Connection: close and Accept-Encoding: identity", got.Header)
	}
}

// R5: what arrives is what was approved, byte for byte, with the secret beside it.
func TestR05_TheFilledRequestArrivesByteForByte(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	server := wiretest.New(t, say(answer(201, `{"id":"eff-1"}`)))
	r := filledFor(t, p, server.URL)
	newEngine(clock.New()).Send(t.Context(), p, r, open)
	got := <-server.Received
	if diff := cmp.Diff(string(r.Body), string(got.Body)); diff != "" {
		t.Errorf("body (-approved +arrived):\n%s", diff)
	}
	if got.Method != r.Method || server.URL+got.URI != r.URL {
		t.Errorf("arrived %s %s, approved %s %s", got.Method, got.URI, r.Method, r.URL)
	}
	for _, h := range r.Headers {
		if got.Header.Get(h.Name) != h.Value {
			t.Errorf("header %s arrived as %q, approved %q", h.Name, got.Header.Get(h.Name), h.Value)
		}
	}
	if got.Header.Get("Idempotency-Key") != testOp || got.Header.Get("Authorization") != "Bearer secret-of-generic-key-token" {
		t.Errorf("key or secret did not arrive: %v", got.Header)
	}
	if strings.Contains(string(r.Encode()), "secret-of") {
		t.Error("the secret stands in the stored request")
	}
}

func TestR02_NothingHandedOverIsProvenNotExecuted(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := "http://" + l.Addr().String()
	l.Close()
	noName := newEngine(clock.New())
	noName.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, &net.DNSError{IsNotFound: true} }
	noSecret := newEngine(clock.New())
	noSecret.Secrets = func(context.Context, string) (string, error) { return "line\nend", nil }
	for name, tc := range map[string]struct {
		engine *target.Engine
		detail string
	}{
		"refused":   {newEngine(clock.New()), "nothing sent: the connection was refused"},
		"no name":   {noName, "nothing sent: the host name was not found"},
		"no secret": {noSecret, `nothing sent: secret "generic-none-token" is empty, too long, or has characters that a header cannot carry (a line end?)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := tc.engine.Send(t.Context(), p, filledFor(t, p, free), open)
			want := target.Sent{Verdict: target.Verdict{Outcome: operation.OutcomeNotExecuted, Retry: true, Detail: tc.detail}, Evidence: operation.EvidenceNoByteSent}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendRefusesARequestWithHolesOrOfAnotherTarget(t *testing.T) {
	t.Parallel()
	all := shipped(t)
	server := wiretest.New(t, say(answer(201, `{"id":"eff-1"}`)))
	p := all["generic-key"]
	d, _ := p.To(target.Destination{Base: server.URL})
	unfilled, err := target.Render(p, testOp, map[string]any{"effect": map[string]any{}}, d)
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(clock.New())
	for _, sent := range []target.Sent{
		engine.Send(t.Context(), p, unfilled, open),
		engine.Send(t.Context(), all["generic-none"], filledFor(t, p, server.URL), open),
	} {
		if sent.Outcome != operation.OutcomeNotExecuted || sent.Evidence != operation.EvidenceNoByteSent {
			t.Errorf("got %+v, want nothing sent", sent)
		}
	}
	server.Close()
	if c, _ := server.Counts(); c != 0 {
		t.Errorf("%d connections, want none", c)
	}
}

// B058: the target took the request and hangs; the answer comes after the deadline, or in drops that never end.
func TestCaseB058_AnswerAfterTheDeadlineIsUnknown(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	for name, script := range map[string]wiretest.Script{
		"silence": func(c *wiretest.Conn, _ int) { c.Hang() },
		"after a drip": func(c *wiretest.Conn, _ int) {
			c.Say("HTTP/1.1 201 Created\r\nContent-Length: 14\r\n\r\n{\"i")
			c.Hang()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clock.New()
			server := wiretest.New(t, script)
			done := make(chan target.Sent, 1)
			r := filledFor(t, p, server.URL)
			go func() { done <- newEngine(c).Send(t.Context(), p, r, open) }()
			<-server.Received
			c.Move(p.Timeout + time.Second)
			sent := <-done
			server.Close()
			if sent.Outcome != operation.OutcomeUnknown || !strings.Contains(sent.Detail, "no answer in time") {
				t.Errorf("got %+v, want unknown, no answer in time", sent)
			}
			if conns, requests := server.Counts(); conns != 1 || requests != 1 {
				t.Errorf("%d connections with %d requests, want 1 with 1", conns, requests)
			}
		})
	}
}

func TestInterimAnswersAreNotTheAnswer(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	server := wiretest.New(t, say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+answer(201, `{"id":9007199254740993}`)))
	sent := newEngine(clock.New()).Send(t.Context(), p, filledFor(t, p, server.URL), open)
	if sent.Outcome != operation.OutcomeExecuted || sent.Reference != "9007199254740993" {
		t.Errorf("got %+v, want executed with every digit of the id", sent)
	}
}

// B005: an answer that nobody would like to store still gives its receipt.
func TestCaseB005_AwkwardAnswersGiveTheirReceipt(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	for name, tc := range map[string]struct {
		body string
		want operation.Outcome
	}{
		"half a megabyte": {`{"id":"eff-1","x":"` + strings.Repeat("y", 500_000) + `"}`, operation.OutcomeExecuted},
		"forty deep":      {`{"id":"eff-1","x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, operation.OutcomeExecuted},
		"not UTF-8":       {"{\"id\":\"eff-1\",\"x\":\"\xff\"}", operation.OutcomeUnknown},
		"NaN":             {`{"id":"eff-1","x":NaN}`, operation.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := wiretest.New(t, say(answer(201, tc.body)))
			sent := newEngine(clock.New()).Send(t.Context(), p, filledFor(t, p, server.URL), open)
			if sent.Outcome != tc.want || sent.Status != 201 || len(sent.AnswerDigest) != 64 {
				t.Errorf("got %+v, want %v with status and digest", sent, tc.want)
			}
		})
	}
}

func TestRetryAfterIsReadAndBounded(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	body := `{"error":{"code":"unavailable","effect":"none"}}`
	for text, want := range map[string]time.Duration{"120": 2 * time.Minute, "99999999": 24 * time.Hour, "-5": 0, "soon": 0} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			c := &stillClock{wall: time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC), Movable: clock.New()}
			server := wiretest.New(t, say(fmt.Sprintf("HTTP/1.1 503 Later\r\nRetry-After: %s\r\nContent-Length: %d\r\n\r\n%s", text, len(body), body)))
			sent := newEngine(c).Send(t.Context(), p, filledFor(t, p, server.URL), open)
			var wantTime operation.Time
			if want > 0 {
				wantTime = operation.TimeOf(c.wall.Add(want))
			}
			if sent.Outcome != operation.OutcomeNotExecuted || !sent.Retry || sent.RetryAfter != wantTime {
				t.Errorf("got %v until %v, want not_executed until %v", sent.Outcome, sent.RetryAfter, wantTime)
			}
		})
	}
}
