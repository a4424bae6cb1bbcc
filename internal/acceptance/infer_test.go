package acceptance

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

// own is a user's own flow over the shipped key target.
func own(when, require, key, effect string) string {
	text := "flow: own\nversion: 1\nowner: me@example.com\ntrigger: { source: standard, topic: [thing.made, thing.sold]"
	if when != "" {
		text += ", when: '" + when + "'"
	}
	return text + " }\n" + require + "approval: none\nsend_within: 24h\nstages:\n  - name: act\n    key: [" + key + "]\n    target: generic-key\n    content:\n      effect: " + effect + "\n"
}

func sampleOf(t *testing.T, text string) (sample, error) {
	t.Helper()
	p, err := prepare(Options{
		Flows:   fstest.MapFS{"own.yaml": {Data: []byte(text), Mode: 0o600}},
		Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(),
	})
	if err != nil {
		return sample{}, err
	}
	return p.sample, nil
}

func TestSamplesAreMadeUpFromTheFlow(t *testing.T) {
	t.Parallel()
	const key = "body.data.id"
	for _, c := range []struct{ name, when, require, key, effect, want string }{
		{"key alone", "", "", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"type":"thing.made"}`},
		{"equals", `body.kind == "vip" && body.paid`, "", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"kind":"vip","paid":true,"type":"thing.made"}`},
		{"not", `!(body.test || body.kind != "vip")`, "", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"kind":"vip","test":false,"type":"thing.made"}`},
		{"in a list", `body.kind in ["a", "b"]`, "", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"kind":"a","type":"thing.made"}`},
		{"numbers", `body.total > 100 && body.items <= 3`, "", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"items":3,"total":101,"type":"thing.made"}`},
		{"topic", `event.topic == "thing.made" || body.status == "paid"`, "", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"status":"paid","type":"thing.made"}`},
		{"prefix", `body.code.startsWith("HF-")`, "", key, "{ kind: x }", `{"code":"HF-","data":{"id":"sample-id-1001"},"type":"thing.made"}`},
		{"a list's item", "", "", key, `{ kind: '${body.tags.filter(t, t.name == "kind")[0].value}' }`, `{"data":{"id":"sample-id-1001"},"tags":[{"name":"kind","value":"sample-value"}],"type":"thing.made"}`},
		{"exists", `body.lines.exists(l, l.sku == "A1")`, "", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"lines":[{"sku":"A1"}],"type":"thing.made"}`},
		{"times", "", "", key, `{ at: '${timestamp(body.made) + duration("1h")}' }`, `{"data":{"id":"sample-id-1001"},"made":"2030-01-02T09:00:00Z","type":"thing.made"}`},
		{"required", "", "require:\n  - { field: body.who.email, missing: hold }\n", key, "{ kind: x }", `{"data":{"id":"sample-id-1001"},"type":"thing.made","who":{"email":"sample.customer@example.com"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := sampleOf(t, own(c.when, c.require, c.key, c.effect))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(s.bytes())); diff != "" {
				t.Errorf("sample (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeMadeUpIsAskedFor(t *testing.T) {
	t.Parallel()
	_, err := sampleOf(t, own(`body.code.matches("^[A-Z]{3}-[0-9]{9}$")`, "", "body.data.id", "{ kind: x }"))
	var called *CallError
	if !errors.As(err, &called) {
		t.Fatalf("error %v, want a call error", err)
	}
	for _, want := range []string{"trigger_says_no", "samples/own.json", `exactly as standard sends it, topic "thing.made"`, `"code": "sample-code"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%s", want, err)
		}
	}
}

func TestASampleFileIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	const given = `{"code":"ABC-123456789","data":{"id":12345678901234567890},"type":"thing.sold"}`
	p, err := prepare(Options{
		Flows: fstest.MapFS{
			"own.yaml":         {Data: []byte(own(`body.code.matches("^[A-Z]{3}-[0-9]{9}$")`, "", "body.data.id", "{ kind: x }")), Mode: 0o600},
			"samples/own.json": {Data: []byte(given), Mode: 0o600},
		},
		Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.sample.bytes()); got != given || p.sample.topic != "thing.sold" || p.sample.derived {
		t.Errorf("sample %s, topic %s, derived %v", got, p.sample.topic, p.sample.derived)
	}
}

func TestRedraftChangesEveryContent(t *testing.T) {
	t.Parallel()
	p, err := prepare(Options{
		Flows:   fstest.MapFS{"own.yaml": {Data: []byte(own("", "", "body.data.id", "{ kind: x, nested: { text: 'Hello ${body.name}' } }")), Mode: 0o600}},
		Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(),
	})
	if err != nil {
		t.Fatal(err)
	}
	text, changed, err := p.redraft()
	if err != nil || !cmp.Equal(changed, []string{"act"}) || !strings.Contains(string(text), "version: 2") {
		t.Errorf("changed %v, error %v, text:\n%s", changed, err, text)
	}
}

func TestReportsKeepForeignTextAsText(t *testing.T) {
	t.Parallel()
	const foreign = "<script>alert(1)</script> | `x` ```"
	r := Report{Flow: "f", Version: 1, Source: "s", Sample: foreign, Cases: []Case{{
		N: 1, Name: foreign, Effects: map[string]int{"email": 1}, Next: foreign, Owner: foreign, Checks: []Check{{foreign, false}}, Notes: []string{foreign}, Warns: []string{foreign},
		Sent: []Sent{{Stage: "email", Body: foreign, URL: foreign}}, Shows: []Shown{{Stage: "email", Reference: foreign}}, Story: []string{foreign},
	}}}
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page), "<script") || strings.Contains(string(page), "src=") || strings.Contains(string(page), "@import") {
		t.Error("the page runs or loads something")
	}
	if !strings.Contains(string(page), "1 of 1 cases failed; 0 passed.") || !strings.Contains(string(page), "&lt;script&gt;") {
		t.Errorf("the page lacks its verdict or the text:\n%s", page)
	}
	text := r.Markdown()
	if strings.Count(text, "<script") != strings.Count(text, "\n"+foreign)+strings.Count(text, " "+foreign) {
		t.Errorf("foreign text stands outside of a code block:\n%s", text)
	}
	if !strings.Contains(text, "````\n"+foreign+"\n````") {
		t.Errorf("a code block can be ended from inside:\n%s", text)
	}
	var back map[string]any
	raw, err := json.Marshal(r)
	if err != nil || json.Unmarshal(raw, &back) != nil || len(back) != 1 {
		t.Errorf("JSON has more than its cases: %s %v", raw, err)
	}
}
