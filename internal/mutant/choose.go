package mutant

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Only keeps the mutants whose name a regular expression matches.
func Only(mutants []Mutant, pattern string) ([]Mutant, error) {
	shape, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	var kept []Mutant
	for _, m := range mutants {
		if shape.MatchString(m.Name) {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("--only: no mutant's name matches %s; --list shows them", pattern)
	}
	return kept, nil
}

// Alone puts one killer in the place of each mutant's own ones.
func Alone(mutants []Mutant, k Killer) {
	for i := range mutants {
		mutants[i].Killers = []Killer{k}
	}
}

// Sample takes n mutants that the seed chooses, in the order of their names. The same seed takes the same ones.
func Sample(mutants []Mutant, n int, seed uint64) []Mutant {
	rank := func(m Mutant) string {
		sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), m.Name...))
		return string(sum[:])
	}
	byChance := slices.SortedFunc(slices.Values(mutants), func(a, b Mutant) int { return strings.Compare(rank(a), rank(b)) })
	taken := byChance[:min(n, len(byChance))]
	slices.SortFunc(taken, func(a, b Mutant) int { return strings.Compare(a.Name, b.Name) })
	return taken
}
