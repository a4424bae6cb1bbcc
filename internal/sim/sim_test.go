package sim

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	firstSeed = flag.Uint64("sim.seed", 1, "first seed of TestSeeds")
	seedCount = flag.Int("sim.seeds", 150, "how many seeds TestSeeds plays")
)

func lab(t testing.TB) *Lab {
	t.Helper()
	l, err := NewLab()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Whatever the adversary does, no rule breaks, and everything comes to its end.
func TestSeeds(t *testing.T) {
	t.Parallel()
	l := lab(t)
	var r Result
	for i := range *seedCount {
		w, err := l.Play(*firstSeed+uint64(i), false)
		if err != nil {
			t.Fatal(err)
		}
		r.Add(w.Result)
	}
	for _, v := range r.Violations {
		t.Errorf("%s: %s (replay: holdfast simulate --seed %d --seeds 1)", v.Rule, v.What, v.Seed)
	}
	for _, rule := range Rules() {
		if r.Reached[rule] == 0 {
			t.Errorf("%s was never put to the test", rule)
		}
	}
	t.Logf("%+v", r)
}

// A seed is one world: its story, its numbers and its schedule are the same each time.
func TestSeedIsOneWorld(t *testing.T) {
	t.Parallel()
	l := lab(t)
	for seed := uint64(1); seed <= 12; seed++ {
		first, err := l.Play(seed, true)
		if err != nil {
			t.Fatal(err)
		}
		second, err := l.Play(seed, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Story, second.Story); diff != "" {
			t.Fatalf("seed %d told two stories (-first +second):\n%s", seed, diff)
		}
		if diff := cmp.Diff(first.Result, second.Result); diff != "" {
			t.Errorf("seed %d gave two results (-first +second):\n%s", seed, diff)
		}
	}
}

// A world written down as a schedule, read back and replayed, is the same world.
func TestScheduleIsTheWorld(t *testing.T) {
	t.Parallel()
	l := lab(t)
	for seed := uint64(1); seed <= 12; seed++ {
		drawn, err := l.Play(seed, true)
		if err != nil {
			t.Fatal(err)
		}
		written := drawn.Schedule.String()
		read, err := ReadSchedule(strings.NewReader(written))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written, read.String()); diff != "" {
			t.Fatalf("seed %d: written, read and written again (-first +second):\n%s", seed, diff)
		}
		replayed, err := l.Replay(*read, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(drawn.Story, replayed.Story); diff != "" {
			t.Errorf("seed %d: drawn and replayed (-drawn +replayed):\n%s", seed, diff)
		}
	}
}

func TestScheduleSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"seed x":                     "line 1: seed: \"x\" is no seed",
		`fault "a" store "b" 0 lost`: "the first is 1",
		"event a keyed r1 after 1s\nevent a keyed r2 after 2s": "line 2: event: there is an event a already",
		"seed 1\n":                       "needs at least one event",
		"event a keyed r1 after soon":    `"soon" is no time`,
		"event a nowhere r1 after 1s":    "use one of keyed, asked, chain, bare, vendors",
		"# first\nfailt":                 `line 2: "failt" begins no line`,
		`fault "a" stor "b" 1 lost`:      `there is no boundary "stor"`,
		`fault "a" store "b" 1 lots`:     "store knows no \"lots\"; use one of yield",
		"act explode after 1s":           "outside knows no \"explode\"",
		"until 1h sweeps 10000h":         `"10000h" is no time from 0s to 960h0m0s`,
		`fault "a" order "" 1 second`:    "write its number",
		`fault "ExecuteFunction" answer`: "write: fault",
	} {
		_, err := ReadSchedule(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// Each schedule in testdata was a failing world once, or shows a hole that the design closes.
func TestSchedules(t *testing.T) {
	t.Parallel()
	l := lab(t)
	names, err := os.ReadDir("testdata/schedules")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		t.Run(strings.TrimSuffix(n.Name(), ".txt"), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open("testdata/schedules/" + n.Name())
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s, err := ReadSchedule(f)
			if err != nil {
				t.Fatal(err)
			}
			w, err := l.Replay(*s, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range w.Result.Violations {
				t.Errorf("%s: %s\n%s", v.Rule, v.What, w.Story)
			}
			for _, f := range w.Missed {
				t.Errorf("it shows nothing any more: nobody comes to %s\n%s", f, w.Story)
			}
		})
	}
}
