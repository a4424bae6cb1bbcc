package simtarget_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/local/simtarget"
)

// step is one request of a sequence; wait passes before it.
type step struct {
	method, path, body string
	key                string
	wait               time.Duration
}

func (s step) bytes() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: sim\r\nAuthorization: Bearer x\r\nX-Shopify-Access-Token: x\r\nX-Operation-Id: %s\r\n", s.method, s.path, s.key)
	fmt.Fprintf(&b, "Idempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s", s.key, len(s.body), s.body)
	return []byte(b.String())
}

// sequences meet every protection: the same again, another body, after the window, lookups at once and later.
func sequences() map[string][]step {
	create := func(key, body string, wait time.Duration) step { return step{"POST", "/effects", body, key, wait} }
	keyed := []step{create("op_a", post, 0), create("op_a", post, 0), create("op_a", `{"x":2}`, 0), create("op_b", post, 0), create("op_a", post, 25*time.Hour), {"GET", "/none", "", "", 0}}
	find, lookup := step{"GET", "/effects?operation_id=op_a", "", "", 0}, step{"GET", "/effects?operation_id=op_a&limit=1", "", "", time.Hour}
	email := func(wait time.Duration) step { return step{"POST", "/emails", mail, "op_a", wait} }
	upsert := func(subject string) step {
		return step{"POST", tasks + "/batch/upsert", upsertBody("op_a", subject), "", 0}
	}
	make := step{"POST", graphql, discount("SPRING"), "", 0}
	return map[string][]step{
		"generic-key": keyed, "generic-stored-error": keyed, "generic-none": {create("op_a", post, 0), create("op_a", post, time.Hour)},
		"generic-lookup":  {create("op_a", post, 0), find, lookup, create("op_a", post, 0), lookup, {"GET", "/effects", "", "", 0}},
		"generic-natural": {{"PUT", "/effects/op_a", post, "", 0}, {"GET", "/effects/op_a", "", "", 0}, {"PUT", "/effects/op_a", post, "", 0}},
		"hubspot":         {upsert("Call"), upsert("Again"), {"GET", tasks + "/op_a?idProperty=hf_op", "", "", 0}, {"POST", tasks, `{"properties":{"a":"<&>"}}`, "", 0}},
		"resend":          {email(0), email(0), email(25 * time.Hour), {"GET", "/emails?limit=1", "", "", 0}},
		"shopify-admin":   {make, make, {"POST", graphql, byCode("spring"), "", 0}},
	}
}

// seen is what one request's sender saw: the bytes and whether the connection ended, at once and after the fault's delay.
type seen struct {
	Now, Later           string
	EndedNow, EndedLater bool
}

// watch collects what a connection brings.
type watch struct {
	mu    sync.Mutex
	text  strings.Builder
	ended bool
}

func (w *watch) follow(c net.Conn) {
	for buf := make([]byte, 4096); ; {
		n, err := c.Read(buf)
		w.mu.Lock()
		w.text.Write(buf[:n])
		w.ended = err != nil
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (w *watch) state() (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String(), w.ended
}

// faultDelay is less than a step's long wait, and more than a lookup's lag.
const faultDelay = 40 * time.Minute

func (w *world) overConnection(target string, s step) (got seen) {
	w.clock.Move(s.wait)
	synctest.Wait()
	c, all := w.pipe(target), &watch{}
	go all.follow(c)
	go c.Write(s.bytes())
	synctest.Wait()
	got.Now, got.EndedNow = all.state()
	w.clock.Move(faultDelay)
	synctest.Wait()
	got.Later, got.EndedLater = all.state()
	c.Close()
	synctest.Wait()
	return got
}

func (w *world) overExchange(target string, s step) (got seen) {
	w.clock.Move(s.wait)
	synctest.Wait()
	ex, err := w.sim.Exchange(target, s.bytes())
	if err != nil {
		w.t.Fatal(err)
	}
	ended := ex.Action == simtarget.ActionCut || ex.Action == simtarget.ActionHalf || ex.Last
	if ex.At.IsZero() {
		got = seen{string(ex.Answer), string(ex.Answer), ended, ended}
	}
	w.clock.Move(faultDelay)
	synctest.Wait()
	if !ex.At.IsZero() && !ex.At.After(w.clock.Now()) {
		if ex.Done != nil {
			ex.Done()
		}
		got.Later, got.EndedLater = string(ex.Answer), ended
	}
	return got
}

func (w *world) kinds() (all []simtarget.Kind) {
	w.t.Helper()
	_, body := w.control("GET", "/_sim/kinds", "", "")
	var list struct {
		Kinds []struct{ Kind simtarget.Kind }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Kinds) < 20 {
		w.t.Fatalf("%d kinds, %v", len(list.Kinds), err)
	}
	for _, k := range list.Kinds {
		all = append(all, k.Kind)
	}
	return all
}

// TestExchangeIsTheConnection goes through every switch at every target, once on a connection and once without one.
func TestExchangeIsTheConnection(t *testing.T) {
	t.Parallel()
	for target, steps := range sequences() {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			for _, kind := range append(newWorld(t).kinds(), "") {
				for skip := range 2 {
					synctest.Test(t, func(t *testing.T) { compare(t, target, steps, kind, skip) })
				}
			}
		})
	}
}

