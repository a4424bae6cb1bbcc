package source_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/source"
)

// The inputs are the examples in RFC 8785, sections 3.2.2 and 3.2.3. Numbers keep their literal here, on purpose.
func TestRFC8785Vectors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"serialization": {
			`{
			  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			  "literals": [null, true, false]
			}`,
			`{"literals":[null,true,false],"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"sorting": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
	} {
		got, err := source.Canonicalize([]byte(c.in))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func digest(t testing.TB, body string) string {
	t.Helper()
	d, err := source.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return source.Digest(d.Canonical())
}

// Right: hash(A)=hash(B); hash(A)!=hash(C). Object order is noise, list order is content.
func TestCaseB007_ListOrderIsContent(t *testing.T) {
	t.Parallel()
	a, b := digest(t, `{"steps":[{"a":1,"b":2},{"a":3}]}`), digest(t, `{"steps":[{"b":2,"a":1},{"a":3}]}`)
	if c := digest(t, `{"steps":[{"a":3},{"a":1,"b":2}]}`); a != b || a == c {
		t.Errorf("digests A %s, B %s, C %s; want A = B and A != C", a, b, c)
	}
}

const independentDigest = "509012d5da1dfa08bccc754f5de46d636935ad96004f3fcfa3c688b0e4acb7af"

// Right: the same digest as an independent implementation. The expected value was computed in Python over RFC 8785's
// form of the same object.
func TestCaseB008_CanonicalTextEscapesNothingMore(t *testing.T) {
	t.Parallel()
	const body = `{"\uFF5E":1,"\ud83d\ude00":2,"html":"<b>Q&A</b>\u2028\u2029\u003c"}`
	d, err := source.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := "{\"html\":\"<b>Q&A</b>\u2028\u2029<\",\"😀\":2,\"～\":1}"
	if diff := cmp.Diff(want, string(d.Canonical())); diff != "" {
		t.Errorf("canonical form (-want +got):\n%s", diff)
	}
	if got := source.Digest(d.Canonical()); got != independentDigest {
		t.Errorf("digest %s, another implementation has %s", got, independentDigest)
	}
}

// Right: two distinct events; ids are printed back digit for digit; 19.90 keeps its literal; no exponents appear.
func TestCaseB010_NumbersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	const body = `{"id":9007199254740993,"price":19.90,"long":123456789012345678901234567890.000000000000000001}`
	d, err := source.Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"id": json.Number("9007199254740993"), "price": json.Number("19.90"), "long": json.Number("123456789012345678901234567890.000000000000000001")}
	if diff := cmp.Diff(any(want), d.Value()); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	if got := string(d.Canonical()); got != `{"id":9007199254740993,"long":123456789012345678901234567890.000000000000000001,"price":19.90}` {
		t.Errorf("canonical form %s changed a number", got)
	}
	if digest(t, `{"id":9007199254740993}`) == digest(t, `{"id":9007199254740992}`) || digest(t, `{"p":19.90}`) == digest(t, `{"p":19.9}`) {
		t.Error("different literals share a digest")
	}
	first := hook{source: "shopify-flow", body: `{"shop_id":9007199254740993,"handle":"h","action_run_id":"R"}`}.identity(t)
	second := hook{source: "shopify-flow", body: `{"shop_id":9007199254740992,"handle":"h","action_run_id":"R"}`}.identity(t)
	if first.Account != "9007199254740993" || eventID(t, first) == eventID(t, second) {
		t.Errorf("accounts %s and %s share an event", first.Account, second.Account)
	}
}

func TestDocumentLookup(t *testing.T) {
	t.Parallel()
	d, err := source.Parse([]byte(`{"a":{"b-c":[1,true,null,"x"],"n":null},"e":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := d.Lookup("a", "b-c"); !ok || !cmp.Equal(got, []any{json.Number("1"), true, nil, "x"}) {
		t.Errorf("a.b-c is %v, %v", got, ok)
	}
	if got, ok := d.Lookup("a", "n"); !ok || got != nil {
		t.Errorf("a.n is %v, %v; want null that is there", got, ok)
	}
	for _, path := range [][]string{{"x"}, {"a", "b-c", "0"}, {"e", "x"}, {"a", "n", "x"}} {
		if got, ok := d.Lookup(path...); ok {
			t.Errorf("%v is %v; want nothing", path, got)
		}
	}
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestR13_BodiesThatCannotBeReadOneWaySayWhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"member twice":        {`{"a":1,"secret":{"b":1,"b":2}}`, "the same member twice at byte 23"},
		"twice by escape":     {`{"b":1,"\u0062":2}`, "the same member twice at byte 7"},
		"bad UTF-8":           {"{\"a\":\"\xff\"}", "not valid UTF-8"},
		"lone surrogate":      {`{"a":"\ud800"}`, "not valid JSON at byte"},
		"too deep":            {nested(source.DepthMax + 1), "more than 32 deep"},
		"very deep":           {strings.Repeat("[", 500_000), "more than 32 deep"},
		"long number":         {`[` + strings.Repeat("1", source.NumberBytesMax+1) + `]`, "more than 64 characters"},
		"cut off":             {`{"a":"secret`, "in the middle of its JSON value"},
		"cut off in a list":   {`[1,`, "in the middle of its JSON value"},
		"two values":          {`{} {"a":"secret"}`, "goes on after its JSON value ends at byte 2"},
		"form encoded":        {`a=secret`, "not valid JSON at byte 0"},
		"single quotes":       {`{'secret':1}`, "not valid JSON at byte 1"},
		"trailing comma":      {`{"a":1,}`, "not valid JSON at byte"},
		"mark at the start":   {"\ufeff{}", "not valid JSON at byte 0"},
		"NaN":                 {`{"a":NaN}`, "not valid JSON at byte"},
		"white space only":    {" \n", "in the middle of its JSON value"},
		"control character":   {"{\"a\":\"\x00\"}", "not valid JSON at byte"},
		"larger than we read": {strings.Repeat(" ", source.BodyBytesMax+1), "larger than 1024 KiB"},
	} {
		_, err := source.Parse([]byte(c.body))
		status, reason := http.StatusBadRequest, source.ReasonJSON
		if len(c.body) > source.BodyBytesMax {
			status, reason = http.StatusRequestEntityTooLarge, source.ReasonTooLarge
		}
		message := wantRefusal(t, err, status, reason)
		if !strings.Contains(message, c.want) || strings.Contains(message, "secret") {
			t.Errorf("%s: message %q, want %q in it and nothing of the body", name, message, c.want)
		}
	}
	for _, body := range []string{nested(source.DepthMax), `[` + strings.Repeat("1", source.NumberBytesMax) + `]`, ` {"a":null} `, `"text"`, `0`} {
		if _, err := source.Parse([]byte(body)); err != nil {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}
