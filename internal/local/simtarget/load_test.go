package simtarget_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local/simtarget"
	"holdfast/targets/sim"
)

func TestShippedFilesLoad(t *testing.T) {
	t.Parallel()
	specs, err := simtarget.Load(sim.FS)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Target)
	}
	want := []string{"generic-key", "generic-lookup", "generic-natural", "generic-none", "generic-stored-error", "hubspot", "resend", "shopify-admin"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func TestFaultsInFilesNameLineAndRemedy(t *testing.T) {
	t.Parallel()
	good, err := sim.FS.ReadFile("generic-natural.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, from, to, want string }{
		{"unknown field", "    method: PUT", "    verb: PUT", `generic-natural.yaml:20: unknown field "verb"; allowed: name, method, path`},
		{"missing field", "    method: PUT\n", "", `generic-natural.yaml:19: field "method" is missing`},
		{"repeated field", "    method: PUT\n", "    method: PUT\n    method: PUT\n", `field "method" stands here twice`},
		{"fact without grade", `"[made] consistent with the write"`, `"consistent"`, "a fact starts with its grade"},
		{"fact without page", `"[made] consistent with the write"`, `"[A] consistent"`, "names its page"},
		{"unknown expression", "'${path:our}'\n      natural", "'${paht:our}'\n      natural", "generic-natural.yaml:26: unknown expression ${paht:our}; allowed: id, new"},
		{"unknown collection", "in: effects\n", "in: effect\n", `generic-natural.yaml:19: route "put": unknown collection "effect"; known: effects`},
		{"unknown again", "again: same", "again: maybe", `again is "maybe"; allowed: update, same, conflict`},
		{"conflict without answer", "again: same", "again: conflict", "natural needs a conflict answer"},
		{"other file name", "target: generic-natural", "target: other", "the file has to be other.yaml"},
		{"two routes of one name", "name: read", "name: put", `route "put" stands here twice`},
		{"list expected", "routes:\n", "routes: {}\nroutesx:\n", "expected a list"},
		{"not YAML", "target: generic-natural", "target: [", "generic-natural.yaml:2: this is not YAML"},
		{"value of another type", "status: 404", "status: none", "generic-natural.yaml:5: cannot unmarshal"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(string(good), c.from, c.to, 1)
			if bad == string(good) {
				t.Fatal("the case changes nothing")
			}
			_, err := simtarget.Load(fstest.MapFS{"generic-natural.yaml": {Data: []byte(bad)}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant it to contain %q", err, c.want)
			}
		})
	}
}

func TestLoadRefusesAnEmptyFolder(t *testing.T) {
	t.Parallel()
	if _, err := simtarget.Load(fstest.MapFS{}); err == nil {
		t.Error("an empty folder loaded")
	}
}
