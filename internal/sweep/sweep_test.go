package sweep_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/operation"
)

// The sweep has no way to a target: none of its packages can make a request.
func TestR04_SweepLinksNoTarget(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "holdfast/internal/sweep")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	apptest.Must(t, err)
	deps := strings.Fields(string(out))
	if len(deps) < 10 {
		t.Fatalf("only %v", deps)
	}
	for _, dep := range deps {
		for _, no := range []string{"holdfast/internal/target", "holdfast/internal/runner", "holdfast/internal/flow/compile"} {
			if dep == no || strings.HasPrefix(dep, no+"/") {
				t.Errorf("the sweep links %s", dep)
			}
		}
	}
}

// An event whose runs a crash left out gets them; its own record is closed then.
func TestR09_EventWithoutItsRuns(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	ev := y.event(nil)
	if r := y.later(0); r.Due != 0 {
		t.Errorf("%d due before its time", r.Due)
	}
	r := y.later(5 * time.Minute)
	if r.Started != 1 || r.Failed != 0 {
		t.Errorf("%+v; want one started", r)
	}
	y.Reaches(t, ev.Runs[0], 1, "TaskSubmitted", 1)
	run := y.runNow(ev.Runs[0])
	if run.Flow != "f" || run.Event != ev.ID || run.Owner != owner {
		t.Errorf("run %+v", run)
	}
	got, err := y.Ledger.Event(t.Context(), ev.ID)
	if err != nil || got.Status != operation.EventPlanned || got.Step.Action != operation.ActionDone {
		t.Errorf("event %s, next %s, %v; want planned, nothing", got.Status, got.Step.Action, err)
	}
}

// A start that is refused keeps the event due: nothing is given up.
func TestR09_StartRefused(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	ev := y.event(nil)
	y.Faults.Set(func(op string, _ []byte) apptest.Fault {
		if op == "StartExecution" {
			return apptest.Fault{Code: "ThrottlingException"}
		}
		return apptest.Fault{}
	})
	if r := y.later(5 * time.Minute); r.Failed != 1 {
		t.Errorf("%+v; want one failure", r)
	}
	y.Faults.Set(nil)
	y.later(5 * time.Minute)
	y.Reaches(t, ev.Runs[0], 1, "TaskSubmitted", 1)
}

func TestHeldEventIsRemindedOf(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	ev := y.event(func(ev *operation.Event) { ev.Hold("oversize", ev.Received) })
	for n := 1; n <= 2; n++ {
		y.later(operation.RemindEvery + time.Minute)
		if got := y.mails.To(reminder); len(got) != n || got[0] != string(owner) {
			t.Errorf("reminded %v, want the owner %d times", got, n)
		}
		y.later(time.Minute) // not again before its time
	}
	if _, err := y.Ledger.Run(t.Context(), ev.Runs[0]); err == nil {
		t.Error("a held event got its run")
	}
}

