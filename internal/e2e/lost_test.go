package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

var update = flag.Bool("update", false, "rewrite the tables in testdata")

// contents are one content for each shipped profile.
var contents = map[string]string{
	"hubspot-task":          `{ subject: 'Call ${body.data.n}', due: '2026-12-24T09:00:00Z' }`,
	"hubspot-task-contact":  `{ task: '7001', contact_id: '12' }`,
	"resend-email":          `{ from: 'a@example.com', to: 'b@example.com', subject: 'Hello ${body.data.n}', text: 'Hello' }`,
	"shopify-discount-code": `{ code: 'THANKS-${body.data.n}', title: 'Thank you', percentage: 0.1, starts_at: '2026-12-01T00:00:00Z' }`,
	"generic-key":           `{ effect: { n: '${body.data.n}' } }`,
	"generic-lookup":        `{ effect: { n: '${body.data.n}' } }`,
	"generic-natural":       `{ effect: { n: '${body.data.n}' } }`,
	"generic-none":          `{ effect: { n: '${body.data.n}' } }`,
}

// oneStage is a flow with one stage to a profile, under a standing authorisation.
func oneStage(profile string) change {
	if profile == "hubspot-task-contact" {
		return func(w *world) { flowOf(profile, strings.Replace(contents[profile], "7001", w.foreignTask(), 1))(w) }
	}
	return flowOf(profile, contents[profile])
}

func flowOf(profile, content string) change {
	text := fmt.Sprintf("flow: one-effect\nversion: 1\nowner: ops-lead@example.com\ntrigger: { source: standard, topic: one }\n"+
		"approval: none\nsend_within: 72h\nstages:\n  - { name: only, key: [body.data.n], target: %s, content: %s }\n", profile, content)
	return withFlows(fstest.MapFS{"one-effect.yaml": {Data: []byte(text)}})
}

// foreignTask makes a task that is not ours, for what is tied to one.
func (w *world) foreignTask() string {
	w.t.Helper()
	a := w.do("POST", w.options.Destinations["hubspot-task"].Base+"/crm/objects/2026-03/tasks",
		map[string][]string{"Authorization": {"Bearer x"}, "Content-Type": {"application/json"}}, []byte(`{"properties":{"hs_task_subject":"x"}}`))
	var made struct{ ID string }
	must(w.t, json.Unmarshal([]byte(a.body), &made))
	w.foreign = w.sim.Effects()["hubspot"].Effects
	return made.ID
}

func oneEvent(n string) []byte { return fmt.Appendf(nil, `{"type":"one","data":{"n":"%s"}}`, n) }

// way is one way to lose an answer.
type way struct {
	name  string
	fault simtarget.Fault
	// hangs: nothing comes back before the clock moves; effect says whether there is one by then.
	hangs, effect bool
}

func ways() []way {
	fault := func(k simtarget.Kind, delay time.Duration) simtarget.Fault {
		return simtarget.Fault{Kind: k, Count: 1, Delay: simtarget.Duration(delay), Match: simtarget.MatchEffects}
	}
	return []way{
		{name: "reset before the first byte", fault: simtarget.Fault{Kind: simtarget.KindResetBeforeFirstByte, Count: 1}},
		{name: "reset after the headers", fault: fault(simtarget.KindResetAfterHeaders, 0)},
		{name: "reset after the request", fault: fault(simtarget.KindResetAfterRequest, 0)},
		{name: "lost after the effect", fault: fault(simtarget.KindLostAfterCommit, 0)},
		{name: "half an answer", fault: fault(simtarget.KindHalfAnswer, 0)},
		{name: "answer after the deadline", fault: fault(simtarget.KindLateAnswer, 40*time.Second), hangs: true, effect: true},
		{name: "no answer after the effect", fault: fault(simtarget.KindHangAfterCommit, 0), hangs: true, effect: true},
		{name: "effect after a lookup said absent", fault: fault(simtarget.KindLateCommit, 90*time.Second), hangs: true},
		{name: "5xx before the effect", fault: fault(simtarget.KindBrokenBefore, 0)},
		{name: "5xx after the effect", fault: fault(simtarget.KindBrokenAfter, 0)},
		{name: "unreadable 200", fault: fault(simtarget.KindUnreadable, 0)},
		{name: "redirect", fault: fault(simtarget.KindRedirect, 0)},
		{name: "a proxy's 403 before the effect", fault: fault(simtarget.KindProxyBefore, 0)},
		{name: "a proxy's 403 after the effect", fault: fault(simtarget.KindProxyAfter, 0)},
		{name: "rate limit", fault: fault(simtarget.KindLimited, 30*time.Second)},
		{name: "kept connection broken", fault: fault(simtarget.KindKeepaliveBreak, 0)},
	}
}

