package flow_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/flow"
	"holdfast/internal/fuzztest"
)

// fileBound is what reading one file may allocate, in bytes. A file is read again from the start for each line, up to
// the bound of package syntax, when it is not YAML.
var fileBound = fuzztest.Bound{Base: 512 << 20, PerByte: 8 << 10}

// Any bytes as a flow file: understood whole or refused with places inside of the file, twice the same; what is
// understood pins to a plan that is read back as it was written.
//
//fuzz:slow
func FuzzFile(f *testing.F) {
	names, err := filepath.Glob("../../flows/*.yaml")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, seed := range []string{
		smallest, "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nstages: *c\n", "stages: &s [*s]\n", "<<: {flow: x}\n", "stages:\n  - <<: [*x]\n",
		"flow: ! a\nversion: 0x10\n", "version: 1_000\n", "version: 1e3\nowner: [a]\n", strings.Replace(smallest, "3d", "00000000000000000003d", 1),
		strings.Replace(smallest, "{}", strings.Repeat("{ a: ", 20)+"1"+strings.Repeat(" }", 20), 1), strings.Replace(smallest, "content: {}", "content: { n: .inf, o: .nan, p: -0.0, q: 0o17, r: 2026-11-29 }", 1),
		strings.Replace(smallest, "key: [body.id]", "key: ['body[\"e-mail\"]', \"\\u2028\"]", 1), "\ufeff" + smallest, strings.ReplaceAll(smallest, "\n", "\r\n"), "a: [\n" + strings.Repeat("[a],\n", 200),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Bounded(t, fileBound, len(data), func() { file(t, data) })
	})
}

func file(t *testing.T, data []byte) {
	t.Helper()
	one, findings := flow.Parse("x.yaml", data)
	if two, again := flow.Parse("x.yaml", data); cmp.Diff(one, two) != "" || cmp.Diff(findings, again) != "" {
		t.Fatal("the same file read twice is not the same")
	}
	lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + strings.Count(string(data), "\u2028") + strings.Count(string(data), "\u2029") + strings.Count(string(data), "\u0085") + 1
	for _, found := range findings {
		if found.File != "x.yaml" || found.Line < 1 || found.Line > lines+1 || found.Column < 1 || found.Column > len(data)+2 || found.Message == "" {
			t.Fatalf("%+v in a file of %d lines", found, lines)
		}
	}
	if len(findings.Error()) > 600*len(data)+4<<10 {
		t.Fatalf("%d bytes of findings", len(findings.Error()))
	}
	read, _, err := flow.Read(fstest.MapFS{"x.yaml": {Data: data}})
	if err != nil || len(read) > 1 || (findings.Err() == nil) != (len(read) == 1) {
		t.Fatalf("%d files: %v", len(read), err)
	}
	if findings.Err() == nil {
		pins(t, one)
	}
}

func pins(t *testing.T, one flow.File) {
	t.Helper()
	pinned := flow.Pin(one)
	written, err := json.Marshal(pinned)
	if err != nil {
		t.Fatal(err)
	}
	var back flow.PinnedPlan
	if err := json.Unmarshal(written, &back); err != nil || cmp.Diff(pinned, back) != "" {
		t.Fatalf("%s: %v\n%s", written, err, cmp.Diff(pinned, back))
	}
	for _, s := range one.Stages {
		if shape := flow.KeyShape(s); shape != flow.KeyShape(s) || len(s.Key) > 0 && shape == "" {
			t.Fatalf("the shape of a key: %q", shape)
		}
		if ok, problem := one.Referable(s.Name, s.Name); ok || problem == "" {
			t.Fatalf("%s may use its own reference", s.Name)
		}
	}
}

// A duration is read as it is written, within its bounds.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"3d", "1d12h", "90m", "59s", "999d9999h999999m99999999s", "0d1m", "1h1h", "-1h", "1.5h", "", "１h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := flow.ParseDuration(text)
		if err != nil {
			return
		}
		if again, err := flow.ParseDuration(d.String()); err != nil || again != d || d < flow.DurationMin || d > flow.DurationMax {
			t.Fatalf("%q is %s, and that is %s: %v", text, d, again, err)
		}
	})
}
