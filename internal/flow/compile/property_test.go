package compile_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/flow/compile"
)

// anyJSON draws a JSON value; numbers are literals of every kind.
func anyJSON(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.String().AsAny(),
		rapid.Map(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][0-9]{1,3})?`), func(s string) any { return json.Number(s) }),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) })
	return rapid.OneOf(append(leaves,
		rapid.SliceOfN(inner, 0, 4).AsAny(),
		rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), inner, 0, 4).AsAny(),
	)...)
}

// Planning the same event again, also with another compilation of the file, changes nothing.
func TestPropertyPlanTwiceIsIdentical(t *testing.T) {
	t.Parallel()
	text := strings.Replace(greet, "o: '${body}'", `o: '${{"m": body.o.map(k, k), "w": {"z": 1, "y": body.a, "x": 3}}}'`, 1)
	f, g := compiled(t, text), compiled(t, text)
	rapid.Check(t, func(t *rapid.T) {
		body, err := json.Marshal(map[string]any{
			"a": anyJSON(0).Draw(t, "a"), "b": anyJSON(0).Draw(t, "b"), "text": anyJSON(1).Draw(t, "text"),
			"o": rapid.MapOf(rapid.StringMatching(`[a-z]{1,3}`), anyJSON(2)).Draw(t, "o"),
		})
		if err != nil {
			t.Fatal(err)
		}
		in := compile.Input{Event: compile.Event{ID: "ev_1"}, Body: body, HoleReference: hole}
		one, err := f.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		two, err := g.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Two different keys never make one operation, and equal ones always do.
func TestPropertyKeysAreInjective(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	part := rapid.OneOf(
		rapid.Bool().AsAny(),
		rapid.Map(rapid.StringMatching(`[a1|,"\\]{1,3}`), func(s string) any { return s }),
		rapid.Map(rapid.StringMatching(`(0|[1-9][0-9]{0,2})(\.[0-9])?`), func(s string) any { return json.Number(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (any, any) { return part.Draw(t, name+"1"), part.Draw(t, name+"2") }
		a1, b1 := draw("first")
		a2, b2 := draw("second")
		one, two := keyed(t, f, a1, b1), keyed(t, f, a2, b2)
		same := value(a1) == value(a2) && value(b1) == value(b2)
		if got := operationID(t, one) == operationID(t, two); got != same {
			t.Fatalf("%#v %#v and %#v %#v: one operation: %v", a1, b1, a2, b2, got)
		}
	})
}

// value is what a key part means: its type, and for a number its exact value.
func value(v any) string {
	switch x := v.(type) {
	case json.Number:
		s := string(x)
		if strings.Contains(s, ".") {
			s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		}
		return "number " + s
	case bool:
		return "bool " + strconv.FormatBool(x)
	}
	return "text " + v.(string)
}

func keyed(t *rapid.T, f *compile.Flow, a, b any) compile.Stage {
	body, err := json.Marshal(map[string]any{"a": a, "b": b, "text": ""})
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Plan(compile.Input{Body: body, HoleReference: hole})
	if err != nil || p.Outcome != compile.OutcomeStages {
		t.Fatalf("%s: %v %+v", body, err, p.Problems)
	}
	return p.Stages[0]
}

// Digits in are digits out, for any literal without an exponent, alone, in a text and deep inside.
func TestPropertyNumbersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	f := compiled(t, strings.Replace(greet, "'${body}'", "'${{\"alone\": body.a, \"deep\": [body.o]}}'", 1))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?`).Draw(t, "number")
		p, err := f.Plan(compile.Input{Body: []byte(`{"a":` + n + `,"b":1,"text":"","o":{"x":` + n + `}}`), HoleReference: hole})
		if err != nil || p.Outcome != compile.OutcomeStages {
			t.Fatalf("%v %+v", err, p.Problems)
		}
		want := map[string]any{
			"s": "a=" + n + " text=",
			"o": map[string]any{"alone": json.Number(n), "deep": []any{map[string]any{"x": json.Number(n)}}},
		}
		if diff := cmp.Diff(want, p.Stages[0].Content); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What an event carries is never evaluated, whatever it looks like.
func TestPropertyEventTextIsData(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"${", "}", "$${", "body.a", "task.reference", "$", "{", "'", "\"", "é"})).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		body, err := json.Marshal(map[string]any{"a": 1, "b": 1, "text": text})
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Plan(compile.Input{Body: body, HoleReference: hole})
		if err != nil || p.Outcome != compile.OutcomeStages {
			t.Fatalf("%v %+v", err, p.Problems)
		}
		if got := p.Stages[0].Content["s"]; got != "a=1 text="+text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