// TestCaseB002_EveryWayToLoseAnAnswer loses the answer of every shipped profile in every way. What is left is confirmed,
// held for a reason, or proven not executed and sent again; the target never shows a second effect.
func TestCaseB002_EveryWayToLoseAnAnswer(t *testing.T) {
	t.Parallel()
	var rows rows
	t.Run("all", func(t *testing.T) {
		for profile := range contents {
			for _, way := range ways() {
				t.Run(profile+"/"+way.name, func(t *testing.T) {
					t.Parallel()
					rows.add(lose(t, profile, way))
				})
			}
			t.Run(profile+"/frozen", func(t *testing.T) {
				t.Parallel()
				rows.add(freeze(t, profile))
			})
		}
	})
	rows.compare(t, "lost-answers.txt")
}

func lose(t *testing.T, profile string, way way) string {
	w := newWorld(t, oneStage(profile))
	way.fault.Target = local.SimFor(profile, w.sim.Names())
	_, err := w.sim.SetFault(way.fault)
	must(t, err)
	w.deliver("standard", "e1", oneEvent("1"))
	if way.hangs {
		w.until("the request is at the target", func() bool {
			r := w.sim.Effects()[way.fault.Target]
			return r.Requests > w.foreign && (!way.effect || w.count() > 0)
		})
		w.clock.Move(16 * time.Second) // past every profile's timeout, before the late effect
	}
	if way.fault.Kind == simtarget.KindLateCommit {
		w.settle()
		w.clock.Move(2 * time.Minute)
		w.until("the late effect has come", func() bool { return w.count() > 0 })
	}
	return eitherWay(way, w.row(profile, way.name))
}

// eitherWay hides which of two ends a connection had that was reset at once: the kernel may have taken the request's
// bytes before the reset came (unknown) or not (proven not executed). The row says only that there is no second effect.
func eitherWay(way way, row string) string {
	if way.fault.Kind != simtarget.KindResetBeforeFirstByte {
		return row
	}
	return fmt.Sprintf("%.58sby whether a byte was taken before the reset; effects at most 1", row)
}

// freeze stops a worker between its connection and its first byte, lets its lease end, and thaws it.
func freeze(t *testing.T, profile string) string {
	w := newWorld(t, oneStage(profile))
	frozen, thaw := make(chan struct{}), make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(thaw) }))
	var first atomic.Bool
	w.probe.onHit = func(name string, m moment) {
		if name == "wire dial" && m == after {
			if first.CompareAndSwap(false, true) {
				close(frozen)
				<-thaw
			}
		}
	}
	w.deliver("standard", "e1", oneEvent("1"))
	<-frozen
	w.clock.Move(70 * time.Second)
	w.until("the state has timed out", func() bool { return w.local.Busy() == 1 })
	w.settle()
	thaw <- struct{}{}
	w.until("the worker is done", func() bool { return w.local.Busy() == 0 })
	return w.row(profile, "worker frozen past its lease")
}

// row brings the only operation to its end and tells it.
func (w *world) row(profile, name string) string {
	s := w.settle()
	must(w.t, s.nobodyWaits())
	if w.foreign == 0 { // a tie has no mark of ours
		w.settled(s)
	}
	for _, op := range s.ops {
		effects := w.count()
		if effects > 1 {
			w.t.Errorf("%d effects\n%s", effects, s)
		}
		state := op.Status.String()
		if op.Status == operation.StatusHeld {
			state += " (" + string(op.Question.Reason) + ")"
		}
		return fmt.Sprintf("%-22s %-34s %-34s attempts %d  effects %d", profile, name, state, len(op.Attempts), effects)
	}
	w.t.Fatal("there is no operation")
	return ""
}

// count is how many effects of ours there are.
func (w *world) count() int {
	n := -w.foreign
	for _, r := range w.sim.Effects() {
		n += r.Effects
	}
	return n
}

// until waits, by yielding, for something that another goroutine is about to do.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	deadline := w.clock.Mono() + patience
	for !is() {
		if w.clock.Mono() > deadline {
			w.t.Fatalf("never: %s\n%s", what, w.table())
		}
		runtime.Gosched()
	}
}

// rows collects the lines of a table from parallel tests.
type rows struct {
	mu    sync.Mutex
	lines []string
}

func (r *rows) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

// compare holds the table against the one in testdata.
func (r *rows) compare(t *testing.T, name string) {
	t.Helper()
	slices.Sort(r.lines)
	got := strings.Join(r.lines, "\n") + "\n"
	t.Log("\n" + got)
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the table has changed (-want +got); if it is right, run with -update:\n%s", diff)
	}
}
