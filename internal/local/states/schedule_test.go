package states_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/local/states"
	"holdfast/statemachine"
)

const shippedHead = "arn:aws:lambda:us-east-1:000000000000:function:"

// shipped is the state machine file as it is deployed, parsed once for all worlds of a test.
func shipped(t testing.TB) *states.Definition {
	filled, err := statemachine.Fill(map[string]string{
		"PlanFunctionArn": shippedHead + "PlanFunction", "AskFunctionArn": shippedHead + "AskFunction",
		"ExecuteFunctionArn": shippedHead + "ExecuteFunction", "ReconcileFunctionArn": shippedHead + "ReconcileFunction",
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := states.Parse(filled)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stage is a world with a server in it, whose functions are played by play.
type stage struct {
	*world
	server *states.Server
	played map[string]int // calls by function and run
	play   func(s *stage, function, run string, call int, token string) (answer string, fault string)
}

func newStage(t testing.TB, machine *states.Definition, random *rand.Rand, play func(*stage, string, string, int, string) (string, string)) *stage {
	s := &stage{world: newWorld(t, random), played: map[string]int{}, play: play}
	tokens := 0
	o := states.Options{
		Clock: s.world, Parallel: s.world, Invoker: s, Parsed: map[string]*states.Definition{"run": machine},
		NewToken: func() string { tokens++; return fmt.Sprint("t", tokens) },
	}
	if random != nil {
		o.Random = random.Float64
	}
	var err error
	if s.server, err = states.New(o); err != nil {
		t.Fatal(err)
	}
	return s
}

// Invoke implements states.Invoker.
func (s *stage) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
	var in struct{ Run, Token string }
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, nil, err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(arn, shippedHead), "Function")
	s.played[name+in.Run]++
	out, bad := s.play(s, name, in.Run, s.played[name+in.Run], in.Token)
	if bad != "" {
		return nil, &states.FunctionError{Type: bad, Payload: []byte(`{"errorType":"` + bad + `"}`)}, nil
	}
	return []byte(out), nil, nil
}

func (s *stage) begin(run string) {
	if _, err := s.server.Start(states.MachineArn("run"), run+"-1", []byte(`{"run":"`+run+`","next":"execute"}`)); err != nil {
		s.Fatal(err)
	}
}

// then says what comes next for a run, after some seconds where it is a wait.
func (s *stage) then(run, next string, seconds int) string {
	until := s.now.Add(time.Duration(seconds) * time.Second).Format("2006-01-02T15:04:05.000Z")
	return fmt.Sprintf(`{"run":%q,"next":%q,"until":%q,"ask_timeout":3600}`, run, next, until)
}

// history is all that happened to a run, one line for each event.
func (s *stage) history(run string) []string {
	events, err := s.server.History(states.ExecutionArn("run", run+"-1"))
	if err != nil {
		s.Fatal(err)
	}
	var lines []string
	for _, e := range events {
		lines = append(lines, fmt.Sprintf("%d<%d %s %s%s %s %s%s", e.ID, e.PreviousID, e.Time.Format(time.RFC3339), e.Type, e.State, e.Data, e.Error, e.Cause))
	}
	return lines
}

func (s *stage) path(run string) string {
	return strings.Join(s.server.PathOfStates(states.ExecutionArn("run", run+"-1")), " ")
}

func (s *stage) answer(token string) error {
	return s.server.SucceedTask(token, []byte(`{"by":"a person"}`))
}

// play is a script: one run is answered after 20 minutes, has to wait, is cut off, looked for and done; one is never
// answered; one is stopped while it waits for a person; one fails, is retried, and held.
func play(s *stage, function, run string, call int, token string) (string, string) {
	switch function + " " + run {
	case "Ask answered":
		s.Go("reviewer", func() {
			s.sleep(20 * time.Minute)
			if err := s.answer(token); err != nil {
				s.Error(err)
			}
		})
	case "Execute answered":
		if call == 1 {
			return s.then(run, "wait_to_send", 600), ""
		}
		s.sleep(70 * time.Second) // longer than its timeout: what it says then is not heard
	case "Reconcile answered":
		if call == 1 {
			return s.then(run, "wait_to_look", 30), ""
		}
		return s.then(run, "done", 0), ""
	case "Reconcile silent":
		return s.then(run, "done", 0), ""
	case "Ask stopped":
		s.Go("operator", func() {
			s.sleep(time.Minute)
			if _, err := s.server.Stop(states.ExecutionArn("run", "stopped-1"), "Stopped", "by a person"); err != nil {
				s.Error(err)
			}
		})
	case "Plan broken":
		return "", "Broken"
	}
	return s.then(run, "ask", 0), ""
}

func TestShippedMachineUnderAScheduler(t *testing.T) {
	t.Parallel()
	runs := map[string]string{
		"answered": "Plan Ask Execute Route WaitToSend Execute Reconcile Route WaitToLook Reconcile Route Done",
		"silent":   "Plan Ask Reconcile Route Done",
		"stopped":  "Plan Ask",
		"broken":   "Plan Held",
	}
	var first map[string][]string
	machine := shipped(t)
	for range 2 {
		s := newStage(t, machine, nil, play)
		for _, run := range []string{"answered", "silent", "stopped", "broken"} {
			s.begin(run)
		}
		s.run()
		all := map[string][]string{"actors": s.names}
		for run, want := range runs {
			if got := s.path(run); got != want {
				t.Errorf("path of %s: %s, want %s", run, got, want)
			}
			all[run] = s.history(run)
		}
		if first == nil {
			first = all
		}
		if diff := cmp.Diff(first, all); diff != "" {
			t.Errorf("the same world twice (-first +second):\n%s", diff)
		}
	}
	want := []string{"execution answered-1", "execution silent-1", "execution stopped-1", "execution broken-1", "PlanFunction of answered-1"}
	if diff := cmp.Diff(want, first["actors"][:len(want)]); diff != "" {
		t.Errorf("names of actors (-want +got):\n%s", diff)
	}
}

// chance plays functions and people that take any time and say anything, also just when a time is over.
type chance struct {
	random   *rand.Rand
	accepted map[string]int // by run: token answers that were accepted
}

func (c *chance) soon() time.Duration {
	return []time.Duration{0, time.Second, 35 * time.Second, 65 * time.Second, time.Hour}[c.random.IntN(5)]
}

func (c *chance) play(s *stage, function, run string, _ int, token string) (string, string) {
	if function == "Ask" {
		s.Go("reviewer of "+run, func() {
			s.sleep(c.soon())
			if s.answer(token) == nil {
				c.accepted[run]++
			}
		})
	}
	if c.random.IntN(20) == 0 {
		s.Go("operator of "+run, func() {
			s.sleep(c.soon())
			if _, err := s.server.Stop(states.ExecutionArn("run", run+"-1"), "", ""); err != nil {
				s.Error(err)
			}
		})
	}
	s.sleep(c.soon())
	if c.random.IntN(4) == 0 {
		return "", "Broken"
	}
	return s.then(run, []string{"done", "done", "ask", "again", "look", "wait_to_send", "wait_to_look", "hold"}[c.random.IntN(8)], c.random.IntN(3)*35), ""
}

const runsOfAWorld = 5

// playRandom plays one world from its seed and returns all histories.
func playRandom(t *testing.T, machine *states.Definition, seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, 0))
	c := &chance{random: random, accepted: map[string]int{}}
	s := newStage(t, machine, random, c.play)
	var all []string
	for i := range runsOfAWorld {
		s.begin(fmt.Sprint("run", i))
	}
	s.run()
	for i := range runsOfAWorld {
		run := fmt.Sprint("run", i)
		d, err := s.server.Describe(states.ExecutionArn("run", run+"-1"))
		if err != nil || d.Status == states.StatusRunning {
			t.Errorf("seed %d: %s is %s (%v) when nothing is left to do", seed, run, d.Status, err)
		}
		lines := s.history(run)
		if got, want := answered(lines), c.accepted[run]; got != want && (d.Status != states.StatusAborted || got != want-1) {
			t.Errorf("seed %d: %s took %d answers of the %d that were accepted, and is %s", seed, run, got, want, d.Status)
		}
		all = append(all, lines...)
	}
	return all
}

