package sim

import (
	"slices"
	"strings"
	"testing"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// lie makes a lab in which one profile promises what its target does not do.
func lie(t *testing.T, name string, change func(*target.Profile)) *Lab {
	t.Helper()
	l := lab(t)
	i := slices.IndexFunc(l.profiles, func(p *target.Profile) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no profile %s", name)
	}
	other := *l.profiles[i]
	change(&other)
	l.profiles[i] = &other
	return l
}

// A profile that claims a protection which its target lacks makes second effects. The simulation finds one, makes its
// schedule small, and the small schedule breaks the same rule when it is read back.
func TestFindsAndShrinks(t *testing.T) {
	t.Parallel()
	l := lie(t, "generic-none", func(p *target.Profile) {
		p.Protection.Kind, p.Recovery.Order, p.Recovery.Replays = operation.ProtectionNatural, operation.OrderReplay, 6
	})
	var found *World
	for seed := uint64(1); seed <= 300 && found == nil; seed++ {
		w, err := l.Play(seed, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Result.Violations) > 0 {
			found = &w
		}
	}
	if found == nil {
		t.Fatal("300 seeds, and nothing was found")
	}
	v := found.Result.Violations[0]
	if v.Rule != "R3" {
		t.Fatalf("%s was broken (%s); want R3", v.Rule, v.What)
	}
	small, broke, err := l.Shrink(found.Schedule, v.Rule, nil)
	if err != nil || !broke {
		t.Fatalf("the seed's own schedule breaks nothing: %v", err)
	}
	if len(small.Faults) > 4 || len(small.Events) != 1 {
		t.Errorf("the smallest schedule found is\n%s", small.String())
	}
	read, err := ReadSchedule(strings.NewReader(small.String()))
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.Replay(*read, false)
	if err != nil || len(again.Result.Violations) == 0 {
		t.Errorf("read back it breaks nothing: %v", err)
	}
}

// The ledger behind the AWS SDK's client comes to the same ends as the one in memory.
func TestEveryStore(t *testing.T) {
	t.Parallel()
	for _, s := range []Store{StoreSDK, StoreFile} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			l := lab(t)
			l.Store = s
			for seed := uint64(1); seed <= 15; seed++ {
				w, err := l.Play(seed, false)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range w.Result.Violations {
					t.Errorf("seed %d: %s: %s", v.Seed, v.Rule, v.What)
				}
			}
		})
	}
}
