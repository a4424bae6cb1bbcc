package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/internal/local"
	"holdfast/internal/operation"
)

// reply is what a sender is told.
type reply struct {
	status     int
	retryAfter string
	State      string          `json:"state"`
	ID         operation.RunID `json:"id"`
}

func (r reply) accepted() bool { return r.status/100 == 2 }

// refusedRight says that a refusal is one that a sender understands: not now, come again then.
func (r reply) refusedRight() bool {
	return (r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable) && r.retryAfter != ""
}

// sender sends signed notifications over HTTP, as a source does. Notification n is the same whenever it is sent.
type sender struct {
	l      *local.Local
	client *http.Client
	make   func(n int) (notification, error)
}

// notification is one as it is sent.
type notification struct {
	source string
	id     string
	body   []byte
	// unsized sends the body in chunks, without saying how long it is: it counts as the largest that is taken.
	unsized bool
}

// answerBytesMax bounds what is read of an answer.
const answerBytesMax = 64 << 10

// callTimeMax bounds one notification, by the machine's clock: longer than any answer may take.
const callTimeMax = 2 * time.Minute

func newSender(l *local.Local, inFlight int, make func(n int) (notification, error)) *sender {
	return &sender{l: l, make: make, client: &http.Client{Timeout: callTimeMax,
		Transport: &http.Transport{MaxIdleConnsPerHost: inFlight, MaxConnsPerHost: inFlight}}}
}

func (s *sender) close() { s.client.CloseIdleConnections() }

// send sends notification n once.
func (s *sender) send(ctx context.Context, n int) (reply, error) {
	what, err := s.make(n)
	if err != nil {
		return reply{}, err
	}
	header, err := s.l.Sign(what.source, what.id, what.body)
	if err != nil {
		return reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.l.Hooks+"/"+what.source, bytes.NewReader(what.body))
	if err != nil {
		return reply{}, err
	}
	req.Header = header
	if what.unsized {
		req.ContentLength = -1
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerBytesMax))
	r := reply{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After")}
	if err == nil && r.accepted() {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// triesMax bounds how often a sender comes again; it is more than any of these storms lasts.
const triesMax = 1000

// persist sends notification n until it is accepted, and comes again when it is told to. refused is how often it was.
func (s *sender) persist(ctx context.Context, n int) (r reply, refused int, err error) {
	for range triesMax {
		if r, err = s.send(ctx, n); err != nil || !r.refusedRight() {
			return r, refused, err
		}
		refused++
		wait, err := strconv.Atoi(r.retryAfter)
		if err != nil {
			return r, refused, fmt.Errorf("Retry-After %q is no number of seconds", r.retryAfter)
		}
		if err := s.l.Clock.SleepUntil(ctx, s.l.Clock.Now().Add(time.Duration(wait)*time.Second)); err != nil {
			return r, refused, err
		}
	}
	return r, refused, fmt.Errorf("notification %d was refused %d times", n, triesMax)
}

// each calls do for every number of order, inFlight at a time, and stops at the first error.
func each(ctx context.Context, order []int, inFlight int, do func(ctx context.Context, n int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan int)
	var group sync.WaitGroup
	for range min(inFlight, len(order)) {
		group.Go(func() {
			for n := range jobs {
				if err := do(ctx, n); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, n := range order {
		if ctx.Err() != nil {
			break
		}
		jobs <- n
	}
	close(jobs)
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// standing is the flow whose owner authorised it in advance, so that a storm waits for nobody.
const standing = "standing-follow-up"

// standingNotification is notification n for the standing flow, with at least pad bytes of body.
func standingNotification(seed uint64, n, pad int) notification {
	id := fmt.Sprintf("load-%x-%d", seed, n)
	body := fmt.Sprintf(`{"type":"follow-up.requested","data":{"request_id":%q,"note":%q}}`, id, strings.Repeat("n", pad))
	return notification{source: "standard", id: "msg_" + id, body: []byte(body)}
}

// open starts a laptop that has the standing flow.
func (o Options) open(ctx context.Context, change func(*local.Options)) (*local.Local, error) {
	lo := o.Laptop
	lo.Seed, lo.SweepEvery = o.Seed, -1 // time is moved here, and the sweep called when it has been
	if change != nil {
		change(&lo)
	}
	l, err := local.Start(ctx, lo)
	if err != nil {
		return nil, err
	}
	if _, ok := l.App.Flows[standing]; !ok {
		return nil, errors.Join(fmt.Errorf("load runs the flow %s, which is not among the flows", standing), l.Close())
	}
	return l, nil
}
