package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/execution"
	"holdfast/internal/ledger"
	"holdfast/internal/local/states"
	"holdfast/internal/operation"
)

// table is everything in the ledger that has a story.
type table struct {
	ops    map[operation.ID]operation.Operation
	runs   map[operation.RunID]operation.Run
	events map[operation.EventID]operation.Event
}

func (w *world) table() table {
	w.t.Helper()
	out := table{map[operation.ID]operation.Operation{}, map[operation.RunID]operation.Run{}, map[operation.EventID]operation.Event{}}
	err := w.local.App.Ledger.Audit(observing(), 1, func(f ledger.Found) error {
		switch {
		case f.Err != nil:
			return f.Err
		case f.Operation != nil:
			out.ops[f.Operation.ID] = *f.Operation
		case f.Run != nil:
			out.runs[f.Run.ID] = *f.Run
		case f.Event != nil:
			out.events[f.Event.ID] = *f.Event
		}
		return nil
	})
	must(w.t, err)
	return out
}

// version tells two states of the ledger apart.
func (s table) version() string {
	var parts []string
	for id, op := range s.ops {
		parts = append(parts, fmt.Sprintf("%s %d", id, op.Rev))
	}
	for id, r := range s.runs {
		parts = append(parts, fmt.Sprintf("%s %d", id, r.Rev))
	}
	for id, e := range s.events {
		parts = append(parts, fmt.Sprintf("%s %d", id, e.Rev))
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

func (s table) stage(name string) (operation.Operation, bool) {
	for _, op := range s.ops {
		if op.Stage == name && op.Second == "" {
			return op, true
		}
	}
	return operation.Operation{}, false
}

// open lists what waits for somebody or something, and how much of it waits for a person only: what is asked, and
// what comes after it in a run that is held.
func (s table) open() (all, people int) {
	held := map[operation.RunID]bool{}
	count := func(step operation.Step, asks bool) {
		if step.Action != operation.ActionDone {
			all++
			if asks {
				people++
			}
		}
	}
	for id, r := range s.runs {
		held[id] = r.Status == operation.RunHeld && s.asked(r)
		count(r.Step, held[id])
	}
	for _, op := range s.ops {
		behind := op.Status == operation.StatusProposed && !slices.ContainsFunc(op.Runs, func(id operation.RunID) bool { return !held[id] })
		count(op.Step, op.Question != nil || behind)
	}
	for _, e := range s.events {
		count(e.Step, e.Status == operation.EventHeld)
	}
	return all, people
}

// asked says that a question about the run or one of its operations is open.
func (s table) asked(r operation.Run) bool {
	return r.Question != nil || slices.ContainsFunc(r.Stages, func(st operation.StageRef) bool { return s.ops[st.Operation].Question != nil })
}

// nobodyWaits says that every open thing has an owner, a next step and a due time (R7).
func (s table) nobodyWaits() error {
	var lacking []error
	check := func(id string, st operation.Step) {
		if st.Action != operation.ActionDone && (st.Owner == "" || st.Due == 0 || st.Reason == "") {
			lacking = append(lacking, fmt.Errorf("%s lacks owner, due time or reason: %+v", id, st))
		}
	}
	for id, op := range s.ops {
		check(string(id), op.Step)
	}
	for id, r := range s.runs {
		check(string(id), r.Step)
	}
	for id, e := range s.events {
		check(string(id), e.Step)
	}
	return errors.Join(lacking...)
}

func (s table) String() string {
	var b strings.Builder
	for id, e := range s.events {
		fmt.Fprintf(&b, "event %s %s %s step %+v\n", id, e.Status, e.Reason, e.Step)
	}
	for id, r := range s.runs {
		fmt.Fprintf(&b, "run %s %s %s gen %d step %+v\n", id, r.Status, r.Reason, r.Generation, r.Step)
	}
	for id, op := range s.ops {
		fmt.Fprintf(&b, "op %s %s %s %s ref %q step %+v\n", id, op.Stage, op.Status, op.Reason, op.Reference, op.Step)
		for _, e := range op.Evidence {
			fmt.Fprintf(&b, "    %s %s ×%d %s %s\n", e.At, e.Kind, e.Count, e.Reference, e.Detail)
		}
	}
	return b.String()
}

func arn(run operation.RunID, generation int) string {
	return states.ExecutionArn("holdfast-run", execution.Name(run, generation))
}

// quiesce waits until every execution is closed, waits for time, or waits for a token.
func (w *world) quiesce() {
	w.t.Helper()
	for _, r := range w.table().runs {
		for g := 1; g <= r.Generation; g++ {
			w.await(arn(r.ID, g), w.parked)
		}
	}
}

// await waits for a state of an execution's history; one that is unknown or closes meanwhile has nothing to wait for.
func (w *world) await(arn string, reached func([]states.Event) bool) {
	w.t.Helper()
	d, err := w.local.States.Describe(arn)
	if err != nil || d.Status != states.StatusRunning {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = w.local.States.Await(ctx, arn, reached)
	if errors.Is(err, context.DeadlineExceeded) {
		w.t.Fatalf("%s is stuck:\n%s\n%s", arn, w.history(arn), w.table())
	}
}

func (w *world) history(arn string) string {
	events, err := w.local.States.History(arn)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s %s %s %s %s\n", e.Time.Format(time.TimeOnly), e.Type, e.State, e.Error, e.Cause, e.Data)
	}
	return b.String()
}

const (
	retryWaitMax = 70 * time.Second // the longest wait of a state's Retry
	triesOfState = 3                // a state with Retry is tried so often
)

// parked says that an execution does nothing before time passes or a token is answered.
func (w *world) parked(events []states.Event) bool {
	if len(events) == 0 {
		return false
	}
	last := events[len(events)-1]
	now := w.clock.Now()
	switch last.Type {
	case "WaitStateEntered":
		var in execution.Travel
		if json.Unmarshal(last.Data, &in) != nil {
			return false
		}
		until, err := operation.ParseTime(in.Until)
		return err == nil && until.Std().After(now)
	case "TaskSubmitted":
		for i := len(events) - 1; i >= 0; i-- {
			if events[i].Type == "TaskScheduled" {
				// An answered token is work to come, although the history does not show it yet.
				return w.local.States.TokenOpen(tokenIn(events[i].Data)) && events[i].Time.Add(time.Duration(events[i].TimeoutSeconds)*time.Second).After(now)
			}
		}
	case "LambdaFunctionFailed", "LambdaFunctionTimedOut":
		state, failures := "", 0
		for i := len(events) - 1; i >= 0 && state == ""; i-- {
			state = events[i].State
			if strings.HasPrefix(events[i].Type, "LambdaFunctionFailed") {
				failures++
			}
		}
		return (state == "Plan" || state == "Reconcile") && failures < triesOfState && last.Time.Add(retryWaitMax).After(now)
	}
	return false
}

func tokenIn(scheduled []byte) string {
	var in struct {
		Payload struct {
			Token string `json:"token"`
		}
	}
	if json.Unmarshal(scheduled, &in) != nil {
		return ""
	}
	return in.Payload.Token
}

// nextDue is the earliest instant at which anything is to happen.
func (w *world) nextDue(s table) time.Time {
	var next time.Time
	consider := func(t time.Time) {
		if !t.IsZero() && t.After(w.clock.Now()) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, op := range s.ops {
		consider(op.Step.Due.Std())
	}
	for _, e := range s.events {
		consider(e.Step.Due.Std())
	}
	for _, r := range s.runs {
		consider(r.Step.Due.Std())
		for g := 1; g <= r.Generation; g++ {
			if events, err := w.local.States.History(arn(r.ID, g)); err == nil {
				if last := events[len(events)-1]; last.Type == "WaitStateEntered" {
					var in execution.Travel
					if json.Unmarshal(last.Data, &in) == nil {
						if until, err := operation.ParseTime(in.Until); err == nil {
							consider(until.Std())
						}
					}
				}
			}
		}
	}
	return next
}

// pass moves the clock to the next thing that is due, and a minute at least.
func (w *world) pass(s table) {
	d := time.Minute
	if next := w.nextDue(s); !next.IsZero() {
		d = max(d, next.Sub(w.clock.Now())+time.Second)
	}
	w.clock.Move(d)
}

func (w *world) sweep() {
	w.t.Helper()
	if _, err := w.local.SweepOnce(context.Background()); err != nil && !w.probe.hasFired() {
		w.t.Fatal(err)
	}
}

const roundsMax = 120

// settle lets time pass, sweeps and answers approvals until only people can do anything.
func (w *world) settle() table {
	w.t.Helper()
	swept := ""
	for range roundsMax {
		w.revive()
		w.quiesce()
		if w.probe.isDead() {
			continue
		}
		s := w.table()
		if all, people := s.open(); all == people && !s.asksApproval() {
			return s
		}
		if s.asksApproval() && w.answer(approve) {
			continue
		}
		if v := s.version(); v != swept {
			swept = v
			w.sweep()
			continue
		}
		w.pass(s)
		swept = ""
	}
	w.t.Fatalf("nothing settles:\n%s", w.table())
	return table{}
}

func (s table) asksApproval() bool {
	for _, op := range s.ops {
		if op.Question != nil && op.Question.Kind == operation.QuestionApprove {
			return true
		}
	}
	return false
}
