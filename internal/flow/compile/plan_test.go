package compile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/identity"
)

const greet = `flow: greet
version: 3
owner: ops@example.com
trigger: { source: shop, topic: orders/paid }
approval: none
send_within: 3d
stages:
  - name: task
    key: [body.a, body.b]
    target: anything
    content: { s: 'a=${body.a} text=${body.text}', o: '${body}' }
`

func compiled(t testing.TB, text string) *compile.Flow {
	t.Helper()
	file, findings := flow.Parse("flows/x.yaml", []byte(text))
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	f, err := compile.Compile(file, testTargets())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func plan(t testing.TB, f *compile.Flow, body string) compile.Planned {
	t.Helper()
	planned, err := f.Plan(compile.Input{Event: compile.Event{ID: "ev_1", Source: "shop"}, Body: []byte(body), HoleReference: hole})
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

// B004: another order of the fields and other white space are the same event.
func TestCaseB004_JSONBodyTreatedAsAPlainString(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	one := plan(t, f, `{"a":7,"b":"vip","text":""}`)
	two := plan(t, f, "{ \"text\" : \"\",\n\"b\":\"v\\u0069p\", \"a\" : 7 }")
	if diff := cmp.Diff(one, two); diff != "" || one.Outcome != compile.OutcomeStages {
		t.Error(one.Problems, diff)
	}
}

// B010: neighbours above 2^53 are two operations, and their digits and trailing zeros come out as they came in.
func TestCaseB010_LargeIntegersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	body := `{"a":9007199254740993,"b":1,"text":"19.90","price":19.90,"big":123456789012345678901234567890.10}`
	one := plan(t, f, body)
	two := plan(t, f, strings.Replace(body, "993", "992", 1))
	if operationID(t, one.Stages[0]) == operationID(t, two.Stages[0]) {
		t.Error("two orders share an operation")
	}
	out, err := json.Marshal(one.Stages[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"o":{"a":9007199254740993,"b":1,"big":123456789012345678901234567890.10,"price":19.90,"text":"19.90"},"s":"a=9007199254740993 text=19.90"}`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Error(diff)
	}
}

// B011: who it is for comes from ids; that two texts look alike or not plays no part.
func TestCaseB011_IdentityComesFromIDs(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	spaces := plan(t, f, `{"a":1,"b":1,"text":"Hello   you"}`).Stages[0]
	line := plan(t, f, `{"a":1,"b":1,"text":"Hello\nyou"}`).Stages[0]
	if operationID(t, spaces) != operationID(t, line) {
		t.Error("another text makes another operation")
	}
	if cmp.Equal(spaces.Content, line.Content) {
		t.Error("the two texts were made equal")
	}
	other := plan(t, f, `{"a":2,"b":1,"text":"Hello   you"}`).Stages[0]
	if operationID(t, spaces) == operationID(t, other) {
		t.Error("the same text makes the same operation")
	}
}

// B076: an hour that comes twice is one day; the day is that of the zone, not of UTC.
func TestCaseB076_TheHourThatHappensTwice(t *testing.T) {
	t.Parallel()
	f := compiled(t, strings.Replace(greet, "[body.a, body.b]", `['localDate(body.at, "America/New_York")']`, 1))
	day := func(at string) any {
		p := plan(t, f, fmt.Sprintf(`{"a":1,"text":"","at":%q}`, at))
		if p.Outcome != compile.OutcomeStages {
			t.Fatal(p.Problems)
		}
		return p.Stages[0].Key[0].Value
	}
	first, second := day("2026-11-01T05:30:00Z"), day("2026-11-01T06:30:00Z") // both 01:30 on the wall
	if first != "2026-11-01" || second != first {
		t.Errorf("01:30 came twice: %v and %v", first, second)
	}
	if late := day("2026-11-02T03:30:00Z"); late != "2026-11-01" {
		t.Errorf("22:30 on the wall is on %v", late)
	}
}

// R10: whatever cannot name one thing for sure holds the event; two customers without an id never meet.
func TestR10_NoSharedIDWithoutAnIdentity(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	for _, value := range []string{`null`, `""`, `"  "`, `"\u200b"`, `" x"`, `"x\n"`, `[]`, `{}`, `1e3`, `1E400`, `"a\u0000b"`} {
		for _, body := range []string{`{"a":%s,"b":1,"text":""}`, `{"a":1,"b":%s,"text":""}`} {
			p := plan(t, f, fmt.Sprintf(body, value))
			if p.Outcome != compile.OutcomeHeld || p.Reason != flow.ReasonIdentity || p.Stages != nil || p.Owner == "" {
				t.Errorf("%s with %s: %s %s", body, value, p.Outcome, p.Reason)
			}
		}
	}
	if p := plan(t, f, `{"b":1,"text":""}`); p.Outcome != compile.OutcomeHeld || p.Reason != flow.ReasonIdentity {
		t.Errorf("missing: %s %s", p.Outcome, p.Reason)
	}
}

// R10: no message of a plan shows what the event carries.
func TestR10_ProblemsNeverShowValues(t *testing.T) {
	t.Parallel()
	const secret = "ada-7311@example.com"
	for _, expression := range []string{
		"body.m[body.email]", "int(body.email)", "timestamp(body.email)", "body.email.matches(body.email + \"(\")",
		"body.email + 1", "body.email > 1", "duration(body.email)", "body[body.email]", "localDate(body.email, body.email)",
		"[1][body.email]", "bytes(body.email)",
	} {
		f := compiled(t, strings.Replace(greet, "'${body}'", "'${{\"v\": "+expression+"}}'", 1))
		p := plan(t, f, `{"a":1,"b":1,"text":"","m":{},"email":"`+secret+`"}`)
		if p.Outcome != compile.OutcomeHeld {
			t.Errorf("%s: %s", expression, p.Outcome)
		}
		if shown := fmt.Sprintf("%+v", p); strings.Contains(shown, "ada-7311") {
			t.Errorf("%s shows the value: %s", expression, shown)
		}
	}
}

func TestPlanSaysWhenItIsCalledWrongly(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	_, err := f.Plan(compile.Input{Body: []byte(`{}`), HoleReference: func(string) string { return "" }})
	if err == nil || !strings.Contains(err.Error(), "stage task is empty") {
		t.Errorf("error is %v", err)
	}
}

func TestContentsOfOnePlanAreBounded(t *testing.T) {
	t.Parallel()
	f := compiled(t, greet)
	p := plan(t, f, `{"a":1,"b":1,"text":"`+strings.Repeat("x", compile.ContentBytesMax)+`"}`)
	if p.Outcome != compile.OutcomeHeld || p.Reason != flow.ReasonContent {
		t.Errorf("%s %s", p.Outcome, p.Reason)
	}
}

func operationID(t rapid.TB, s compile.Stage) string {
	t.Helper()
	key, err := identity.NewKey([]byte(strings.Repeat("k", identity.KeyBytesMin)))
	if err != nil {
		t.Fatal(err)
	}
	var parts []identity.Part
	for _, k := range s.Key {
		parts = append(parts, k.Part())
	}
	id, err := key.OperationID("greet", s.Name, "shop", "account", parts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A short expression names one large part of the event many times over: what it makes is counted while it is made.
func TestContentWithoutEnd(t *testing.T) {
	t.Parallel()
	f := compiled(t, strings.Replace(greet, "o: '${body}'", "o: '${{\"r\": body.l.map(x, body.l.map(y, body.l))}}'", 1))
	got := plan(t, f, `{"a":1,"b":2,"text":"t","l":[1`+strings.Repeat(",1", 79)+`]}`)
	if got.Outcome != compile.OutcomeHeld || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Detail, "makes more than 262144 bytes on this event") {
		t.Fatalf("%v %+v", got.Outcome, got.Problems)
	}
}
