package structure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/samtemplate"
	"holdfast/statemachine"
)

const (
	functionType = "AWS::Serverless::Function"
	machineID    = "RunStateMachine"
	tableID      = "Ledger"
)

func read(t *testing.T) *samtemplate.Template {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := samtemplate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// at walks into a value by names and reads a text there; empty when there is none.
func at(v any, path ...string) string {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, ok := v.([]any)
	if !ok && v != nil {
		return []any{v}
	}
	return l
}

// TestDoors: these are all the ways in from outside.
func TestDoors(t *testing.T) {
	t.Parallel()
	got, err := read(t).Routes()
	if err != nil {
		t.Fatal(err)
	}
	want := []samtemplate.Route{
		{Method: "POST", Path: "/hooks/{source}", Function: "WebhookFunction"},
		{Method: "GET", Path: "/review/{link}", Function: "ReviewFunction"},
		{Method: "POST", Path: "/review/{link}", Function: "ReviewFunction"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheDeployedTableIsTheLedgers: the template declares what internal/ledger makes.
func TestTheDeployedTableIsTheLedgers(t *testing.T) {
	t.Parallel()
	r := read(t).Resources[tableID]
	if diff := cmp.Diff(ledgerShape(), templateShape(r.Properties)); diff != "" {
		t.Errorf("internal/ledger (-) and template.yaml (+):\n%s", diff)
	}
	if at(r.Attributes, "DeletionPolicy") != "Retain" || at(r.Attributes, "UpdateReplacePolicy") != "Retain" {
		t.Error("deleting or replacing the stack would delete the ledger")
	}
}

type shape struct{ Key, Index, Attributes, Settings []string }

func ledgerShape() shape {
	in := ledger.TableInput("any")
	s := shape{Key: elements(in.KeySchema), Settings: []string{
		"BillingMode " + string(in.BillingMode), "TTL " + ledger.TTLAttribute + " true", "PITR true", "DeletionProtection true"}}
	for _, a := range in.AttributeDefinitions {
		s.Attributes = append(s.Attributes, *a.AttributeName+" "+string(a.AttributeType))
	}
	for _, g := range in.GlobalSecondaryIndexes {
		s.Index = append(append(s.Index, *g.IndexName, string(g.Projection.ProjectionType)), elements(g.KeySchema)...)
	}
	slices.Sort(s.Attributes)
	return s
}

func elements(keys []types.KeySchemaElement) []string {
	var all []string
	for _, k := range keys {
		all = append(all, *k.AttributeName+" "+string(k.KeyType))
	}
	return all
}

func templateShape(p map[string]any) shape {
	s := shape{Key: pairs(p["KeySchema"], "KeyType"), Attributes: pairs(p["AttributeDefinitions"], "AttributeType"), Settings: []string{
		"BillingMode " + at(p, "BillingMode"),
		"TTL " + at(p, "TimeToLiveSpecification", "AttributeName") + " " + at(p, "TimeToLiveSpecification", "Enabled"),
		"PITR " + at(p, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"),
		"DeletionProtection " + at(p, "DeletionProtectionEnabled"),
	}}
	for _, g := range list(p["GlobalSecondaryIndexes"]) {
		s.Index = append(append(s.Index, at(g, "IndexName"), at(g, "Projection", "ProjectionType")), pairs(g.(map[string]any)["KeySchema"], "KeyType")...)
	}
	slices.Sort(s.Attributes)
	return s
}

func pairs(v any, second string) []string {
	var all []string
	for _, e := range list(v) {
		all = append(all, at(e, "AttributeName")+" "+at(e, second))
	}
	return all
}

// TestEveryFunctionKnowsItsOwnLimit: the lease is made from it, so a wrong one would let a lease end before its owner.
func TestEveryFunctionKnowsItsOwnLimit(t *testing.T) {
	t.Parallel()
	functions, err := read(t).Functions()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range functions {
		if got := f.Environment["HOLDFAST_FUNCTION_TIMEOUT_S"]; got != strconv.Itoa(f.TimeoutS) {
			t.Errorf("%s: Timeout is %d, HOLDFAST_FUNCTION_TIMEOUT_S %v", f.ID, f.TimeoutS, got)
		}
	}
}

// TestTheMachineOutwaitsItsFunctions: a state that gives up before its function is killed would act beside it.
func TestTheMachineOutwaitsItsFunctions(t *testing.T) {
	t.Parallel()
	parsed := read(t)
	functions, err := parsed.Functions()
	if err != nil {
		t.Fatal(err)
	}
	limits, resources := map[string]int{}, map[string]string{}
	for _, f := range functions {
		limits[f.ID] = f.TimeoutS
	}
	for name := range substitutions(parsed) {
		resources["${"+name+"}"] = strings.TrimSuffix(name, "Arn")
	}
	var machine struct {
		States map[string]struct {
			Resource       string
			TimeoutSeconds int
		}
	}
	if err := json.Unmarshal(statemachine.Definition, &machine); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, s := range machine.States {
		id, ok := resources[s.Resource]
		if !ok {
			continue // Ask waits for people: its time travels
		}
		checked++
		if s.TimeoutSeconds <= limits[id] {
			t.Errorf("state %s waits %d s for %s, which may take %d s", name, s.TimeoutSeconds, id, limits[id])
		}
	}
	if checked != 3 {
		t.Errorf("%d states were compared, want Plan, Execute and Reconcile", checked)
	}
}

func substitutions(parsed *samtemplate.Template) map[string]any {
	m, _ := parsed.Resources[machineID].Properties["DefinitionSubstitutions"].(map[string]any)
	return m
}

// TestTheMachineGetsEveryFunction: each placeholder is given the function of its name, and the role may invoke just those.
func TestTheMachineGetsEveryFunction(t *testing.T) {
	t.Parallel()
	parsed := read(t)
	values, want := map[string]string{}, []string{}
	for name, v := range substitutions(parsed) {
		id := strings.TrimSuffix(name, "Arn")
		if refs := samtemplate.References(v); !slices.Equal(refs, []string{id}) {
			t.Errorf("%s is given %v", name, refs)
		}
		values[name] = "arn"
		want = append(want, id)
	}
	if _, err := statemachine.Fill(values); err != nil {
		t.Error(err)
	}
	slices.Sort(want)
	for _, s := range statements(t, parsed, "RunRole") {
		if slices.Contains(s.actions, "lambda:InvokeFunction") {
			if diff := cmp.Diff(want, samtemplate.References(s.resources)); diff != "" {
				t.Errorf("functions of the definition (-) and of the role (+):\n%s", diff)
			}
		}
	}
}

// TestNothingWaitsForItself finds circles, which CloudFormation refuses only once it deploys. SAM writes the functions
// that answer routes into the API itself, so the API waits for them although the template does not say so.
func TestNothingWaitsForItself(t *testing.T) {
	t.Parallel()
	parsed := read(t)
	needs := map[string][]string{}
	for id, r := range parsed.Resources {
		needs[id] = append(needs[id], samtemplate.References(named(parsed, id, r))...)
		for _, e := range events(r) {
			if at(e, "Type") == "HttpApi" {
				api := samtemplate.References(e)
				needs[api[0]] = append(needs[api[0]], id)
			}
		}
	}
	for _, id := range sorted(needs) {
		if circle := walk(needs, id, id, map[string]bool{}); circle != nil {
			t.Errorf("%s waits for itself: %s", id, strings.Join(append([]string{id}, circle...), " -> "))
			return
		}
	}
}

func events(r samtemplate.Resource) map[string]any {
	e, _ := r.Properties["Events"].(map[string]any)
	return e
}

// named is what a resource names: its properties without events, and for a function its whole environment.
func named(parsed *samtemplate.Template, id string, r samtemplate.Resource) any {
	own := map[string]any{}
	for name, v := range r.Properties {
		if name != "Events" {
			own[name] = v
		}
	}
	functions, _ := parsed.Functions()
	for _, f := range functions {
		if f.ID == id {
			own["Environment"] = f.Environment
		}
	}
	return own
}

func walk(needs map[string][]string, from, to string, seen map[string]bool) []string {
	for _, next := range needs[from] {
		if next == to {
			return []string{next}
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		if rest := walk(needs, next, to, seen); rest != nil {
			return append([]string{next}, rest...)
		}
	}
	return nil
}
