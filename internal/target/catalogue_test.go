package target_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"holdfast/internal/target"
	"holdfast/targets"
)

func TestCatalogueIsTheGeneratedPage(t *testing.T) {
	t.Parallel()
	list, err := loadShipped()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", "..", "docs", "targets.md"), target.Catalogue(list))
}

// Every statement that a profile makes stands in the catalogue with its page.
func TestCatalogueShowsEveryPage(t *testing.T) {
	t.Parallel()
	list, err := loadShipped()
	if err != nil {
		t.Fatal(err)
	}
	page := target.Catalogue(list)
	for _, p := range list {
		claims := []target.Claim{p.Request.Claim}
		for _, r := range p.Answers {
			claims = append(claims, r.Claim)
		}
		if p.Lookup != nil {
			claims = append(claims, p.Lookup.Call.Claim)
		}
		for _, c := range claims {
			if !strings.Contains(page, c.String()) {
				t.Errorf("%s: %s is not on the page", p.Name, c)
			}
		}
	}
}

func schema(t *testing.T) (map[string]any, *jsonschema.Schema) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(targets.Schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("profile.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("profile.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any), compiled
}

// The editors' schema and the parser allow the same keys.
func TestSchemaAllowsWhatTheParserAllows(t *testing.T) {
	t.Parallel()
	doc, _ := schema(t)
	defs := doc["$defs"].(map[string]any)
	defs["profile"] = doc
	got, want := map[string][]string{}, map[string][]string{}
	for name, def := range defs {
		if properties, ok := def.(map[string]any)["properties"].(map[string]any); ok {
			got[name] = slices.Sorted(maps.Keys(properties))
			want[name] = slices.Sorted(slices.Values(target.KeysOf(name)))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 20 {
		t.Errorf("%d kinds (-parser +schema):\n%s", len(got), diff)
	}
}

func TestShippedProfilesFitTheSchema(t *testing.T) {
	t.Parallel()
	_, compiled := schema(t)
	names, err := filepath.Glob("../../targets/*.yaml")
	if err != nil || len(names) != 8 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		if err := compiled.Validate(asJSON(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := compiled.Validate(map[string]any{"profile": "x", "colour": "red"}); err == nil {
		t.Error("the schema takes anything")
	}
}

func asJSON(t *testing.T, file string) any {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(src), "checked: 2026-11-29", "checked: '2026-11-29'")), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
