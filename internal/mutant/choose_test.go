package mutant

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func named(n int) []Mutant {
	var all []Mutant
	for i := range n {
		all = append(all, Mutant{Name: fmt.Sprintf("R%02d-a", i)})
	}
	return all
}

func namesOf(mutants []Mutant) []string {
	var out []string
	for _, m := range mutants {
		out = append(out, m.Name)
	}
	return out
}

func TestSampleIsTheSameForOneSeed(t *testing.T) {
	t.Parallel()
	all := named(60)
	one, again, other := namesOf(Sample(all, 6, 1)), namesOf(Sample(all, 6, 1)), namesOf(Sample(all, 6, 2))
	if diff := cmp.Diff(one, again); diff != "" {
		t.Error(diff)
	}
	if slices.Equal(one, other) || len(one) != 6 || !slices.IsSorted(one) {
		t.Errorf("seed 1 takes %v, seed 2 %v", one, other)
	}
	if got := Sample(all, 100, 1); len(got) != 60 {
		t.Errorf("a sample larger than all has %d", len(got))
	}
}

// Every mutant has its turn: with enough seeds none is left out.
func TestSampleTakesEachSometimes(t *testing.T) {
	t.Parallel()
	taken := map[string]int{}
	for seed := range uint64(200) {
		for _, name := range namesOf(Sample(named(40), 6, seed)) {
			taken[name]++
		}
	}
	if len(taken) != 40 {
		t.Errorf("%d of 40 were ever taken: %v", len(taken), taken)
	}
}

func TestOnlyKeepsWhatMatches(t *testing.T) {
	t.Parallel()
	got, err := Only(named(20), "^R1[3-9]")
	if err != nil || len(got) != 7 {
		t.Errorf("got %v, %v", namesOf(got), err)
	}
	for pattern, want := range map[string]string{"nothing": "--only: no mutant's name matches nothing", "(": "--only: error parsing"} {
		if _, err := Only(named(3), pattern); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}
