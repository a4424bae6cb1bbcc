// Package intake answers webhooks: it verifies, makes the event and its runs durable, starts their executions, and tells
// the sender how things stand.
//
// It promises that a 2xx means durable (R9) and that any number of equal deliveries meet on one event and one run. It
// never evaluates an expression, never renders content, and never tells a sender that held work has failed.
package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/flow"
	"holdfast/internal/identity"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/source"
)

// Store is the part of the ledger that intake needs.
type Store interface {
	RecordEvent(ctx context.Context, ev operation.Event, payload []byte) (ledger.Result[operation.Event], error)
	Event(context.Context, operation.EventID) (operation.Event, error)
	UpdateEvent(ctx context.Context, seen, next operation.Event) (ledger.Result[operation.Event], error)
	CreateRun(context.Context, operation.Run) (ledger.Result[operation.Run], error)
	UpdateRun(ctx context.Context, seen, next operation.Run) (ledger.Result[operation.Run], error)
	Guard(ctx context.Context, likeness string, event operation.EventID, at operation.Time, window time.Duration) (ledger.Repeat, error)
}

// Launcher starts a run's execution.
type Launcher interface {
	Start(context.Context, operation.Run) error
}

// Intake answers webhooks. Its fields are set once.
type Intake struct {
	Sources  *source.Set
	Flows    []flow.File
	Store    Store
	Launcher Launcher
	Clock    clock.Clock
	Key      identity.Key
	// Owner is who decides about an event that no flow's owner can be found for.
	Owner operation.Person
	Log   *slog.Logger
}

const (
	races      = 8   // tries of a write while others write the same record
	retryAfter = "5" // seconds, for a sender that honours it
)

// Response is what API Gateway answers with.
type Response struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

func (in *Intake) now() operation.Time { return operation.TimeOf(in.Clock.Now()) }

// Handle is the Lambda handler: the event in any of API Gateway's shapes.
func (in *Intake) Handle(ctx context.Context, raw json.RawMessage) (Response, error) {
	req, err := source.DecodeEvent(raw)
	if err != nil {
		return in.refused("", err), nil
	}
	n, err := in.Sources.Receive(ctx, req, in.Clock.Now())
	if err != nil {
		return in.refused(req.Source, err), nil
	}
	state, id, err := in.accept(ctx, n)
	if err != nil {
		return in.refused(req.Source, err), nil
	}
	a := n.Answer().For(state, id)
	return respond(a.Status, a.Body), nil
}

// refused promises nothing: after anything but a refusal of the sender's own request, the sender comes again.
func (in *Intake) refused(name string, err error) Response {
	status, message := source.StatusOf(err)
	var r *source.Refusal
	switch {
	case errors.As(err, &r):
		in.Log.Warn("refused", "source", name, "reason", r.Reason)
	case errors.Is(err, ledger.ErrThrottled):
		in.Log.Error("not accepted", "source", name, "error", err)
		message = "the ledger takes no more requests for now; send it again later"
	default:
		in.Log.Error("not accepted", "source", name, "error", err)
		message = "it is not certain that this was recorded; send it again later"
	}
	body, _ := json.Marshal(map[string]string{"error": message}) // two strings always marshal
	out := respond(status, body)
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		out.Headers["Retry-After"] = retryAfter
	}
	return out
}

func respond(status int, body []byte) Response {
	return Response{StatusCode: status, Body: string(body), Headers: map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	}}
}

// accept makes the notification durable and its runs started, and says how the event stands.
func (in *Intake) accept(ctx context.Context, n source.Notification) (source.State, string, error) {
	ev, err := in.event(ctx, n)
	if err != nil {
		return "", "", err
	}
	res, err := in.record(ctx, ev, n)
	if err != nil {
		return "", "", err
	}
	ev = res.Current
	in.Log.Info("event", "event", ev.ID, "source", ev.Source, "flows", ev.Flows, "verdict", res.Verdict.String(), "status", ev.Status.String())
	if ev.Status == operation.EventHeld || ev.Status == operation.EventRefused {
		return eventState(ev), string(ev.ID), nil
	}
	if res.Verdict == ledger.Conflict && unasked(&ev) {
		return source.StateHeld, string(ev.ID), in.conflict(ctx, ev)
	}
	states, id, err := in.runs(ctx, ev, res.Verdict, n)
	if err != nil {
		return "", "", err
	}
	if len(states) == 0 {
		return source.StateDone, string(ev.ID), nil
	}
	return source.Combine(states...), id, nil
}

func eventState(ev operation.Event) source.State {
	if ev.Status == operation.EventRefused {
		return source.StateRefused
	}
	return source.StateHeld
}

// runs makes every run that the event's put names, and starts those that may not have been started.
func (in *Intake) runs(ctx context.Context, ev operation.Event, v ledger.Verdict, n source.Notification) (states []source.State, id string, err error) {
	for i, name := range ev.Flows {
		run, fresh, err := in.run(ctx, ev, ev.Runs[i], name)
		if err != nil {
			return nil, "", err
		}
		if v == ledger.Variant && waitsForData(run) {
			if run, err = in.supply(ctx, ev, run, n); err != nil {
				return nil, "", err
			}
			fresh = true
		}
		if fresh || (run.Status == operation.RunStarted && len(run.Stages) == 0) {
			in.start(ctx, run)
		}
		states = append(states, RunState(run))
		id = string(run.ID)
	}
	if len(ev.Runs) > 1 {
		id = string(ev.ID)
	}
	return states, id, nil
}