// answered counts the tasks that returned what a token brought. SucceedTask promises that it is every one that it
// accepted, but for the last one of an execution that was stopped before its turn.
func answered(lines []string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, " TaskSucceeded ") && strings.Contains(line, "a person") {
			n++
		}
	}
	return n
}

// The seeds are fixed: a failure names the one to replay.
func TestRandomSchedulesReplay(t *testing.T) {
	t.Parallel()
	const seeds = 100
	machine, different := shipped(t), map[string]bool{}
	for seed := range uint64(seeds) {
		first, second := playRandom(t, machine, seed), playRandom(t, machine, seed)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("seed %d gave two histories (-first +second):\n%s", seed, diff)
		}
		different[strings.Join(first, "\n")] = true
	}
	if len(different) < seeds {
		t.Errorf("%d seeds gave only %d histories", seeds, len(different))
	}
}

// dropping is a scheduler that never gives a turn.
type dropping struct{}

func (dropping) Go(string, func())    {}
func (dropping) NewBell() states.Bell { return dropping{} }
func (dropping) Ring()                {}
func (dropping) Wait()                {}

// The bubble fails the test when a goroutine is left behind: there must be none, also without Close, and Close must
// not wait for what will never run.
func TestGivenParallelStartsNoGoroutine(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, err := states.New(states.Options{
				Clock: clock.New(), Parallel: dropping{}, Invoker: invoker(echo), NewToken: func() string { return "t" },
				Parsed: map[string]*states.Definition{"run": shipped(t)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Start(states.MachineArn("run"), "e", []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			if closes {
				s.Close()
			}
		})
	}
}

// Close gives every execution that waits its turn to end; nothing is added to its history, although an answer was
// accepted just before.
func TestCloseUnderAScheduler(t *testing.T) {
	t.Parallel()
	s := newStage(t, shipped(t), nil, play)
	s.begin("silent")
	s.Go("closer", func() {
		s.sleep(time.Minute)
		if err := s.answer("local-t1"); err != nil {
			s.Error(err)
		}
		s.server.Close()
	})
	s.run()
	d, err := s.server.Describe(states.ExecutionArn("run", "silent-1"))
	if err != nil || d.Status != states.StatusRunning || s.path("silent") != "Plan Ask" {
		t.Errorf("%s %v, path %s; closing must not make up an end", d.Status, err, s.path("silent"))
	}
	if want := s.born.Add(time.Minute); !s.now.Equal(want) {
		t.Errorf("the world came to rest at %v, not %v: an alarm was left on the clock", s.now, want)
	}
}