func compare(t *testing.T, target string, steps []step, kind simtarget.Kind, skip int) {
	conn, direct := newWorld(t), newWorld(t)
	fault := simtarget.Fault{Target: target, Kind: kind, Count: 1, Skip: skip, Delay: simtarget.Duration(faultDelay)}
	for _, w := range []*world{conn, direct} {
		if _, err := w.sim.SetFault(fault); err != nil && kind != "" {
			return // this target has no route for the switch
		}
	}
	for i, s := range steps {
		want, got := conn.overConnection(target, s), direct.overExchange(target, s)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, step %d %s %s (-connection +exchange):\n%s", kind, i, s.method, s.path, diff)
		}
	}
	if diff := cmp.Diff(conn.sim.Effects()[target], direct.sim.Effects()[target]); diff != "" {
		t.Errorf("%s: reports (-connection +exchange):\n%s", kind, diff)
	}
	if diff := cmp.Diff(conn.sim.Faults(), direct.sim.Faults()); diff != "" {
		t.Errorf("%s: switches left (-connection +exchange):\n%s", kind, diff)
	}
}

func TestExchangeOfAPartIsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "generic-key", Kind: simtarget.KindResetBeforeFirstByte})
	all := step{"POST", "/effects", post, "op_a", 0}.bytes()
	for n := range all {
		if _, err := w.sim.Exchange("generic-key", all[:n]); !errors.Is(err, simtarget.ErrPartial) {
			t.Fatalf("%d of %d bytes: %v, want ErrPartial", n, len(all), err)
		}
	}
	if got := w.sim.Counts("generic-key"); got != (simtarget.Counts{}) || len(w.sim.Faults()) != 1 {
		t.Errorf("a part of a request counted %+v and left %d switches", got, len(w.sim.Faults()))
	}
	w.sim.ClearFaults("", "")
	ex, err := w.sim.Exchange("generic-key", append(all, "POST /effects"...))
	if err != nil || ex.Status != 201 || ex.Size != len(all) {
		t.Errorf("whole request: %+v, %v", ex, err)
	}
}

func TestExchangeRefusesWhatIsNotARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := []struct {
		name, request string
		status        int
	}{
		{"no request line", "hello\r\n\r\n", 400},
		{"two lengths", "POST /effects HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc", 400},
		{"chunk without a size", "POST /effects HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
		{"body too large", fmt.Sprintf("POST /effects HTTP/1.1\r\nHost: s\r\nContent-Length: %d\r\n\r\n%s", 2<<20, strings.Repeat("x", 2<<20)), 413},
	}
	for _, c := range cases {
		ex, err := w.sim.Exchange("generic-none", []byte(c.request))
		if err != nil || ex.Status != c.status || !ex.Last {
			t.Errorf("%s: %+v, %v; want a last %d", c.name, ex, err, c.status)
		}
	}
	w.wantEffects("generic-none", 0)
	if _, err := w.sim.Exchange("other", nil); err == nil || !strings.Contains(err.Error(), "known: generic-key") {
		t.Errorf("unknown target: %v", err)
	}
	w.sim.Close()
	if _, err := w.sim.Exchange("generic-none", step{"POST", "/effects", post, "", 0}.bytes()); err == nil {
		t.Error("a closed simulation carried out a request")
	}
}

// stillClock passes time when the test says so. It has no SleepUntil: nothing in a simulation of exchanges sleeps.
type stillClock struct {
	clock.Clock
	now   time.Time
	due   []func()
	times []time.Time
}

func (c *stillClock) Now() time.Time { return c.now }

func (c *stillClock) AfterFunc(at time.Time, f func()) func() {
	i := len(c.due)
	c.due, c.times = append(c.due, f), append(c.times, at)
	return func() { c.due[i] = nil }
}

