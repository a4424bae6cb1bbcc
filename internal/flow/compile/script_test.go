package compile_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cockroachdb/datadriven"

	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/operation"
)

// profiles are the targets' contents that the scripts and the shipped flows are held against.
type profiles map[string]map[string]compile.FieldRule

func (p profiles) Names() []string {
	var names []string
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p profiles) Content(profile string) (map[string]compile.FieldRule, bool) {
	fields, ok := p[profile]
	return fields, ok
}

func testTargets() profiles {
	text := compile.FieldRule{Type: compile.FieldString}
	needed := compile.FieldRule{Type: compile.FieldString, Required: true}
	return profiles{
		"hubspot-task":          {"subject": {Type: compile.FieldString, Required: true, Max: 60}, "body": text, "due": text},
		"hubspot-task-contact":  {"task": needed, "contact_id": needed},
		"resend-email":          {"from": needed, "to": needed, "subject": needed, "html": text, "text": text},
		"shopify-discount-code": {"code": needed, "title": needed, "percentage": {Type: compile.FieldNumber, Required: true}, "starts_at": needed},
		"generic-key":           {"effect": {Type: compile.FieldObject, Required: true}},
		"generic-lookup":        {"effect": {Type: compile.FieldObject, Required: true}},
		"anything": {"s": text, "n": {Type: compile.FieldNumber}, "i": {Type: compile.FieldInteger}, "b": {Type: compile.FieldBoolean},
			"o": {Type: compile.FieldObject}, "l": {Type: compile.FieldStrings, Max: 10}},
	}
}

func hole(stage string) string { return "<<reference of " + stage + ">>" }

// In a script, `flow` gives a flow file, and each `plan` after it gives an event's body.
func TestPlanScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		var compiled *compile.Flow
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "flow" {
				file, findings := flow.Parse("flows/x.yaml", []byte(d.Input))
				if err := findings.Err(); err != nil {
					return err.Error()
				}
				f, err := compile.Compile(file, testTargets())
				if err != nil {
					return err.Error()
				}
				compiled = f
				return "ok"
			}
			planned, err := compiled.Plan(scriptInput(t, d))
			if err != nil {
				return "error: " + err.Error()
			}
			return show(planned)
		})
	})
}

func scriptInput(t *testing.T, d *datadriven.TestData) compile.Input {
	in := compile.Input{Body: []byte(d.Input), HoleReference: hole}
	in.Event = compile.Event{ID: "ev_1", Source: "shop", Account: "shop-1", Topic: "orders/paid"}
	var occurred string
	d.MaybeScanArgs(t, "account", &in.Event.Account)
	d.MaybeScanArgs(t, "topic", &in.Event.Topic)
	d.MaybeScanArgs(t, "occurred", &occurred)
	at, err := operation.ParseTime(occurred)
	if err != nil {
		t.Fatal(err)
	}
	in.Event.Occurred = at
	return in
}

func show(p compile.Planned) string {
	var b strings.Builder
	fmt.Fprint(&b, p.Outcome)
	if p.Reason != "" {
		fmt.Fprintf(&b, " %s", p.Reason)
	}
	if p.Outcome == compile.OutcomeHeld || p.Outcome == compile.OutcomeRejected {
		fmt.Fprintf(&b, "; fields %v; owner %s", p.Fields(), p.Owner)
	}
	fmt.Fprintln(&b)
	for _, one := range p.Problems {
		fmt.Fprintf(&b, "  %s:%d:%d %s: %s\n", one.File, one.At.Line, one.At.Column, one.Reason, one.Detail)
	}
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "stage %s → %s", s.Name, s.Target)
		if s.After != "" {
			fmt.Fprintf(&b, " after %s (settled: %v)", s.After, s.AfterSettled)
		}
		for _, k := range s.Key {
			fmt.Fprintf(&b, "\n  key %s = %T %v", k.Name, k.Value, k.Value)
		}
		content, _ := json.Marshal(s.Content)
		fmt.Fprintf(&b, "\n  content %s\n", content)
	}
	return b.String()
}

// In these scripts each case is a file that parses; the findings are the answer.
func TestValidateScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/validate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			dir := fstest.MapFS{"x.yaml": {Data: []byte(d.Input)}}
			findings, err := compile.Validate(dir, testTargets())
			if err != nil {
				return err.Error()
			}
			if len(findings) == 0 {
				return "ok"
			}
			return findings.Error()
		})
	})
}
