package target_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
	"holdfast/internal/target"
	"holdfast/internal/target/wiretest"
)

// stillClock stands still until a test moves its two hands, each by itself.
type stillClock struct {
	*clock.Movable // only for its waiting
	wall           time.Time
	mono           time.Duration
}

func (c *stillClock) Now() time.Time      { return c.wall }
func (c *stillClock) Mono() time.Duration { return c.mono }

func (c *stillClock) AfterFunc(time.Time, func()) (stop func()) { return func() {} }

func TestR03_FenceRefusesByEitherClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)
	const timeout, skew = 10 * time.Second, 5 * time.Second
	in := func(d time.Duration) operation.Time { return operation.TimeOf(start.Add(d)) }
	for name, tc := range map[string]struct {
		wall, mono    time.Duration
		lease, window operation.Time
		want          error
	}{
		"in time":                         {time.Second, time.Second, in(time.Minute), 0, nil},
		"to the last moment":              {50 * time.Second, 50 * time.Second, in(time.Minute), 0, nil},
		"lease too short":                 {51 * time.Second, 51 * time.Second, in(time.Minute), 0, target.ErrLeaseShort},
		"lease too short by mono only":    {48 * time.Second, 52 * time.Second, in(time.Minute), 0, target.ErrLeaseShort},
		"machine slept, mono stood still": {30 * time.Second, time.Second, in(time.Hour), 0, target.ErrPaused},
		"wall clock set back":             {-time.Minute, time.Second, in(time.Hour), 0, target.ErrPaused},
		"window open":                     {time.Second, time.Second, in(time.Minute), in(20 * time.Second), nil},
		"window too short":                {11 * time.Second, 11 * time.Second, in(time.Minute), in(20 * time.Second), target.ErrWindowShort},
		"no lease at all":                 {0, 0, 0, 0, target.ErrLeaseShort},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &stillClock{wall: start}
			fence := target.NewFence(c, tc.lease, tc.window, timeout, skew)
			c.wall, c.mono = start.Add(tc.wall), tc.mono
			if got := fence(); !errors.Is(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// B020: worker 1 freezes between its claim and its call; its lease ends and worker 2 claims. Thawed, worker 1
// stands with a connection in hand and must not write a byte.
func TestCaseB020_FrozenWorkerSendsNothing(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	server := wiretest.New(t, say(answer(201, `{"id":"eff-1"}`)))
	c := clock.New()
	engine := newEngine(c)
	engine.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(context.WithoutCancel(ctx), network, address)
		c.Move(time.Minute) // frozen here
		return conn, err
	}
	long := *p
	long.Timeout = time.Hour // so that the fence, not the request's own deadline, has to stop it
	fence := target.NewFence(c, operation.TimeOf(c.Now().Add(time.Hour+30*time.Second)), 0, long.Timeout, 5*time.Second)
	sent := engine.Send(t.Context(), &long, filledFor(t, p, server.URL), fence)
	server.Close()
	if sent.Outcome != operation.OutcomeNotExecuted || sent.Evidence != operation.EvidenceNoByteSent || sent.BytesWritten != 0 {
		t.Errorf("got %+v, want nothing sent", sent)
	}
	if sent.Detail != "nothing sent: "+target.ErrLeaseShort.Error() {
		t.Errorf("detail %q does not name the lease", sent.Detail)
	}
	if conns, requests := server.Counts(); conns != 1 || requests != 0 {
		t.Errorf("%d connections with %d requests, want 1 with none", conns, requests)
	}
}

func TestR02_FenceIsAskedAfterTheConnectionIsMade(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	server := wiretest.New(t, say(answer(201, `{"id":"eff-1"}`)))
	var order []string
	engine := newEngine(clock.New())
	engine.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		order = append(order, "dial")
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	fence := func() error { order = append(order, "fence"); return errors.New("no") }
	engine.Send(t.Context(), p, filledFor(t, p, server.URL), fence)
	server.Close()
	if len(order) != 2 || order[0] != "dial" || order[1] != "fence" {
		t.Errorf("order %v, want dial, then fence, once each", order)
	}
	if _, requests := server.Counts(); requests != 0 {
		t.Errorf("%d requests passed a closed fence", requests)
	}
}

func TestR02_CallerThatGaveUpBeforeTheFirstByteSendsNothing(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	server := wiretest.New(t, say(answer(201, `{"id":"eff-1"}`)))
	ctx, cancel := context.WithCancel(t.Context())
	engine := newEngine(clock.New())
	engine.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		defer cancel()
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	sent := engine.Send(ctx, p, filledFor(t, p, server.URL), open)
	if sent.Outcome != operation.OutcomeNotExecuted || sent.BytesWritten != 0 {
		t.Errorf("got %+v, want nothing sent", sent)
	}
}
