package target_test

import (
	"sync"
	"testing"

	"holdfast/internal/target"
	"holdfast/targets"
)

var loadShipped = sync.OnceValues(func() ([]*target.Profile, error) { return target.Load(targets.FS) })

func shipped(tb testing.TB) map[string]*target.Profile {
	tb.Helper()
	list, err := loadShipped()
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]*target.Profile{}
	for _, p := range list {
		out[p.Name] = p
	}
	return out
}

func TestShippedProfilesLoad(t *testing.T) {
	t.Parallel()
	if got := len(shipped(t)); got != 8 {
		t.Errorf("shipped profiles: %d, want 8", got)
	}
}
