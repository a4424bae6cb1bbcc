package target_test

import (
	"testing"

	"holdfast/internal/target"
)

// "Nothing found" counts only where the target documents both: how late an effect may appear, and when a lookup has
// seen everything.
func TestR03_AbsentCountsOnlyWithDelayAndCompleteness(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*target.Lookup){
		"no delay":        func(l *target.Lookup) { l.Visible = nil },
		"no completeness": func(l *target.Lookup) { l.Complete = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := *shipped(t)["generic-lookup"]
			if !p.Policy(target.Options{}).AbsentCounts {
				t.Fatal("with both of them it does not count")
			}
			l := *p.Lookup
			take(&l)
			p.Lookup = &l
			if p.Policy(target.Options{}).AbsentCounts {
				t.Error("it counts")
			}
		})
	}
}
