package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/internal/clock"
)

// Verdict is what became of a mutant. The zero value survived: whoever forgets to look has killed nothing.
type Verdict uint8

// The verdicts.
const (
	Survived Verdict = iota // every killer stayed green
	Killed                  // a killer turned red
	Broken                  // nothing was shown: it does not compile, or a killer ran nothing
)

// String names the verdict.
func (v Verdict) String() string { return [...]string{"survived", "killed", "broken"}[v] }

// MarshalText names the verdict in JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Result is what became of one mutant.
type Result struct {
	Mutant  *Mutant
	Verdict Verdict
	By      []string // the tests that failed, or the simulation's words
	Killer  string   // the killer that turned red or broke
	Timeout bool     // the killer did not end in its time
	Detail  string   // why nothing was shown, or what the simulation saw
	Took    time.Duration
}

// Runner lays mutants over the tree one at a time. Its fields are set once.
type Runner struct {
	Root    string // the project's
	Command Command
	Clock   clock.Clock
	Jobs    int           // mutants at the same time, at least 1
	Limit   time.Duration // of one killer's tests; a mutant that makes them hang counts as killed
	Done    func(Result)  // told of each as it ends, one at a time; may be nil
}

const (
	// LimitDefault is the time one killer's tests may take.
	LimitDefault = 2 * time.Minute
	// buildMost is what building may add to that.
	buildMost = 8 * time.Minute
)

// seen is what one killer showed.
type seen struct {
	red     bool
	by      []string
	timeout bool
	broken  string
	detail  string
}

// Control runs the killers on the unchanged tree. All must be green, else no mutant's death would mean anything.
func (r *Runner) Control(ctx context.Context, mutants []Mutant) error {
	temp, err := os.MkdirTemp("", "mutants-control-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, k := range together(mutants) {
		s, err := r.ask(ctx, k, "", temp)
		switch {
		case err != nil:
			return fmt.Errorf("control, %s: %w", k, err)
		case s.broken != "":
			return fmt.Errorf("control, %s: %s", k, s.broken)
		case s.red:
			return fmt.Errorf("control: the unchanged tree fails %s: mend it first", strings.Join(s.by, ", "))
		}
	}
	return nil
}

// together joins the killers of all mutants: one for each package, and the longest simulation.
func together(mutants []Mutant) []Killer {
	tests, long := map[string][]string{}, Killer{}
	for i := range mutants {
		for _, k := range mutants[i].Killers {
			tests[k.Package] = append(tests[k.Package], k.Tests...)
			if k.Seeds > long.Seeds {
				long = k
			}
		}
	}
	delete(tests, "")
	var all []Killer
	for p, names := range tests {
		slices.Sort(names)
		all = append(all, Killer{Package: p, Tests: slices.Compact(names)})
	}
	slices.SortFunc(all, func(a, b Killer) int { return strings.Compare(a.Package, b.Package) })
	if long.Seeds > 0 {
		all = append(all, long)
	}
	return all
}

// Run tries each mutant. The results are in the mutants' order. It ends early only with ctx.
func (r *Runner) Run(ctx context.Context, mutants []Mutant) ([]Result, error) {
	results := make([]Result, len(mutants))
	errs := make([]error, len(mutants))
	next := make(chan int)
	var workers sync.WaitGroup
	var telling sync.Mutex
	for range max(r.Jobs, 1) {
		workers.Go(func() {
			for i := range next {
				results[i], errs[i] = r.one(ctx, &mutants[i])
				if r.Done != nil && errs[i] == nil {
					telling.Lock()
					r.Done(results[i])
					telling.Unlock()
				}
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	workers.Wait()
	return results, errors.Join(errs...)
}

func (r *Runner) one(ctx context.Context, m *Mutant) (Result, error) {
	out := Result{Mutant: m}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	start := r.Clock.Mono()
	temp, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(temp)
	flags, err := r.overlay(m, temp)
	if err != nil {
		return out, err
	}
	err = r.try(ctx, m, flags, temp, &out)
	out.Took = r.Clock.Mono() - start
	return out, err
}

// try asks one killer after the other until one turns red.
func (r *Runner) try(ctx context.Context, m *Mutant, flags, temp string, out *Result) error {
	for _, k := range m.Killers {
		s, err := r.ask(ctx, k, flags, temp)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", m.Name, k, err)
		}
		out.By, out.Timeout, out.Detail = s.by, s.timeout, s.broken+s.detail
		switch {
		case s.broken != "":
			out.Verdict, out.Killer = Broken, k.String()
			return nil
		case s.red:
			out.Verdict, out.Killer = Killed, k.String()
			return nil
		}
	}
	return nil
}

// overlay writes the changed files beside the tree, and gives the flag that says so to the go command.
func (r *Runner) overlay(m *Mutant, temp string) (string, error) {
	changed, err := m.Changed(r.Root)
	if err != nil {
		return "", err
	}
	replace, n := map[string]string{}, 0
	for file, text := range changed {
		n++
		at := filepath.Join(temp, strconv.Itoa(n)+"-"+filepath.Base(file))
		if err := os.WriteFile(at, text, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(r.Root, filepath.FromSlash(file))] = at
	}
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(temp, "overlay.json")
	return "-overlay=" + list, os.WriteFile(list, doc, 0o600)
}

// ask runs one killer. No flags mean the unchanged tree.
func (r *Runner) ask(ctx context.Context, k Killer, flags, temp string) (seen, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit+buildMost)
	defer cancel()
	if k.Package == "" {
		return r.simulate(ctx, k, flags, temp)
	}
	run := "^(" + strings.Join(k.Tests, "|") + ")$"
	out, err := r.Command(ctx, Call{r.Root, flags, []string{"go", "test", "-json", "-vet=off", "-failfast", "-timeout", r.Limit.String(), "-run", run, "./" + k.Package}})
	if err != nil {
		return seen{}, err
	}
	t := readTests(out)
	s := seen{red: t.red(), by: t.failed, timeout: t.timedOut, broken: t.broken}
	if s.red && len(s.by) == 0 {
		s.by = []string{k.Package + " (the whole test program ended)"}
	}
	return s, nil
}
