package flow_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"holdfast/flows"
	"holdfast/internal/flow"
)

// Each script is a table of files. The schema that editors use must accept and refuse the same files, except
// where a case says `beyond-schema`: what holds between two parts of a file, no schema can say.
func TestParseScripts(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			file, findings := flow.Parse("flows/x.yaml", []byte(d.Input))
			accepted := findings.Err() == nil
			if !d.HasArg("beyond-schema") {
				if got := schemaAccepts(schema, d.Input); got != accepted {
					t.Errorf("%s: parser accepts: %v, schema accepts: %v", d.Pos, accepted, got)
				}
			}
			return answer(file, findings)
		})
	})
}

func answer(file flow.File, findings flow.Findings) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintln(&b, f.Error())
	}
	if findings.Err() == nil {
		plan, err := json.Marshal(flow.Pin(file))
		fmt.Fprintf(&b, "ok %s %v\n", plan, err)
	}
	return b.String()
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := flows.FS.ReadFile("flow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("flow.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("flow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func schemaAccepts(schema *jsonschema.Schema, text string) bool {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return false
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		return false
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	return err == nil && schema.Validate(doc) == nil
}

func TestShippedFlowsFitTheSchema(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	files, err := flow.Load(flows.FS)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 4 {
		t.Fatalf("%d flows are shipped, want at least 4", len(files))
	}
	for _, f := range files {
		text, err := flows.FS.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if !schemaAccepts(schema, string(text)) {
			t.Errorf("%s: the schema refuses it", f.Path)
		}
	}
}
