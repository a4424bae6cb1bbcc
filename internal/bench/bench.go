// Package bench runs many runs through a laptop's parts and counts what each costs.
//
// It promises that every figure is counted or timed in this process, and that the effects are counted by the simulated
// targets, not by the product. It never asserts a time.
package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"holdfast/internal/ledger"
	"holdfast/internal/local"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

// Options say what to run.
type Options struct {
	Runs        int
	Concurrency int
	Lost        float64 // share of requests whose answer is lost after the effect
	Err         float64 // share refused with the target's own "too many requests", before any effect
	Repeat      int     // deliveries of each event
	Progress    func(done int)
}

// Result is what was measured.
type Result struct {
	Runs              int     `json:"runs"`
	RunsPerSecond     float64 `json:"runs_per_s"`
	AckP50            float64 `json:"ack_p50_ms"`
	AckP99            float64 `json:"ack_p99_ms"`
	WritesPerRun      float64 `json:"writes_per_run"`
	ReadsPerRun       float64 `json:"reads_per_run"`
	TransitionsPerRun float64 `json:"transitions_per_run"`
	Effects           int     `json:"effects"`
	Duplicates        int     `json:"duplicates"`
	Unresolved        int     `json:"unresolved"`
	Unowned           int     `json:"unowned"`
	// Why counts the unresolved operations by their status and the reason of their next step.
	Why     map[string]int `json:"why,omitempty"`
	HeapMiB float64        `json:"heap_mib"`
	Refused int            `json:"refused"`
}

// Counter counts ledger calls by their API's name.
type Counter struct{ writes, reads atomic.Int64 }

// Call is the ledger's OnCall.
func (c *Counter) Call(call string, _ float64) {
	switch call {
	case "GetItem", "Query", "Scan", "BatchGetItem":
		c.reads.Add(1)
	default:
		c.writes.Add(1)
	}
}

// standing is the flow that is run: two operations, authorised in advance, so that no person's time is measured.
const standing = "standing-follow-up"

const body = `{"type":"follow-up.requested","timestamp":"%s","data":{"request_id":"bench-%d"}}`

// Body is the notification of run i. Tests hold it against the shipped flow.
func Body(i int, at time.Time) []byte {
	return fmt.Appendf(nil, body, at.UTC().Format(time.RFC3339), i)
}

// Run measures against a started laptop, whose ledger calls c counts.
func Run(ctx context.Context, l *local.Local, c *Counter, o Options) (Result, error) {
	if _, ok := l.App.Flows[standing]; !ok {
		return Result{}, fmt.Errorf("the bench runs the flow %s, which is not among the flows", standing)
	}
	if err := faults(l, o); err != nil {
		return Result{}, err
	}
	writes, reads, transitions := c.writes.Load(), c.reads.Load(), l.States.Transitions()
	start := l.Clock.Mono() - l.Clock.Offset() // moves of the clock are not time that passed
	acks, refused, err := post(ctx, l, o)
	if err != nil {
		return Result{}, err
	}
	if err := drain(ctx, l); err != nil {
		return Result{}, err
	}
	took := (l.Clock.Mono() - l.Clock.Offset() - start).Seconds()
	out := Result{Runs: o.Runs, RunsPerSecond: float64(o.Runs) / took, AckP50: percentile(acks, 50), AckP99: percentile(acks, 99), Refused: refused}
	n := float64(o.Runs)
	out.WritesPerRun, out.ReadsPerRun = float64(c.writes.Load()-writes)/n, float64(c.reads.Load()-reads)/n
	out.TransitionsPerRun = float64(l.States.Transitions()-transitions) / n
	return out, count(ctx, l, &out)
}

func faults(l *local.Local, o Options) error {
	for _, name := range []string{"generic-key", "generic-lookup"} {
		for kind, p := range map[simtarget.Kind]float64{simtarget.KindLostAfterCommit: o.Lost, simtarget.KindLimited: o.Err} {
			if p <= 0 {
				continue
			}
			if _, err := l.Sim.SetFault(simtarget.Fault{Target: name, Kind: kind, Probability: p, Match: simtarget.MatchEffects}); err != nil {
				return err
			}
		}
	}
	return nil
}

