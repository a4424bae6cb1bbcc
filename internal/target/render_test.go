package target_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

var update = flag.Bool("update", false, "write generated files anew")

func to(tb testing.TB, p *target.Profile) target.Destination {
	tb.Helper()
	base := ""
	if p.Destination.Base == "" {
		base = "https://target.example.com"
	}
	d, err := p.To(target.Destination{Base: base})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func contents() map[string]map[string]any {
	return map[string]map[string]any{
		"hubspot-task":         {"subject": "Call Ö \u2028 <b>Q&A</b> 😀", "due": "2026-12-01T09:00:00Z", "owner_id": "9007199254740993"},
		"hubspot-task-contact": {"task": target.HoleReference("crm_task"), "contact_id": "101"},
		"resend-email":         {"from": "shop@example.com", "to": "a+b@example.com", "subject": "Task " + target.HoleReference("crm_task"), "text": "Hello"},
		"shopify-discount-code": {"code": "SPRING-7", "title": "Spring", "percentage": json.Number("0.10"), "starts_at": "2026-12-01T00:00:00Z",
			"usage_limit": json.Number("1")},
		"generic-key":     {"effect": map[string]any{"n": json.Number("9007199254740993"), "price": json.Number("19.90")}},
		"generic-natural": {"effect": map[string]any{"a": []any{"x", nil, true}}},
		"generic-lookup":  {"effect": map[string]any{}},
		"generic-none":    {"effect": map[string]any{"deep": map[string]any{"er": "yes"}}},
	}
}

// R5: the frozen request of every shipped target, as text, and its digest. A difference here means that open
// operations would be rendered otherwise by this release.
func TestR05_FrozenRequestsOfTheShippedTargets(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	all := shipped(t)
	for _, name := range sortedNames(all) {
		p := all[name]
		r, err := target.Render(p, testOp, contents()[name], to(t, p))
		if err != nil {
			t.Fatal(err)
		}
		filled, err := target.Fill(r, target.Key(testOp, 1), map[string]operation.Reference{"crm_task": "7714"})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "# %s\n%s %s\n", name, r.Method, r.URL)
		for _, h := range r.Headers {
			fmt.Fprintf(&out, "%s: %s\n", h.Name, h.Value)
		}
		fmt.Fprintf(&out, "\n%s\n\ndigest %s\nfilled %s\n\n", r.Body, r.Digest(), filled.Digest())
	}
	golden(t, filepath.Join("testdata", "frozen.txt"), out.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is right, run the test with -update and read the change (-file +now):\n%s", file, diff)
	}
}

// B008: the same canonical bytes as another language's. testdata/canonical.json was made by testdata/canonical.py.
func TestCaseB008_CanonicalFormMatchesAnotherImplementation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "canonical.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Input, Canonical, SHA256 string }
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) < 8 {
		t.Fatalf("%d vectors: %v", len(vectors), err)
	}
	p := shipped(t)["generic-none"]
	for _, v := range vectors {
		d := json.NewDecoder(strings.NewReader(v.Input))
		d.UseNumber()
		var effect map[string]any
		if err := d.Decode(&effect); err != nil {
			t.Fatal(err)
		}
		r, err := target.Render(p, testOp, map[string]any{"effect": effect}, to(t, p))
		if err != nil {
			t.Fatalf("%s: %v", v.Input, err)
		}
		want := `{"effect":` + v.Canonical + `,"operation_id":"` + testOp + `"}`
		if diff := cmp.Diff(want, string(r.Body)); diff != "" {
			t.Errorf("(-other implementation +here):\n%s", diff)
		}
		if got := sha(r.Body[len(`{"effect":`) : len(r.Body)-len(`,"operation_id":"`+testOp+`"}`)]); got != v.SHA256 {
			t.Errorf("%s: digest %s, other implementation %s", v.Input, got, v.SHA256)
		}
	}
}

// B007: the order of an object's members is noise, the order of a list is content.
func TestCaseB007_ListOrderIsContent(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	digest := func(text string) operation.Digest {
		var effect map[string]any
		if err := json.Unmarshal([]byte(text), &effect); err != nil {
			t.Fatal(err)
		}
		r, err := target.Render(p, testOp, map[string]any{"effect": effect}, to(t, p))
		if err != nil {
			t.Fatal(err)
		}
		return r.Digest()
	}
	a, b, c := digest(`{"steps":[{"a":1,"b":2},{"a":3}]}`), digest(`{"steps":[{"b":2,"a":1},{"a":3}]}`), digest(`{"steps":[{"a":3},{"a":1,"b":2}]}`)
	if a != b || a == c {
		t.Errorf("members swapped: same %t, items swapped: same %t; want true, false", a == b, a == c)
	}
}

// B010: ids above 2^53 and the zero of 19.90 stay.
func TestCaseB010_NumbersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	p := parse(t, smallProfile)
	for n, want := range map[any]string{
		json.Number("9007199254740993"): `"count":9007199254740993`,
		json.Number("9007199254740992"): `"count":9007199254740992`,
		int64(9007199254740993):         `"count":9007199254740993`,
		uint64(18446744073709551615):    `"count":18446744073709551615`,
		float64(7):                      `"count":7,`,
	} {
		r, err := target.Render(p, testOp, map[string]any{"note": "x", "count": n, "more": map[string]any{"price": json.Number("19.90")}}, to(t, p))
		if err != nil || !strings.Contains(string(r.Body), want) || !strings.Contains(string(r.Body), `"price":19.90`) {
			t.Errorf("%v: %s, %v; want %s", n, r.Body, err, want)
		}
	}
	for _, n := range []any{float64(9007199254740993), json.Number("1e5"), json.Number("1.5"), json.Number("0x1F"), "7"} {
		if r, err := target.Render(p, testOp, map[string]any{"note": "x", "count": n}, to(t, p)); err == nil {
			t.Errorf("%T %v was taken as a whole number: %s", n, n, r.Body)
		}
	}
}

