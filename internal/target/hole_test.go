package target_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func render(tb testing.TB, name string) target.Request {
	tb.Helper()
	p := shipped(tb)[name]
	r, err := target.Render(p, testOp, contents()[name], to(tb, p))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestKeyOfAGeneration(t *testing.T) {
	t.Parallel()
	if got := []string{target.Key(testOp, 0), target.Key(testOp, 1), target.Key(testOp, 12)}; !slices.Equal(got, []string{testOp, testOp + "-g1", testOp + "-g12"}) {
		t.Errorf("keys %v", got)
	}
}

func TestHolesAreListedAndFilled(t *testing.T) {
	t.Parallel()
	r := render(t, "resend-email")
	if diff := cmp.Diff([]target.Hole{{}, {Stage: "crm_task"}}, target.Holes(r)); diff != "" {
		t.Errorf("holes (-want +got):\n%s", diff)
	}
	before := r.Digest()
	filled, err := target.Fill(r, target.Key(testOp, 2), map[string]operation.Reference{"crm_task": `7"7\14`})
	if err != nil {
		t.Fatal(err)
	}
	if len(target.Holes(filled)) != 0 || !strings.Contains(string(filled.Body), `"subject":"Task 7\"7\\14"`) {
		t.Errorf("filled body %s", filled.Body)
	}
	if i := slices.Index(filled.Headers, target.Header{Name: "Idempotency-Key", Value: testOp + "-g2"}); i < 0 {
		t.Errorf("headers %v have no key", filled.Headers)
	}
	if r.Digest() != before || filled.Digest() == before {
		t.Error("filling changed the approved request, or left the digest as it was")
	}
	again, err := target.Fill(filled, target.Key(testOp, 2), nil)
	if err != nil || again.Digest() != filled.Digest() {
		t.Errorf("a filled request has nothing to fill: %v", err)
	}
}

func TestR05_AReferenceCannotLeadToAnotherResource(t *testing.T) {
	t.Parallel()
	r := render(t, "hubspot-task-contact")
	for ref, want := range map[operation.Reference]string{
		"7714":                              "/crm/objects/2026-03/tasks/7714/associations/default/contacts/101",
		"7:7@14=+":                          "/crm/objects/2026-03/tasks/7:7@14=+/associations/default/contacts/101",
		"77?14#x":                           "/crm/objects/2026-03/tasks/77%3F14%23x/associations/default/contacts/101",
		"..":                                "",
		".":                                 "",
		"../../emails":                      "",
		"7/8":                               "",
		`7\8`:                               "",
		"%2e%2e":                            "",
		"":                                  "",
		"7 8":                               "",
		"7\n8":                              "",
		"ö":                                 "",
		"~~holdfast.key~~":                  "",
		operation.Reference(long(257, "7")): "",
	} {
		filled, err := target.Fill(r, target.Key(testOp, 0), map[string]operation.Reference{"crm_task": ref})
		if want == "" {
			if err == nil {
				t.Errorf("reference %q went into %s", ref, filled.URL)
			}
			continue
		}
		if err != nil || filled.URL != "https://api.hubapi.com"+want {
			t.Errorf("reference %q: %s, %v; want %s", ref, filled.URL, err, want)
		}
	}
}

func long(n int, s string) string { return strings.Repeat(s, n) }

func TestFillNeedsEveryValue(t *testing.T) {
	t.Parallel()
	r := render(t, "resend-email")
	for name, tc := range map[string]struct {
		key  string
		refs map[string]operation.Reference
		want string
	}{
		"no reference": {testOp, nil, `stage "crm_task" has no reference yet`},
		"no key":       {"", map[string]operation.Reference{"crm_task": "7"}, "the key must be"},
		"bad key":      {"key with spaces", map[string]operation.Reference{"crm_task": "7"}, "the key must be"},
	} {
		if _, err := target.Fill(r, tc.key, tc.refs); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestContainsMarkLooksEverywhere(t *testing.T) {
	t.Parallel()
	mark := target.HoleReference("crm_task")
	for _, v := range []any{mark, "a" + mark + "b", []any{1, mark}, []string{mark}, map[string]any{mark: 1}, map[string]any{"a": []any{map[string]any{"b": mark}}}} {
		if !target.ContainsMark(v) {
			t.Errorf("%v has a mark that was not seen", v)
		}
	}
	for _, v := range []any{nil, 7, "~~hold fast~~", []any{}, map[string]any{"a": "b"}} {
		if target.ContainsMark(v) {
			t.Errorf("%v has no mark", v)
		}
	}
}

func TestKeyInTheBody(t *testing.T) {
	t.Parallel()
	p := parse(t, strings.Replace(strings.Replace(smallProfile, "fixed: [", "headers: { idempotencyKey: here }, fixed: [", 1),
		"{ kind: none }\nretry", "{ kind: key, key: { json: /headers/idempotencyKey"+claimText+" }, window: { for: 15m, margin: 1m"+claimText+" } }\nretry", 1))
	r, err := target.Render(p, testOp, map[string]any{"note": "x"}, to(t, p))
	if err != nil {
		t.Fatal(err)
	}
	filled, err := target.Fill(r, target.Key(testOp, 1), nil)
	if err != nil || !strings.Contains(string(filled.Body), `"idempotencyKey":"`+testOp+`-g1"`) {
		t.Errorf("got %s, %v", filled.Body, err)
	}
}

// Filling is deterministic and leaves valid canonical JSON, whatever the reference is.
func TestFilledBodyStaysTheApprovedOne(t *testing.T) {
	t.Parallel()
	r := render(t, "resend-email")
	rapid.Check(t, func(t *rapid.T) {
		ref := operation.Reference(rapid.StringMatching(`[!-~]{1,64}`).Filter(func(s string) bool { return !target.ContainsMark(s) }).Draw(t, "reference"))
		refs := map[string]operation.Reference{"crm_task": ref}
		a, err := target.Fill(r, target.Key(testOp, 0), refs)
		if err != nil {
			t.Fatalf("%v", err)
		}
		b, _ := target.Fill(r, target.Key(testOp, 0), refs)
		if a.Digest() != b.Digest() || len(target.Holes(a)) != 0 {
			t.Fatalf("filled twice: %s and %s, holes %v", a.Digest(), b.Digest(), target.Holes(a))
		}
		if back, err := target.Decode(a.Encode()); err != nil || back.Digest() != a.Digest() {
			t.Fatalf("stored and loaded: %v", err)
		}
	})
}

// R5: a stored request that could not be sent exactly as it stands is refused when it is read.
func TestR05_StoredRequestsAreCheckedAgain(t *testing.T) {
	t.Parallel()
	good := render(t, "generic-none")
	for name, change := range map[string]func(*target.Request){
		"dot segments":    func(r *target.Request) { r.URL = r.Base + "/a/../b" },
		"other host":      func(r *target.Request) { r.URL = "https://elsewhere.example.com/effects" },
		"host continued":  func(r *target.Request) { r.URL = r.Base + ".evil.example.com/effects" },
		"plain http":      func(r *target.Request) { r.Base, r.URL = "http://example.com", "http://example.com/effects" },
		"method":          func(r *target.Request) { r.Method = "CONNECT" },
		"two lines":       func(r *target.Request) { r.Headers[0].Value = "a\r\nHost: b" },
		"reserved header": func(r *target.Request) { r.Headers = []target.Header{{Name: "Authorization", Value: "Bearer x"}} },
		"unsorted":        func(r *target.Request) { slices.Reverse(r.Headers) },
		"spelling":        func(r *target.Request) { r.Headers = []target.Header{{Name: "x-a", Value: "b"}} },
		"space in path":   func(r *target.Request) { r.URL = r.Base + "/a b" },
		"fragment":        func(r *target.Request) { r.URL = r.Base + "/a#b" },
	} {
		r := good
		r.Headers = slices.Clone(good.Headers)
		change(&r)
		if _, err := target.Decode(r.Encode()); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := target.Decode(good.Encode()); err != nil {
		t.Errorf("the good one: %v", err)
	}
}
