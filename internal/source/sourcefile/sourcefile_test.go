package sourcefile_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/sources"
)

func TestShippedSourcesLoad(t *testing.T) {
	t.Parallel()
	configs, err := sourcefile.Load(sources.Files())
	if err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Name    string
		Kind    source.Kind
		Answer  source.AnswerRule
		Horizon time.Duration
	}
	var got []summary
	for _, c := range configs {
		got = append(got, summary{c.Name, c.Kind, c.Answer, c.RetryHorizon})
	}
	want := []summary{
		{"shopify-flow", source.KindShopifyFlow, source.AnswerWhenDone, 36 * time.Hour},
		{"shopify", source.KindShopifyWebhook, source.AnswerWhenDurable, 4 * time.Hour},
		{"standard", source.KindStandardWebhooks, source.AnswerWhenDurable, 84 * time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shipped sources (-want +got):\n%s", diff)
	}
}

const good = `source: crm
kind: generic-hmac
account: [value.main]
topic: [body.type]
event_id: [signed.id]
retry_horizon: 24h
answer: when_durable
hmac: { header: X-Sig, encoding: hex, prefix: sha256=, template: '{id}.{timestamp}.{body}', id: X-Id, timestamp: X-Time }
documentation:
  - { page: 'https://example.com/hooks', checked: 2026-11-29 }
`

func TestParseReadsEveryMember(t *testing.T) {
	t.Parallel()
	got, err := sourcefile.Parse("crm.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := source.Config{
		Name: "crm", Kind: source.KindGenericHMAC,
		Account:      []source.Field{{From: source.FromConstant, Name: "main"}},
		Topic:        []source.Field{{From: source.FromBody, Path: []string{"type"}}},
		EventID:      []source.Field{{From: source.FromSigned, Name: "id"}},
		RetryHorizon: 24 * time.Hour, Answer: source.AnswerWhenDurable,
		HMAC:  &source.HMAC{Header: "X-Sig", Encoding: "hex", Prefix: "sha256=", Template: "{id}.{timestamp}.{body}", ID: "X-Id", Timestamp: "X-Time"},
		Facts: []source.Fact{{Page: "https://example.com/hooks", Checked: "2026-11-29"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// Every mistake has its file, its line and a way out.
func TestR13_SourceFileMistakesNameTheirLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown member":      {"answer:", "anser:", `crm.yaml:7: "anser" is unknown here; allowed are source, kind,`},
		"member twice":        {"answer:", "kind: x\nanswer:", `crm.yaml:7: "kind" is given twice`},
		"not a field":         {"[body.type]", "[type]", `crm.yaml:4: "type" is no field; write header.NAME`},
		"not a list":          {"[body.type]", "body.type", `crm.yaml:4: a list belongs here`},
		"not a duration":      {"24h", "1 day", `crm.yaml:6: "1 day" is no duration; write for example`},
		"unknown kind":        {"generic-hmac", "magic", `kind "magic" is unknown; use one of [standard-webhooks`},
		"no documentation":    {"https://example.com/hooks", "the wiki", "documentation needs a page"},
		"name is not file's":  {"source: crm", "source: erp", `the source is named "erp" and its file "crm"`},
		"ambiguous template":  {"{id}.{timestamp}.{body}", "{id}{body}", "template"},
		"id is not signed":    {"kind: generic-hmac", "kind: shopify-webhook", "covers no id"},
		"nested unknown":      {"header: X-Sig", "heder: X-Sig", `crm.yaml:8: "heder" is unknown here; allowed are header`},
		"broken YAML":         {"kind:", "kind: [", "crm.yaml: yaml: "},
		"horizon out of hand": {"24h", "24000h", "the retry horizon must be above 0"},
		"empty value":         {"kind: generic-hmac", "kind:", "crm.yaml:2: one text belongs here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(good, c.from, c.to, 1)
			got, err := sourcefile.Parse("crm.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
			if diff := cmp.Diff(source.Config{}, got); diff != "" {
				t.Errorf("a file with a mistake gave a configuration:\n%s", diff)
			}
		})
	}
}

func TestLoadReportsEveryFile(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a.yaml": {Data: []byte("")}, "b.yaml": {Data: []byte("- x")}, "crm.yaml": {Data: []byte(good)}}
	configs, err := sourcefile.Load(files)
	if err == nil || configs != nil {
		t.Fatalf("configurations %v, error %v; want none and an error", configs, err)
	}
	for _, want := range []string{"a.yaml:1", "b.yaml:1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}