func TestR13_ContentFaultsNameTheFieldAndNeverItsValue(t *testing.T) {
	t.Parallel()
	p := parse(t, smallProfile)
	deep := any("x")
	for range 40 {
		deep = []any{deep}
	}
	for name, tc := range map[string]struct {
		content map[string]any
		want    string
	}{
		"missing":           {map[string]any{}, `field "note" is missing`},
		"blank":             {map[string]any{"note": "  "}, `field "note": is required and blank`},
		"undeclared":        {map[string]any{"note": "x", "nope": 1}, `field "nope" is not declared (allowed: note, count, more, tags, place)`},
		"too long":          {map[string]any{"note": strings.Repeat("y", 41)}, `field "note": has 41 bytes, allowed are 40`},
		"not text":          {map[string]any{"note": json.Number("7")}, `must be a text; write it inside a text in the flow`},
		"not UTF-8":         {map[string]any{"note": "se\xffcret"}, `is not valid UTF-8`},
		"mark":              {map[string]any{"note": "~~holdfast.key~~"}, `has the text "~~holdfast." in it`},
		"mark cut":          {map[string]any{"note": "~~holdfast."}, `has the text "~~holdfast." in it`},
		"mark deep":         {map[string]any{"note": "x", "more": map[string]any{"a": []any{"~~holdfast.x"}}}, `has the text "~~holdfast." in it`},
		"mark in name":      {map[string]any{"note": "x", "more": map[string]any{target.HoleReference("a"): 1}}, "the name of an object's member"},
		"mark around marks": {map[string]any{"note": "~~hold~~holdfast.key~~fast.key~~"}, `has the text "~~holdfast." in it`},
		"too deep":          {map[string]any{"note": "x", "more": map[string]any{"a": deep}}, "nested deeper than 32 levels"},
		"too many":          {map[string]any{"note": "x", "tags": []any{"a", "b", "c", "d"}}, "has 4 items, allowed are 3"},
		"item":              {map[string]any{"note": "x", "tags": []any{"a", 7}}, "item 1: must be a text"},
		"huge":              {map[string]any{"note": "x", "more": map[string]any{"a": strings.Repeat("y", 1<<18)}}, "bytes, allowed are 262144"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := target.Render(p, testOp, tc.content, to(t, p))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "yyy") || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q in it and no content", err, tc.want)
			}
		})
	}
}

func TestOptionalFieldsThatAreLeftOutLeaveNothing(t *testing.T) {
	t.Parallel()
	p := parse(t, smallProfile)
	r, err := target.Render(p, testOp, map[string]any{"note": "x"}, to(t, p))
	want := `{"fixed":[1,2.50,true,null,"v v1/acc-1"],"id":"` + testOp + `","note":"x"}`
	if err != nil || string(r.Body) != want {
		t.Errorf("got %s, %v\nwant %s", r.Body, err, want)
	}
}

// anyText draws texts that encoders disagree about.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u2028\u2029", "<b>Q&A</b>", "😀\uFF5E", "\x00\x1f\x7f", `\"\\`, "~~hold", "${operation}", "a/../b?c#d%"}))
}

func anyEffect() *rapid.Generator[map[string]any] {
	leaf := rapid.OneOf(rapid.Map(anyText(), func(s string) any { return s }), rapid.Map(rapid.Int64(), func(n int64) any { return json.Number(fmt.Sprint(n)) }),
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }))
	return rapid.MapOf(anyText(), rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(leaf, 0, 4), func(l []any) any { return l })))
}

// R5, B008: freeze, store, load and hash is stable for any text.
func TestR05_FreezeStoreLoadHashIsStable(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	d := to(t, p)
	rapid.Check(t, func(t *rapid.T) {
		effect := anyEffect().Draw(t, "effect")
		r, err := target.Render(p, testOp, map[string]any{"effect": effect}, d)
		if err != nil {
			t.Fatalf("%v", err)
		}
		again, err := target.Decode(r.Encode())
		if err != nil {
			t.Fatalf("%v", err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatalf("(-frozen +loaded):\n%s", diff)
		}
		var back struct{ Effect map[string]any }
		dec := json.NewDecoder(strings.NewReader(string(again.Body)))
		dec.UseNumber()
		if err := dec.Decode(&back); err != nil {
			t.Fatalf("%v", err)
		}
		if diff := cmp.Diff(effect, back.Effect); diff != "" && len(effect)+len(back.Effect) > 0 {
			t.Fatalf("content changed (-given +frozen):\n%s", diff)
		}
		second, err := target.Render(p, testOp, map[string]any{"effect": back.Effect}, d)
		if err != nil || second.Digest() != r.Digest() {
			t.Fatalf("digest %s, again %s, %v", r.Digest(), second.Digest(), err)
		}
	})
}

// R5: any single changed byte of a stored request is refused or gives another digest.
func TestR05_AChangedByteIsSeen(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	r, err := target.Render(p, testOp, contents()["generic-key"], to(t, p))
	if err != nil {
		t.Fatal(err)
	}
	encoded := r.Encode()
	for i := range encoded {
		changed := append([]byte(nil), encoded...)
		changed[i] ^= 1
		if got, err := target.Decode(changed); err == nil && got.Digest() == r.Digest() {
			t.Fatalf("byte %d changed from %q to %q unseen", i, encoded[i], changed[i])
		}
	}
}
