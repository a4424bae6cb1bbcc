package compile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/fuzztest"
)

// Any text in a content either compiles or is refused with a place, and then plans without a crash.
//
//fuzz:slow
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"a ${body.x} b", "$${", "${'}'}", "${{'a': 1}}", "${task.reference}", "${body.x", "${}", "${body.a.map(x, x)}", "${1.0/0.0}"} {
		f.Add(s)
	}
	file, findings := flow.Parse("flows/x.yaml", []byte(greet))
	if len(findings) > 0 {
		f.Fatal(findings)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > flow.ExpressionBytesMax {
			return
		}
		mine := file
		mine.Stages = []flow.Stage{file.Stages[0]}
		mine.Stages[0].Content = []flow.Member{{Name: "s", Value: flow.Value{Text: flow.Text{Value: text, At: flow.Position{Line: 1, Column: 1}, Exact: true}}}}
		compiled, err := compile.Compile(mine, testTargets())
		if err != nil {
			return
		}
		if _, err := compiled.Plan(compile.Input{Body: []byte(`{"a":1,"b":2,"x":[1.5,{"y":"z"}]}`), HoleReference: hole}); err != nil {
			t.Fatal(err)
		}
	})
}

// Any bytes as a body give an outcome with an owner, twice the same, and no text of the body in a problem.
//
//fuzz:slow
func FuzzPlan(f *testing.F) {
	flowUnderTest := compiled(f, strings.Replace(greet, "'${body}'", "'${{\"r\": body.l.map(x, x), \"c\": body.a == body.b, \"in\": body.a in body.l}}'", 1))
	f.Add([]byte(`{"a":1,"b":"x","text":"t","l":[1,2.50,"x",{"y":null}]}`))
	f.Add([]byte(`{"a":1e999999999,"b":-0,"text":0.1,"l":{"b":1,"a":2}}`))
	f.Add([]byte(`[[[[`))
	f.Add([]byte("{\"a\":\"\xff\"}"))
	f.Add([]byte(`{"a":"` + `\ud800` + `","b":1,"text":"","l":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in := compile.Input{Event: compile.Event{ID: "ev_1"}, Body: body, HoleReference: hole}
		one, err := flowUnderTest.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		two, err := flowUnderTest.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatal(diff)
		}
		if one.Owner == "" || (one.Outcome == compile.OutcomeHeld) != (len(one.Problems) > 0) || (one.Outcome == compile.OutcomeStages) != (len(one.Stages) > 0) {
			t.Fatalf("%+v", one)
		}
	})
}

// canary is a text of the event that no problem may show.
const canary = "quiet-canary-93f1"

// planBound is what one plan may allocate, in bytes: the contents' own bound, and what evaluating within its cost takes.
var planBound = fuzztest.Bound{Base: 64 << 20, PerByte: 2 << 10}

// Any expression in any place, on any event: one answer, twice the same, of a bounded size, and without a text of the
// event in a problem.
//
//fuzz:slow
func FuzzExpression(f *testing.F) {
	for _, seed := range []struct{ text, body string }{
		{"body.l.map(x, body.l.map(y, body.l))", `{"l":[1,2,3,4,5,6,7,8,9,10]}`},
		{"body.l.map(x, {'x': x, 'all': body})", `{"l":[1,2,3]}`},
		{"body.note_attributes.filter(a, a.name == 'hubspot_contact_id')[0].value", `{"note_attributes":[{"name":"hubspot_contact_id","value":"51"}]}`},
		{"timestamp(body.created_at) + duration('48h')", `{"created_at":"2026-11-29T07:00:00-05:00"}`},
		{"body.a.matches('^(a+)+$')", `{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}`},
		{"body.a + body.a + body.b", `{"a":"x","b":19.90}`}, {"string(body.a) + string(1.0/3.0)", `{"a":9007199254740993}`},
		{"body[body.a]", `{"a":"b","b":{"c":null}}`}, {"has(body.a) && body.a.all(x, x > 1)", `{"a":[2,3]}`}, {"event.topic", `{}`}, {"{'a': body.a, body.a: 1}", `{"a":"a"}`},
		{"dyn(body).a.b.c", `[]`}, {"-9223372036854775808 - body.a", `{"a":1}`}, {"[[[[[[1]]]]]]", `{}`}, {"body.a in body.l", `{"a":1,"l":[1.0,"1"]}`},
	} {
		for place := range 3 {
			f.Add(seed.text, []byte(seed.body), uint8(place))
		}
	}
	base, findings := flow.Parse("flows/x.yaml", []byte(greet))
	if len(findings) > 0 {
		f.Fatal(findings)
	}
	f.Fuzz(func(t *testing.T, source string, body []byte, place uint8) {
		if strings.Contains(source, canary) {
			return
		}
		fuzztest.Bounded(t, planBound, len(body)+len(source), func() { expression(t, base, source, body, place) })
	})
}

func expression(t *testing.T, file flow.File, source string, body []byte, place uint8) {
	t.Helper()
	stage := file.Stages[0]
	stage.Content = nil
	at := flow.Text{Value: source, At: flow.Position{Line: 1, Column: 1}}
	switch place % 3 {
	case 0:
		file.Trigger.When = at
	case 1:
		stage.Key = []flow.Text{at}
	case 2:
		at.Value = "${" + source + "}"
		stage.Content = []flow.Member{{Name: "l", Value: flow.Value{Text: at}}, {Name: "o", Value: flow.Value{Text: at}}}
	}
	file.Stages = []flow.Stage{stage}
	compiled, err := compile.Compile(file, testTargets())
	if err != nil {
		return
	}
	in := compile.Input{Event: compile.Event{ID: "ev_1", Topic: "orders/paid"}, HoleReference: hole,
		Body: append(append([]byte(`{"a":"`+canary+`","b":["`+canary+`"],"l":[1,2,{"a":"`+canary+`"}],"any":`), body...), '}')}
	one, err := compiled.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range one.Problems {
		if strings.Contains(p.Detail, canary) || len(p.Detail) > 4*flow.ExpressionBytesMax || p.Reason == "" {
			t.Fatalf("problem %+v", p)
		}
	}
	written, err := json.Marshal(one.Stages)
	if err != nil || len(written) > 8*compile.ContentBytesMax {
		t.Fatalf("%d bytes of plan: %v", len(written), err)
	}
	if two, err := compiled.Plan(in); err != nil || cmp.Diff(one, two) != "" {
		t.Fatalf("planned again: %v\n%s", err, cmp.Diff(one, two))
	}
}

func BenchmarkPlan(b *testing.B) {
	f := compiled(b, greet)
	in := compile.Input{Event: compile.Event{ID: "ev_1"}, Body: []byte(`{"a":9007199254740993,"b":"spring","text":"Ada","l":[1,2,3],"o":{"x":{"y":19.90}}}`), HoleReference: hole}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := f.Plan(in); err != nil || p.Outcome != compile.OutcomeStages {
			b.Fatal(err, p.Problems)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	file, _ := flow.Parse("flows/x.yaml", []byte(greet))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compile.Compile(file, testTargets()); err != nil {
			b.Fatal(err)
		}
	}
}
