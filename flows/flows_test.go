package flows_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"holdfast/flows"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/operation"
	"holdfast/internal/target"
	"holdfast/targets"
)

// shipped shows the shipped profiles' contents to the compiler.
type shipped map[string]*target.Profile

func (s shipped) Names() []string {
	var names []string
	for name := range s {
		names = append(names, name)
	}
	return names
}

func (s shipped) Content(profile string) (map[string]compile.FieldRule, bool) {
	p, ok := s[profile]
	if !ok {
		return nil, false
	}
	rules := map[string]compile.FieldRule{}
	for _, f := range p.Content {
		rules[f.Name] = compile.FieldRule{Type: compile.FieldType(f.Type), Required: f.Required, Max: f.Max}
	}
	return rules, true
}

func profiles(t *testing.T) shipped {
	t.Helper()
	all, err := target.Load(targets.FS)
	if err != nil {
		t.Fatal(err)
	}
	out := shipped{}
	for _, p := range all {
		out[p.Name] = p
	}
	return out
}

// The example on the page is a flow that works.
func TestTheExampleInTheDocumentationCompiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/flows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/flows.md has no example")
	}
	findings, err := compile.Validate(fstest.MapFS{"example.yaml": {Data: []byte(example)}}, profiles(t))
	if err != nil || len(findings) > 0 {
		t.Errorf("findings %v, error %v", findings, err)
	}
}

func shippedFlows(t *testing.T) map[string]*compile.Flow {
	t.Helper()
	names := profiles(t)
	if findings, err := compile.Validate(flows.FS, names); err != nil || len(findings) > 0 {
		t.Fatalf("findings %v, error %v", findings, err)
	}
	all, err := compile.All(flows.FS, names)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*compile.Flow{}
	for _, f := range all {
		out[f.File().Name] = f
	}
	return out
}

const (
	actionBody = `{"shop_id":548380009,"shopify_domain":"s.example.com","action_run_id":"r1","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":9007199254740993,"email":"ada@example.com","first_name":"Ada","due":"2026-12-01T09:00:00Z"}}`
	metaBody   = `{"id":"gid://shopify/Metaobject/1","type":"campaign_follow_up","fields":{"campaign_id":"spring","customer_id":"7","email":"ada@example.com","first_name":"Ada","due":"2026-12-01T09:00:00Z"}}`
	orderBody  = `{"id":820982911946154508,"created_at":"2026-11-29T18:00:00+01:00","financial_status":"paid","total_price":"19.90","note_attributes":[{"name":"hubspot_contact_id","value":"51"}]}`
	dataBody   = `{"type":"follow-up.requested","timestamp":"2026-11-29T18:00:00Z","data":{"request_id":"q-1"}}`
)

// Every shipped flow can be planned, and its contents are what its targets' profiles take.
func TestShippedFlowsPlan(t *testing.T) {
	t.Parallel()
	all := shippedFlows(t)
	for _, c := range []struct {
		flow, source, topic, body string
		stages                    []string
	}{
		{"campaign-follow-up", "shopify-flow", "follow-up", actionBody, []string{"crm_task", "email"}},
		{"campaign-follow-up-webhook", "shopify", "metaobjects/create", metaBody, []string{"crm_task", "email"}},
		{"order-follow-up", "shopify", "orders/paid", orderBody, []string{"crm_task", "crm_task_contact", "discount"}},
		{"standing-follow-up", "standard", "follow-up.requested", dataBody, []string{"notice", "record"}},
	} {
		t.Run(c.flow, func(t *testing.T) {
			t.Parallel()
			f := all[c.flow]
			if got := flow.Match([]flow.File{f.File()}, c.source, c.topic); !slices.Equal(got, []string{c.flow}) {
				t.Fatalf("matched %v", got)
			}
			in := compile.Input{Body: []byte(c.body), HoleReference: target.HoleReference}
			in.Event = compile.Event{ID: "ev_1", Source: c.source, Account: "a", Topic: c.topic}
			planned, err := f.Plan(in)
			if err != nil || planned.Outcome != compile.OutcomeStages {
				t.Fatalf("error %v, planned %+v", err, planned)
			}
			var names []string
			for _, s := range planned.Stages {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff(c.stages, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// B047: orders/paid and orders/create of one order, in any order, ask for the same operations with the same
// content; an unpaid order asks for nothing.
func TestCaseB047_FollowUpEventComesBeforeTheCreateEvent(t *testing.T) {
	t.Parallel()
	f := shippedFlows(t)["order-follow-up"]
	plan := func(topic string, id operation.EventID, body string) compile.Planned {
		in := compile.Input{Body: []byte(body), HoleReference: target.HoleReference}
		in.Event = compile.Event{ID: id, Source: "shopify", Account: "a", Topic: topic}
		planned, err := f.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		return planned
	}
	paid := plan("orders/paid", "ev_2", orderBody)
	created := plan("orders/create", "ev_1", orderBody)
	if diff := cmp.Diff(paid, created); diff != "" || paid.Outcome != compile.OutcomeStages {
		t.Errorf("the two events do not meet (-paid +created):\n%s", diff)
	}
	if key := paid.Stages[0].Key[0].Value; key != json.Number("820982911946154508") {
		t.Errorf("the key is %v, the order is 820982911946154508", key)
	}
	unpaid := plan("orders/create", "ev_3", `{"id":1,"created_at":"2026-11-29T18:00:00Z","financial_status":"pending"}`)
	if unpaid.Outcome != compile.OutcomeNotApplicable {
		t.Errorf("an unpaid order is %s", unpaid.Outcome)
	}
}