// post sends every event over real HTTP and times each answer.
func post(ctx context.Context, l *local.Local, o Options) ([]time.Duration, int, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.Concurrency, MaxConnsPerHost: o.Concurrency}}
	defer client.CloseIdleConnections()
	jobs := make(chan int)
	var (
		mu      sync.Mutex
		acks    []time.Duration
		refused int
		failed  error
		group   sync.WaitGroup
	)
	for range o.Concurrency {
		group.Go(func() {
			for i := range jobs {
				took, status, err := one(ctx, l, client, i%o.Runs)
				mu.Lock()
				acks = append(acks, took)
				if err != nil {
					failed = err
				} else if status/100 != 2 {
					refused++
				}
				if o.Progress != nil {
					o.Progress(len(acks))
				}
				mu.Unlock()
			}
		})
	}
	for i := range o.Runs * max(o.Repeat, 1) {
		if ctx.Err() != nil {
			break
		}
		jobs <- i
	}
	close(jobs)
	group.Wait()
	return acks, refused, errors.Join(failed, ctx.Err())
}

func one(ctx context.Context, l *local.Local, client *http.Client, i int) (time.Duration, int, error) {
	b := Body(i, l.Clock.Now())
	header, err := l.Sign("standard", fmt.Sprintf("msg_%d", i), b)
	if err != nil {
		return 0, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Hooks+"/standard", bytes.NewReader(b))
	if err != nil {
		return 0, 0, err
	}
	req.Header = header
	before := l.Clock.Mono()
	resp, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return l.Clock.Mono() - before, resp.StatusCode, err
}

// drainStep is how far the clock is moved whenever nothing runs but waits: backoffs are not what is measured.
const drainStep = 5 * time.Second

// drain waits until no execution runs, and lets time pass for those that only wait.
func drain(ctx context.Context, l *local.Local) error {
	client := sfn.New(sfn.Options{Region: "us-east-1", BaseEndpoint: &l.Addresses.States, HTTPClient: &http.Client{Transport: l.States.Transport()}, Credentials: aws.AnonymousCredentials{}})
	before := int64(-1)
	for {
		out, err := client.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &l.Config.Machine, StatusFilter: types.ExecutionStatusRunning, MaxResults: 1})
		if err != nil {
			return err
		}
		if len(out.Executions) == 0 {
			return nil
		}
		if now := l.States.Transitions(); now == before && l.Busy() == 0 {
			l.Clock.Move(drainStep)
		} else {
			before = now
		}
		if err := l.Clock.SleepUntil(ctx, l.Clock.Now().Add(50*time.Millisecond)); err != nil {
			return err
		}
	}
}

// count reads the whole ledger and the targets' own counters.
func count(ctx context.Context, l *local.Local, r *Result) error {
	for _, report := range l.Sim.Effects() {
		for id, n := range report.ByOperation {
			r.Effects += n
			if strings.HasPrefix(id, "op_") && n > 1 {
				r.Duplicates += n - 1
			}
		}
	}
	return l.App.Ledger.Audit(ctx, 1, func(f ledger.Found) error {
		if f.Err != nil {
			return f.Err
		}
		step, settled := stepOf(f)
		if f.Operation != nil && !settled {
			r.Unresolved++
			if r.Why == nil {
				r.Why = map[string]int{}
			}
			r.Why[fmt.Sprintf("%s, %s: %s", f.Operation.Status, step.Action, step.Reason)]++
		}
		if step.Action != operation.ActionDone && (step.Owner == "" || step.Due == 0) {
			r.Unowned++
		}
		return nil
	})
}

func stepOf(f ledger.Found) (operation.Step, bool) {
	switch {
	case f.Operation != nil:
		return f.Operation.Step, f.Operation.Status.Settled()
	case f.Run != nil:
		return f.Run.Step, true
	}
	return f.Event.Step, true
}

// percentile is in milliseconds.
func percentile(d []time.Duration, p int) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return float64(d[min(len(d)*p/100, len(d)-1)].Microseconds()) / 1000
}