func (c *stillClock) pass(d time.Duration) {
	c.now = c.now.Add(d)
	for i, f := range c.due {
		if f != nil && !c.times[i].After(c.now) {
			c.due[i] = nil
			f()
		}
	}
}

func newStill() *stillClock {
	return &stillClock{now: time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)}
}

func newDirect(t testing.TB, c clock.Clock, seed uint64, hook func(simtarget.Commit)) *simtarget.Sim {
	t.Helper()
	specs, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	s := simtarget.New(simtarget.Options{Clock: c, Specs: specs, Seed: seed, OnEffect: hook})
	t.Cleanup(func() { s.Close() })
	return s
}

func TestLateCommitNeedsOnlyTheClock(t *testing.T) {
	t.Parallel()
	c := newStill()
	var commits []simtarget.Commit
	s := newDirect(t, c, 7, func(e simtarget.Commit) { commits = append(commits, e) })
	late := simtarget.Fault{Target: "generic-none", Kind: simtarget.KindLateCommit, Delay: hour, Count: 1}
	effect := step{"POST", "/effects", post, "op_a", 0}.bytes()
	for range 2 {
		if _, err := s.SetFault(late); err != nil {
			t.Fatal(err)
		}
		ex, err := s.Exchange("generic-none", effect)
		if err != nil || ex.Action != simtarget.ActionHang || ex.Answer != nil || len(commits) > 1 {
			t.Fatalf("%+v, %v, %d commits", ex, err, len(commits))
		}
		c.pass(time.Hour)
	}
	if len(commits) != 2 || !commits[1].Late || commits[1].Earlier != 1 || !commits[1].At.Equal(c.now) {
		t.Errorf("commits %+v, want two late ones, the second a repeat", commits)
	}
	if _, err := s.SetFault(late); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exchange("generic-none", effect); err != nil {
		t.Fatal(err)
	}
	s.Close()
	c.pass(time.Hour)
	if len(commits) != 2 || s.Counts("generic-none").Effects != 2 {
		t.Errorf("%d commits after Close, want 2", len(commits))
	}
}

func TestHookSeesEveryEffectInOrder(t *testing.T) {
	t.Parallel()
	for target, steps := range sequences() {
		c := newStill()
		var commits []simtarget.Commit
		s := newDirect(t, c, 7, func(e simtarget.Commit) { commits = append(commits, e) })
		for _, one := range steps {
			c.pass(one.wait)
			if _, err := s.Exchange(target, one.bytes()); err != nil {
				t.Fatal(err)
			}
		}
		report, seenBefore := s.Effects()[target], map[string]int{}
		if len(commits) != report.Effects || report.Effects == 0 {
			t.Fatalf("%s: the hook saw %d effects, the report has %d", target, len(commits), report.Effects)
		}
		for i, e := range commits {
			who := e.Route + " " + e.Operation
			if e.Target != target || e.Collection == "" || e.Number != i+1 || e.Earlier != seenBefore[who] || e.Effect != report.List[i] {
				t.Errorf("%s: commit %d is %+v, want %+v with %d earlier", target, i, e, report.List[i], seenBefore[who])
			}
			seenBefore[who]++
		}
		want := simtarget.Counts{Effects: report.Effects, Requests: report.Requests, Replays: report.Replays, Updates: report.Updates}
		if got := s.Counts(target); got != want {
			t.Errorf("%s: counts %+v, want %+v", target, got, want)
		}
	}
}

// TestSameSeedSameBytes repeats one seed and changes it: the ids are the seed's, and nothing else is.
func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (all string) {
		c := newStill()
		s := newDirect(t, c, seed, nil)
		for _, target := range s.Names() {
			if _, err := s.SetFault(simtarget.Fault{Target: target, Kind: simtarget.KindBrokenAfter, Probability: 0.5}); err != nil {
				t.Fatal(err)
			}
			for _, one := range sequences()[target] {
				c.pass(one.wait)
				ex, err := s.Exchange(target, one.bytes())
				if err != nil {
					t.Fatal(err)
				}
				all += fmt.Sprintf("%s %s\n", ex.Action, ex.Answer)
			}
		}
		return all
	}
	first := run(7)
	if diff := cmp.Diff(first, run(7)); diff != "" {
		t.Errorf("one seed, two results:\n%s", diff)
	}
	if first == run(8) {
		t.Error("the seed decides nothing")
	}
}
