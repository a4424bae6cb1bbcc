package acceptance_test

import (
	"testing"

	"holdfast/flows"
	"holdfast/internal/acceptance"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

func TestCampaign(t *testing.T) {
	r, err := acceptance.Run(t.Context(), acceptance.Options{Flow: "campaign-follow-up", Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cases {
		t.Logf("%d %s passed=%v effects=%v dup=%d tr=%d next=%s owner=%s", c.N, c.Name, c.Passed, c.Effects, c.Duplicates, c.Transitions, c.Next, c.Owner)
		for _, k := range c.Checks {
			t.Logf("   %v %s", k.OK, k.Text)
		}
		t.Log(c.Notes)
	}
}
