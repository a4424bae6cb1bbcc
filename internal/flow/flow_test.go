package flow_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/flow"
)

const smallest = `flow: greet
version: 1
owner: ops@example.com
trigger: { source: shop, topic: [orders/paid, orders/create] }
approval: none
send_within: 3d
stages:
  - { name: task, key: [body.id], target: crm, content: {} }
`

// The webhook links this package. It must stay free of the expression language.
func TestImportsStaySmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"go.yaml.in/yaml/v3", "holdfast/internal/operation", "holdfast/internal/syntax"}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if strings.Contains(path, ".") || strings.HasPrefix(path, "holdfast/") || strings.Contains(path, "template") {
				if !slices.Contains(allowed, path) {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}

// R13: every mistake of every file is told, and nothing is half loaded.
func TestR13_LoadTellsEveryMistakeOfEveryFile(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{
		"a.yaml": {Data: []byte(strings.Replace(smallest, "3d", "soon", 1))},
		"b.yaml": {Data: []byte(smallest)},
		"c.yaml": {Data: []byte(smallest)},
		"d.yaml": {Data: []byte(strings.Repeat("#", flow.FileBytesMax+1))},
		"e.yml":  {Data: []byte(smallest)},
	}
	files, err := flow.Load(dir)
	if files != nil {
		t.Errorf("%d files are loaded in spite of mistakes", len(files))
	}
	want := "a.yaml:6:14: `send_within`: \"soon\" is not a duration; write whole numbers with d, h, m or s, such as 3d, 20h or 1h30m\n" +
		"c.yaml:1:1: the flow greet is already in b.yaml; a flow's name is permanent and its own\n" +
		"d.yaml:1:1: the file is longer than 65536 bytes; make it shorter or split the flow"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	_, findings, err := flow.Read(dir)
	if err != nil || len(findings.Warnings()) != 1 || findings.Warnings()[0].File != "e.yml" {
		t.Errorf("error %v, warnings %v", err, findings.Warnings())
	}
}

type broken struct{ fstest.MapFS }

func (broken) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

func TestLoadSaysWhenAFileCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := flow.Load(broken{fstest.MapFS{"a.yaml": {Data: []byte(smallest)}}})
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error is %v", err)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	b, _ := flow.Parse("b.yaml", []byte(smallest))
	a, _ := flow.Parse("a.yaml", []byte(strings.Replace(smallest, "greet", "also", 1)))
	for _, c := range []struct {
		source, topic string
		want          []string
	}{
		{"shop", "orders/paid", []string{"also", "greet"}},
		{"shop", "orders/create", []string{"also", "greet"}},
		{"shop", "orders", nil},
		{"Shop", "orders/paid", nil},
		{"", "", nil},
	} {
		if diff := cmp.Diff(c.want, flow.Match([]flow.File{b, a}, c.source, c.topic)); diff != "" {
			t.Errorf("%s %s: %s", c.source, c.topic, diff)
		}
	}
}

func TestKeyShape(t *testing.T) {
	t.Parallel()
	shape := func(key ...string) string {
		var s flow.Stage
		for _, k := range key {
			s.Key = append(s.Key, flow.Text{Value: k})
		}
		return flow.KeyShape(s)
	}
	same := [][2]string{
		{"body.a", "  body.a "},
		{"f( body.a , 'x y' )", "f(body.a,'x y')"},
		{"body.a + body.b", "body.a+body.b"},
		{"a  in\tb", "a in b"},
	}
	for _, c := range same {
		if shape(c[0]) != shape(c[1]) {
			t.Errorf("%q and %q have other shapes: %s %s", c[0], c[1], shape(c[0]), shape(c[1]))
		}
	}
	other := [][2]string{
		{"body.a", "body.b"},
		{"'x y'", "'xy'"},
		{"'x  y'", "'x y'"},
		{"a in b", "ainb"},
		{"a - -1", "a--1"},
		{`"\" a"`, `"\"a"`},
		{`r'\' + 'a  b'`, `r'\' + 'a b'`},
	}
	for _, c := range other {
		if shape(c[0]) == shape(c[1]) {
			t.Errorf("%q and %q have the shape %s", c[0], c[1], shape(c[0]))
		}
	}
	if shape("a", "b") == shape("a,b") || shape("a", "b") == shape("b", "a") {
		t.Error("parts or their order do not count")
	}
}

func TestDurationsReadWhatTheyWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(60, 365*24*3600).Draw(t, "seconds")
		d := flow.Duration(seconds * 1e9)
		got, err := flow.ParseDuration(d.String())
		if err != nil || got != d {
			t.Fatalf("%s became %s, %v", d, got, err)
		}
	})
}

// A pinned plan is read by later versions of the handlers; its written form stays.
func TestPinnedPlanKeepsItsForm(t *testing.T) {
	t.Parallel()
	file, findings := flow.Parse("x.yaml", []byte(smallest))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	pinned := flow.Pin(file)
	pinned.Stages[0].Operation, pinned.Stages[0].Profile = "op_1", 4
	written, err := json.Marshal(pinned)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"flow":"greet","version":1,"owner":"ops@example.com","standing":true,"send_within":"3d","stages":[{"name":"task","operation":"op_1","target":"crm","profile":4,"on_failed":"stop","key_shape":"[\"body.id\"]"}]}`
	if diff := cmp.Diff(want, string(written)); diff != "" {
		t.Error(diff)
	}
	var read flow.PinnedPlan
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pinned, read); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(smallest))
	f.Add([]byte("a: &x [*x]"))
	f.Add([]byte("stages: [{after: {stage: a, when: settled}}]"))
	f.Add([]byte("? [a]\n: {b: !!binary aGk=}\n--- 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, findings := flow.Parse("x.yaml", data)
		for _, one := range findings {
			if one.Line < 1 || one.Column < 1 || one.Message == "" {
				t.Errorf("a finding says not where or what: %+v", one)
			}
		}
		if findings.Err() == nil && (file.Name == "" || len(file.Stages) == 0 || (!file.Approval.Standing && len(file.Approval.Reviewers) == 0)) {
			t.Errorf("accepted without a name, stages or reviewers: %+v", file)
		}
	})
}

func TestATriggerWaitsForAKnownSource(t *testing.T) {
	t.Parallel()
	one, findings := flow.Parse("flows/greet.yaml", []byte(smallest))
	if findings != nil {
		t.Fatal(findings)
	}
	if got := flow.CheckSources([]flow.File{one}, []string{"shop", "other"}); got != nil {
		t.Errorf("a known source is refused: %v", got)
	}
	got := flow.CheckSources([]flow.File{one}, []string{"standard", "shopify"})
	want := "flows/greet.yaml:4:20: there is no source shop, so nothing would ever start this flow (allowed: shopify, standard)"
	if got.Error() != want {
		t.Errorf("got %s\nwant %s", got.Error(), want)
	}
}