func (in *Intake) run(ctx context.Context, ev operation.Event, id operation.RunID, name string) (operation.Run, bool, error) {
	res, err := in.Store.CreateRun(ctx, NewRun(ev, id, name, in.ownerOf(name), in.now()))
	return res.Current, res.Verdict == ledger.Created, err
}

// NewRun is a run as intake and the sweep create it: started, its first generation due.
func NewRun(ev operation.Event, id operation.RunID, name string, owner operation.Person, now operation.Time) operation.Run {
	run := operation.Run{
		ID: id, Flow: name, Event: ev.ID, Source: ev.Source, Owner: owner, Created: now, Occurred: ev.Occurred,
		Generation: 1, Status: operation.RunStarted,
	}
	run.Launch(now)
	return run
}

// start: a failure is no reason to refuse, since the run is durable and due; the sweep starts it.
func (in *Intake) start(ctx context.Context, run operation.Run) {
	if err := in.Launcher.Start(ctx, run); err != nil {
		in.Log.Warn("not started yet; the sweep will", "run", run.ID, "error", err)
	}
}

func (in *Intake) ownerOf(name string) operation.Person {
	for i := range in.Flows {
		if in.Flows[i].Name == name {
			return in.Flows[i].Owner
		}
	}
	return in.Owner
}

// RunState is a run as its sender sees it.
func RunState(run operation.Run) source.State {
	switch run.Status {
	case operation.RunDone, operation.RunNotApplicable:
		return source.StateDone
	case operation.RunHeld:
		return source.StateHeld
	case operation.RunStopped:
		if run.Reason == operation.ReasonDataRejected {
			return source.StateRefused
		}
		return source.StateStopped
	}
	if len(run.Stages) == 0 {
		return source.StateRecorded
	}
	return source.StateRunning
}

// waitsForData says that a run is held because its event lacks something that a variant may supply.
func waitsForData(run operation.Run) bool {
	return run.Status == operation.RunHeld && len(run.Stages) == 0 &&
		slices.Contains([]operation.Reason{flow.ReasonMissing, flow.ReasonIdentity, flow.ReasonExpression, flow.ReasonContent}, run.Reason)
}

// supply lets a held run be planned again with what another subscription's notification says. The event's new payload
// comes first, since that is what planning reads; a repeat of the same notification goes on where a crash ended.
func (in *Intake) supply(ctx context.Context, ev operation.Event, run operation.Run, n source.Notification) (operation.Run, error) {
	at, err := in.switchPayload(ctx, ev, operation.Digest(n.Identity().BodyDigest))
	if err != nil {
		return run, err
	}
	for range races {
		if !waitsForData(run) || run.HeldSince > at {
			return run, nil // it was planned with this payload, and still lacks something
		}
		again := run
		again.Supplied(in.now())
		res, err := in.Store.UpdateRun(ctx, run, again)
		if err != nil || res.Verdict == ledger.Written {
			return res.Current, err
		}
		run = res.Current
	}
	return run, fmt.Errorf("%s is written by many at once; send it again", run.ID)
}

// switchPayload makes the given body the one that planning reads, and says since when it is.
func (in *Intake) switchPayload(ctx context.Context, ev operation.Event, to operation.Digest) (operation.Time, error) {
	for range races {
		if ev.Payload == to {
			return suppliedAt(&ev), nil
		}
		next := ev
		next.Payload = to
		next.Evidence = append(slices.Clone(ev.Evidence), operation.Evidence{Kind: operation.EvidenceReused, At: in.now(), Detail: suppliedDetail})
		res, err := in.Store.UpdateEvent(ctx, ev, next)
		if err != nil {
			return 0, err
		}
		ev = res.Current
	}
	return 0, fmt.Errorf("%s is written by many at once; send it again", ev.ID)
}

const suppliedDetail = "planned from another notification's body"

// suppliedAt is when the payload was last switched; zero when it is still the first one.
func suppliedAt(ev *operation.Event) operation.Time {
	for _, e := range slices.Backward(ev.Evidence) {
		if e.Detail == suppliedDetail {
			return e.At
		}
	}
	return 0
}

// unasked says that a body conflicts with the event and nobody was asked about it yet: a repeat of a notification that a
// person has decided about is not asked again.
func unasked(ev *operation.Event) bool {
	asked, first := 0, map[string]operation.Digest{}
	for _, e := range ev.Evidence {
		if e.Kind == operation.EvidenceAsked && e.Detail == string(ReasonConflict) {
			asked += max(e.Count, 1)
		}
	}
	for _, d := range ev.Deliveries {
		before, known := first[d.ID]
		switch {
		case !known:
			first[d.ID] = d.BodyDigest
		case d.ID != "" && before != d.BodyDigest:
			asked--
		}
	}
	return asked < 0
}

// conflict holds the event for a person. Its runs go on with the first body: the first one stands.
func (in *Intake) conflict(ctx context.Context, ev operation.Event) error {
	for range races {
		if ev.Status == operation.EventHeld {
			return nil
		}
		next := ev
		next.Evidence = slices.Clone(ev.Evidence)
		next.Hold(ReasonConflict, in.now())
		res, err := in.Store.UpdateEvent(ctx, ev, next)
		if err != nil || res.Verdict == ledger.Written {
			return err
		}
		ev = res.Current
	}
	return fmt.Errorf("%s is written by many at once; send it again", ev.ID)
}