// Each thing that can have become of a run, and what brings it back.
func TestRunThatIsDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(*operation.Run)
		before     func(*yard, operation.Run)
		generation int
		status     operation.RunStatus
		path       string
		reminded   []string
		after      time.Duration // 0: long enough for everything
	}{
		"never started": {generation: 1, path: "Plan Ask"},
		"its execution is alive": {
			before: func(y *yard, r operation.Run) { y.start(r) }, after: 5 * time.Minute,
			generation: 1, path: "Plan Ask",
		},
		"its execution is dead": {
			before: func(y *yard, r operation.Run) {
				y.start(r)
				y.Parts.Clock.Move(2 * time.Hour) // Ask ends by its timeout, the rest by the stand-ins
				y.Ends(y.t, r.ID, 1)
			},
			generation: 2, path: "Plan Ask",
		},
		"a person aborted its execution": {
			before: func(y *yard, r operation.Run) {
				y.start(r)
				_, err := y.States.Stop(y.Arn(r.ID, 1), "", "")
				apptest.Must(y.t, err)
			},
			generation: 1, status: operation.RunHeld, path: "Plan Ask",
		},
		"held, and its question is open": {
			change: func(r *operation.Run) {
				operation.AskAboutRun(r, operation.Question{ID: "q_1", Reason: "missing_data", Reviewers: []operation.Person{reviewer}}, r.Created)
				r.Hold("missing_data", r.Created)
			},
			generation: 1, status: operation.RunHeld, reminded: []string{string(reviewer)},
		},
		"held, and nobody is asked": {
			change:     func(r *operation.Run) { r.Hold("missing_data", r.Created) },
			generation: 2, path: "Plan Ask",
		},
		"over": {
			change:     func(r *operation.Run) { r.Finish(operation.RunDone, "confirmed", r.Created) },
			generation: 1, status: operation.RunDone,
		},
		"it rests until a far instant": {
			change: func(r *operation.Run) {
				r.Step = operation.Step{Action: operation.ActionWait, Reason: "backoff", Due: r.Created.Add(30 * time.Hour), Owner: owner}
			},
			generation: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			run := y.run(c.change)
			if c.before != nil {
				c.before(y, run)
			}
			if c.after == 0 {
				c.after = operation.RemindEvery + time.Minute
			}
			y.later(c.after)
			got := y.runNow(run.ID)
			if got.Generation != c.generation || got.Status != c.status {
				t.Errorf("generation %d, %s; want %d, %s", got.Generation, got.Status, c.generation, c.status)
			}
			if strings.HasSuffix(c.path, "Ask") && c.status == operation.RunStarted && name != "it rests until a far instant" {
				y.Reaches(t, run.ID, c.generation, "TaskSubmitted", 1)
			}
			if got := y.Path(run.ID, c.generation); !strings.HasPrefix(got, c.path) {
				t.Errorf("path %q, want %q", got, c.path)
			}
			if diff := cmp.Diff(c.reminded, y.mails.To(reminder)); diff != "" {
				t.Errorf("reminded (-want +got):\n%s", diff)
			}
			if got.Step.Action != operation.ActionDone && got.Step.Due == 0 {
				t.Errorf("nothing makes it go on: %+v", got.Step)
			}
		})
	}
}

func (y *yard) start(run operation.Run) {
	y.t.Helper()
	apptest.Must(y.t, y.Parts.Launcher.Start(y.t.Context(), run))
	y.Reaches(y.t, run.ID, run.Generation, "TaskSubmitted", 1)
}

// What a person aborted: its owner is asked, reminded, and it is never started by the sweep, however often it comes.
func TestAbortedIsAskedAbout(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(nil)
	y.start(run)
	_, err := y.States.Stop(y.Arn(run.ID, 1), "", "")
	apptest.Must(t, err)
	for range 6 {
		y.later(operation.RemindEvery + time.Minute)
	}
	if len(y.asked) != 1 || len(y.mails.To(reminder)) == 0 {
		t.Errorf("asked %d times, reminded %d times; want asked once, then reminded", len(y.asked), len(y.mails.To(reminder)))
	}
	if got := y.runNow(run.ID); got.Generation != 1 || got.Question == nil {
		t.Errorf("generation %d, question %v; want 1 and an open question", got.Generation, got.Question)
	}
}

// A run that waits for an approval costs nothing while its execution lives, and gets another one when it died.
func TestApprovalIsWaitedFor(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(nil)
	op := y.operation([]operation.RunID{run.ID}, y.asks())
	y.stages(run.ID, op.ID)
	y.start(run)
	apptest.Must(t, y.Ledger.PutToken(t.Context(), run.ID, 1, "token1"))
	y.Faults.Set(nil)
	for range 3 {
		y.later(11 * time.Minute)
	}
	if got := y.Path(run.ID, 1); got != "Plan Ask" {
		t.Errorf("path %q: the sweep woke what waits for a person", got)
	}
	for _, call := range y.Faults.Calls() {
		if call == "SendTaskSuccess" || call == "StartExecution" {
			t.Errorf("the sweep called %s", call)
		}
	}
	y.Parts.Clock.Move(time.Hour)
	y.Ends(t, run.ID, 1)
	y.later(11 * time.Minute)
	y.Reaches(t, run.ID, 2, "TaskSubmitted", 1)
}

