package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/sim"
)

type simulateCmd struct {
	Seeds   int    `placeholder:"N" help:"How many seeds to play; 1000 when neither this nor --minutes is given."`
	Seed    uint64 `default:"1" placeholder:"S" help:"The first seed."`
	Minutes int    `placeholder:"M" help:"Play for this long instead of a number of seeds."`
	Workers int    `placeholder:"W" help:"Worlds that are played at once; as many as there are processors when not given."`
	Store   string `enum:"memory,sdk,file" default:"memory" help:"How the ledger reaches its table: memory (in-process, typed), sdk (the AWS SDK's client over the same server in memory), file (the SDK's client over the server on disk; no restores)."`
	Replay  string `placeholder:"FILE" help:"Play one schedule from a file and tell its story."`
	Shrink  bool   `default:"true" negatable:"" help:"Make the first failing seed's schedule as small as possible."`
	JSON    bool   `help:"Print one JSON object."`
}

// Help is shown with --help.
func (simulateCmd) Help() string {
	return `Plays the whole product against an adversary in one process: the real handlers, ledger, state machine, sweep, review page, target
engine and simulated targets, under a clock and an order that the seed decides. The adversary loses answers, crashes and freezes processes,
cuts requests at every point, repeats, delays, restores old tables. The rules R1 to R13 are checked from outside after every step.

Exit code 0: no rule broke and every rule was put to the test; 1: a rule broke, one was never reached, it was interrupted, or a replayed
schedule has a fault whose boundary nobody came to; 2: the command is wrong. One seed alone need not reach every rule, and tells its
story. A failing seed replays exactly, is made smaller, and is printed as a schedule for --replay; docs/proof.md says how to write one.`
}

// gcPercent lets garbage grow: worlds are small, and there are many.
const gcPercent = 400

// Run implements the command.
func (c *simulateCmd) Run(ctx context.Context, s *streams) error {
	switch {
	case c.Seeds < 0 || c.Minutes < 0 || c.Workers < 0:
		return usage{errors.New("--seeds, --minutes and --workers cannot be negative")}
	case c.Seeds > 0 && c.Minutes > 0:
		return usage{errors.New("give --seeds or --minutes, not both")}
	case c.Replay != "" && (c.Seeds > 0 || c.Minutes > 0):
		return usage{errors.New("--replay plays the one world of its file; leave out --seeds and --minutes")}
	}
	if c.Seeds == 0 && c.Minutes == 0 {
		c.Seeds = 1000
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	lab, err := sim.NewLab()
	if err != nil {
		return err
	}
	lab.Store = sim.Store(c.Store)
	if c.Replay != "" {
		return c.replay(lab, s)
	}
	r, err := lab.Run(ctx, c.options(s))
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err != nil {
		fmt.Fprintf(s.err, "interrupted after %d seeds; what they showed:\n", r.Seeds)
	}
	return errors.Join(c.tell(lab, r, s), err)
}

func (c *simulateCmd) options(s *streams) sim.Options {
	o := sim.Options{First: c.Seed, Seeds: c.Seeds, Workers: c.Workers}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	now := clock.New()
	if c.Minutes > 0 {
		o.Over = func() bool { return now.Mono() >= time.Duration(c.Minutes)*time.Minute }
	}
	next := simulateEvery
	o.Progress = func(r sim.Result) {
		if at := now.Mono(); at >= next && !c.JSON {
			next = at + simulateEvery
			fmt.Fprintf(s.err, "%d seeds, %d runs, %d crashes, %d lost answers, %d violations, %.0f runs/s\n",
				r.Seeds, r.Runs, r.Crashes, r.LostAnswers, len(r.Violations), float64(r.Runs)/at.Seconds())
		}
	}
	return o
}

// simulateEvery is how often progress is told.
const simulateEvery = 5 * time.Second

func (c *simulateCmd) replay(lab *sim.Lab, s *streams) error {
	f, err := os.Open(c.Replay)
	if err != nil {
		return usage{fmt.Errorf("the schedule cannot be read: %w", err)}
	}
	defer f.Close()
	schedule, err := sim.ReadSchedule(f)
	if err != nil {
		return usage{fmt.Errorf("%s: %w", c.Replay, err)}
	}
	w, err := lab.Replay(*schedule, true)
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(s.out).Encode(w.Result)
	} else {
		_, err = fmt.Fprintln(s.out, w.Story)
	}
	for _, f := range w.Missed {
		fmt.Fprintf(s.err, "nobody came to this boundary: %s\n", f)
	}
	if err == nil && len(w.Result.Violations) == 0 && !c.JSON {
		fmt.Fprintf(s.out, "\n%d operation(s), %d effect(s), no rule broke.\n", w.Result.Operations, w.Result.Effects)
	}
	if err == nil && len(w.Result.Violations)+len(w.Missed) > 0 {
		return failed{}
	}
	return err
}

func (c *simulateCmd) tell(lab *sim.Lab, r sim.Result, s *streams) error {
	never := r.NeverReached()
	if c.JSON {
		if err := json.NewEncoder(s.out).Encode(r); err != nil {
			return err
		}
	} else {
		c.print(r, never, s)
	}
	if len(r.Violations) > 0 && !c.JSON {
		if err := c.explain(lab, r.Violations[0], s); err != nil {
			return err
		}
	} else if c.Seeds == 1 && !c.JSON {
		w, err := lab.Play(c.Seed, true)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "\n%s\n\nNo rule broke.\n", w.Story)
	}
	if len(r.Violations) > 0 || len(never) > 0 && c.Seeds != 1 {
		return failed{}
	}
	return nil
}

func (c *simulateCmd) print(r sim.Result, never []string, s *streams) {
	fmt.Fprintf(s.out, "%d seeds: %d runs, %d operations, %d requests sent, %d effects, %d duplicates\n", r.Seeds, r.Runs, r.Operations, r.Sends, r.Effects, r.Duplicates)
	fmt.Fprintf(s.out, "%d steps, %d crashes, %d lost answers, %d restored tables, %d decisions of people, %d about what the target could have told\n", r.Steps, r.Crashes, r.LostAnswers, r.Restores, r.Held, r.CouldTell)
	fmt.Fprint(s.out, "put to the test:")
	for _, rule := range sim.Rules() {
		fmt.Fprintf(s.out, " %s %d", rule, r.Reached[rule])
	}
	fmt.Fprintln(s.out)
	if len(never) > 0 && c.Seeds != 1 {
		fmt.Fprintf(s.out, "never put to the test: %s (play more seeds)\n", strings.Join(never, ", "))
	}
	for _, v := range r.Violations {
		fmt.Fprintf(s.out, "seed %d, after %s: %s broken: %s\n", v.Seed, v.At, v.Rule, v.What)
	}
}

// explain makes the first failing world small and tells it.
func (c *simulateCmd) explain(lab *sim.Lab, v sim.Violation, s *streams) error {
	w, err := lab.Play(v.Seed, true)
	if err != nil {
		return err
	}
	schedule := w.Schedule
	if c.Shrink {
		fmt.Fprintf(s.err, "making seed %d smaller …\n", v.Seed)
		small, broke, err := lab.Shrink(schedule, v.Rule, nil)
		if err != nil {
			return err
		}
		if broke {
			schedule = small
			if w, err = lab.Replay(schedule, true); err != nil {
				return err
			}
		}
	}
	_, err = fmt.Fprintf(s.out, "\nThe story of seed %d:\n\n%s\n\nAs a schedule (keep it in a file and play it with --replay):\n\n%s", v.Seed, w.Story, schedule.String())
	return err
}
