package compile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
)

// Any text in a content either compiles or is refused with a place, and then plans without a crash.
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