// One record that cannot be looked after does not keep the others waiting, and stays due.
func TestR07_BrokenRecordBesideOthers(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	broken := y.operation([]operation.RunID{"run_nowhere"}, y.asks(), y.approves())
	y.Parts.Clock.Move(25 * time.Hour)
	var runs []operation.Run
	for range 5 {
		runs = append(runs, y.run(nil))
	}
	r := y.later(5 * time.Minute)
	if r.Failed+r.Due < 6 {
		t.Errorf("%+v", r)
	}
	for _, run := range runs {
		y.Reaches(t, run.ID, 1, "TaskSubmitted", 1)
	}
	if got := y.operationNow(broken.ID); got.Step.Due > y.now() && !strings.Contains(y.Written.String(), string(broken.ID)) {
		t.Error("the broken one was forgotten")
	}
}

// A mail server that is down keeps what it was to tell due.
func TestR07_ReminderThatFails(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.event(func(ev *operation.Event) { ev.Hold("oversize", ev.Received) })
	y.mails.Fail = errors.New("no mail server")
	if r := y.later(operation.RemindEvery + time.Minute); r.Failed != 1 {
		t.Errorf("%+v", r)
	}
	y.mails.Fail = nil
	if r := y.later(time.Minute); r.Failed != 0 || len(y.mails.To(reminder)) != 1 {
		t.Errorf("%+v, reminded %v", r, y.mails.To(reminder))
	}
}

// endsBy gives a context the deadline of an invocation by the product's clock.
type endsBy struct {
	context.Context
	at time.Time
}

func (c endsBy) Deadline() (time.Time, bool) { return c.at, true }

// Time that is up in the middle: the next sweep goes on with what was not seen.
func TestR07_TimeUpInTheMiddle(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for range 12 {
		y.run(nil)
	}
	y.Parts.Clock.Move(5 * time.Minute)
	started := 0
	y.Faults.Set(func(op string, _ []byte) apptest.Fault {
		if op != "StartExecution" {
			return apptest.Fault{}
		}
		if started++; started != 4 {
			return apptest.Fault{}
		}
		return apptest.Fault{Before: func() { y.Parts.Clock.Move(time.Minute) }}
	})
	r, err := y.Handle(endsBy{t.Context(), y.Parts.Clock.Now().Add(30 * time.Second)})
	apptest.Must(t, err)
	if !r.More || r.Due != 4 {
		t.Errorf("%+v; want 4 seen and more left", r)
	}
	r = y.later(0)
	if r.More || r.Due != 8 || started != 12 {
		t.Errorf("%+v, %d starts; want the other 8", r, started)
	}
}

// A shard that cannot be read is an error at the end, not before the others were seen.
func TestR13_OneShardFails(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for range 12 {
		y.run(nil)
	}
	y.Parts.Clock.Move(5 * time.Minute)
	queries := 0
	y.Faults.Set(func(op string, body []byte) apptest.Fault {
		if op == "Query" && strings.Contains(string(body), "due_shard") {
			if queries++; queries == 1 {
				return apptest.Fault{Code: "InternalServerError"}
			}
		}
		return apptest.Fault{}
	})
	r, err := y.Handle(t.Context())
	if err == nil || r.Due == 0 {
		t.Errorf("%+v, %v; want the others seen and an error", r, err)
	}
	y.Faults.Set(nil)
	if again := y.later(0); again.Due+r.Due != 12 {
		t.Errorf("%d then %d seen, want 12 in all", r.Due, again.Due)
	}
}
