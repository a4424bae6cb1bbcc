package mutant

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/clock"
)

// Exit codes.
const (
	ExitKilled   = 0 // every mutant was killed
	ExitSurvived = 1
	ExitBroken   = 2 // a mutant or the control shows nothing, or the call was wrong
)

// Folder is where the mutants stand, from the root.
const Folder = "internal/mutant/mutants"

// Tool is the command around the runner. Its fields are set once.
type Tool struct {
	Root           string // the project's
	Command        Command
	Clock          clock.Clock
	Stdout, Stderr io.Writer
}

type options struct {
	only                 string
	sample, jobs         int
	simulate             int
	seed                 uint64
	list, json, markdown bool
	limit                time.Duration
}

// Main is the whole command: what args ask for, then an exit code.
func (t *Tool) Main(ctx context.Context, args []string) int {
	o, err := t.options(args)
	if errors.Is(err, flag.ErrHelp) {
		return ExitKilled
	}
	if err != nil {
		return ExitBroken // the flag package has said why
	}
	code, err := t.run(ctx, o)
	if err != nil {
		fmt.Fprintln(t.Stderr, err)
		return ExitBroken
	}
	return code
}

func (t *Tool) options(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.SetOutput(t.Stderr)
	f.StringVar(&o.only, "only", "", "try only mutants whose name this regular expression matches")
	f.IntVar(&o.sample, "sample", 0, "try this many, chosen by --seed; 0 tries all")
	f.Uint64Var(&o.seed, "seed", 0, "which sample is taken, 0 takes one by the clock and prints it; with --simulate also the first seed")
	f.IntVar(&o.simulate, "simulate", 0, "ask the simulation alone, with this many seeds, in place of each mutant's own killers")
	f.IntVar(&o.jobs, "jobs", 1, "mutants at the same time")
	f.DurationVar(&o.limit, "limit", LimitDefault, "time for one killer's tests")
	f.BoolVar(&o.list, "list", false, "list the mutants and try none")
	f.BoolVar(&o.json, "json", false, "write JSON")
	f.BoolVar(&o.markdown, "markdown", false, "write the table of docs/proof.md")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.sample < 0 || o.simulate < 0 || o.jobs < 1 || o.limit <= 0 {
		fmt.Fprintln(t.Stderr, "mutants takes only flags, and numbers above 0; see --help")
		return o, errors.New("wrong call")
	}
	return o, nil
}

func (t *Tool) run(ctx context.Context, o options) (int, error) {
	mutants, err := Load(filepath.Join(t.Root, filepath.FromSlash(Folder)))
	if err != nil {
		return ExitBroken, err
	}
	if mutants, err = Only(mutants, o.only); err != nil {
		return ExitBroken, err
	}
	if o.sample > 0 {
		mutants = t.sample(mutants, o)
	}
	if err := Check(t.Root, mutants); err != nil {
		return ExitBroken, err
	}
	if o.simulate > 0 {
		Alone(mutants, Killer{Seeds: o.simulate, First: o.seed})
	}
	if o.list {
		return ExitKilled, WriteList(t.Stdout, mutants)
	}
	results, err := t.try(ctx, mutants, o)
	if err != nil {
		return ExitBroken, err
	}
	return exitOf(results), t.write(results, o)
}

func (t *Tool) sample(mutants []Mutant, o options) []Mutant {
	if o.seed == 0 {
		o.seed = uint64(t.Clock.Now().UnixNano())
	}
	fmt.Fprintf(t.Stderr, "a sample of %d; the same again: --sample %d --seed %d\n", o.sample, o.sample, o.seed)
	return Sample(mutants, o.sample, o.seed)
}

func (t *Tool) try(ctx context.Context, mutants []Mutant, o options) ([]Result, error) {
	r := &Runner{Root: t.Root, Command: t.Command, Clock: t.Clock, Jobs: o.jobs, Limit: o.limit}
	fmt.Fprintf(t.Stderr, "control: the killers of %d mutants on the unchanged tree\n", len(mutants))
	if err := r.Control(ctx, mutants); err != nil {
		return nil, err
	}
	n := 0
	r.Done = func(res Result) {
		n++
		fmt.Fprintf(t.Stderr, "%d/%d %s: %s (%.1f s)\n", n, len(mutants), res.Mutant.Name, res.by(), res.Took.Seconds())
		if res.Verdict == Broken {
			fmt.Fprintln(t.Stderr, res.Detail)
		}
	}
	return r.Run(ctx, mutants)
}

func (t *Tool) write(results []Result, o options) error {
	switch {
	case o.json:
		return WriteJSON(t.Stdout, results)
	case o.markdown:
		return WriteMarkdown(t.Stdout, results)
	}
	return WriteTable(t.Stdout, results)
}

// exitOf: a broken mutant weighs more than one that survived, since it says nothing.
func exitOf(results []Result) int {
	code := ExitKilled
	for i := range results {
		switch results[i].Verdict {
		case Broken:
			return ExitBroken
		case Survived:
			code = ExitSurvived
		}
	}
	return code
}

// FindRoot is the folder of go.mod, from a folder inside the project upwards.
func FindRoot(from string) (string, error) {
	at, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", fmt.Errorf("no go.mod from %s upwards: call it inside the project", from)
		}
		at = up
	}
}
