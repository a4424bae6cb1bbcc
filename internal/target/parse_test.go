package target_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// smallProfile is the least that loads.
const smallProfile = `profile: small
version: 3
title: Small
summary: Makes one thing.
contract: POST /things.
destination: { base_url: 'https://api.example.com', api_version: v1, account: acc-1 }
auth: { kind: none, doc: contract, checked: 2026-11-29, grade: A }
timeout: 10s
content:
  - { name: note, type: string, required: true, max: 40 }
  - { name: count, type: integer }
  - { name: more, type: object }
  - { name: tags, type: strings, max: 3 }
  - { name: place, type: string }
request:
  method: POST
  path: /things
  query: { place: '${content.place}' }
  body: { note: '${content.note}', count: '${content.count}', more: '${content.more}', tags: '${content.tags}', id: '${operation}', fixed: [1, 2.50, true, null, 'v ${api_version}/${account}'] }
  doc: contract
  checked: 2026-11-29
  grade: A
answers:
  - { status: [201], outcome: executed, reference: /id, reason: made, doc: contract, checked: 2026-11-29, grade: A }
protection: { kind: none }
retry: { attempts: 3, first: 5s, factor: 2, max: 1m }
recovery: { order: look_up, replays: 0, quiet: 5m }
`

func parse(tb testing.TB, text string) *target.Profile {
	tb.Helper()
	p, err := target.Parse("small.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

const claimText = ", doc: contract, checked: 2026-11-29, grade: A"

func TestR13_ProfileFaultsNameTheirPlaceAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ old, new, want string }{
		"unknown key":        {"timeout: 10s", "timeout: 10s\ntimeuot: 5s", `small.yaml:9:1: unknown key "timeuot" in profile (allowed: profile, version,`},
		"no page":            {"kind: none, doc: contract,", "kind: none,", `small.yaml:7:7: auth needs "doc"`},
		"no date":            {"kind: none, doc: contract, checked: 2026-11-29,", "kind: none, doc: contract,", `small.yaml:7:7: auth needs "checked"`},
		"no grade":           {"auth: { kind: none, doc: contract, checked: 2026-11-29, grade: A }", "auth: { kind: none, doc: contract, checked: 2026-11-29 }", `auth needs "grade"`},
		"grade U":            {"auth: { kind: none, doc: contract, checked: 2026-11-29, grade: A }", "auth: { kind: none, doc: contract, checked: 2026-11-29, grade: U }", "small.yaml:7:64: grade U is unverified, and what is unverified must be treated as absent: leave this statement out"},
		"no such date":       {"kind: none, doc: contract, checked: 2026-11-29", "kind: none, doc: contract, checked: 2026-02-31", `checked "2026-02-31" is no date`},
		"page is no page":    {"kind: none, doc: contract", "kind: none, doc: somewhere", `doc "somewhere" must be an https address`},
		"no contract":        {"contract: POST /things.\n", "", `profile needs "contract"`},
		"http elsewhere":     {"https://api.example.com", "http://api.example.com", "base_url must be an https address"},
		"http on loopback":   {"https://api.example.com", "http://127.0.0.1:80", "base_url must be an https address"},
		"type":               {"type: integer", "type: int", `small.yaml:11:26: type "int" is not known (allowed: string, integer, number, boolean, strings, object)`},
		"placeholder":        {"'${content.note}'", "'${content.nope}'", `unknown placeholder ${content.nope} (allowed: operation, account, api_version, content.note, content.count`},
		"open placeholder":   {"'${content.note}'", "'${content.note'", "a placeholder is not closed with }"},
		"status class":       {"status: [201]", "status: [2xx]", "an outcome that proves something names each status"},
		"no reference":       {" reference: /id,", "", "an executed rule, and only that, needs a reference"},
		"not a pointer":      {"reference: /id", "reference: id", "reference must be a JSON Pointer such as /results/0/id"},
		"no shape":           {"outcome: executed, reference: /id", "outcome: not_executed", "a not_executed rule needs the target's own error shape"},
		"only absence":       {"outcome: executed, reference: /id", "where: [{ json: /id, exists: false }], outcome: not_executed", "a not_executed rule needs the target's own error shape"},
		"unknown outcome":    {"outcome: executed", "outcome: fine", `outcome "fine" is not known (allowed: executed, not_executed, unknown, conflict)`},
		"duration":           {"timeout: 10s", "timeout: 10", "timeout must be a duration with its unit from 1s to 1m0s"},
		"too long":           {"timeout: 10s", "timeout: 10m", "timeout must be a duration with its unit from 1s to 1m0s"},
		"twice":              {"title: Small", "title: Small\ntitle: Big", `small.yaml:4:1: key "title" is there twice`},
		"twice in the body":  {"body: { note:", "body: { note: x, note:", `key "note" is there twice`},
		"alias":              {"title: Small", "title: &a Small", "anchors, aliases and merges are not allowed"},
		"other file":         {"profile: small", "profile: other", `profile "other" must stand in a file of its own name, other.yaml`},
		"replay without key": {"order: look_up, replays: 0", "order: replay, replays: 3", "order replay needs a documented key"},
		"key without window": {"{ kind: none }\nretry", "{ kind: key, key: { header: Idempotency-Key" + claimText + " } }\nretry", "both key (where the key goes) and window"},
		"key nowhere":        {"{ kind: none }\nretry", "{ kind: key, key: { json: /nope" + claimText + " }, window: { for: 24h, margin: 1h" + claimText + " } }\nretry", "the request's body has no text at /nope"},
		"margin":             {"{ kind: none }\nretry", "{ kind: key, key: { header: K" + claimText + " }, window: { for: 1h, margin: 1h" + claimText + " } }\nretry", "the margin leaves nothing of the window"},
		"secret in auth":     {"kind: none,", "kind: bearer, secret: 'sk_live_abc',", "must be the name of a secret"},
		"reserved header":    {"  body: { note", "  headers: { Host: x }\n  body: { note", "header Host is written by the engine"},
		"content in header":  {"  body: { note", "  headers: { X-Note: '${content.note}' }\n  body: { note", "unknown placeholder ${content.note} (allowed: operation, account, api_version)"},
		"not YAML":           {"title: Small", "title: [", "small.yaml:3:1: this is not YAML"},
		"YAML number":        {"fixed: [1,", "fixed: [0x1F,", "is written as YAML but not as JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(smallProfile, tc.old) {
				t.Fatalf("the small profile has no %q", tc.old)
			}
			_, err := target.Parse("small.yaml", []byte(strings.Replace(smallProfile, tc.old, tc.new, 1)))
			var fault *target.Fault
			if err == nil || !errors.As(err, &fault) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %q in it", err, tc.want)
			}
		})
	}
}

func TestSeveralFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := target.Parse("small.yaml", []byte("profile: small\nversion: 0\ncolour: red\n"))
	for _, want := range []string{`unknown key "colour"`, "version must be", `profile needs "auth"`, `profile needs "answers"`, `profile needs "protection"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

// R3: what the core may rely on, per shipped profile.
func TestR03_PoliciesOfTheShippedTargets(t *testing.T) {
	t.Parallel()
	type rely struct {
		Protection           operation.Protection
		Window               time.Duration
		Order                operation.Order
		Lookup, AbsentCounts bool
		Visible              time.Duration
	}
	want := map[string]rely{
		"hubspot-task":          {operation.ProtectionNatural, 0, operation.OrderLookUp, true, false, 0},
		"hubspot-task-contact":  {operation.ProtectionNatural, 0, operation.OrderReplay, false, false, 0},
		"resend-email":          {operation.ProtectionKey, 24 * time.Hour, operation.OrderReplay, false, false, 0},
		"shopify-discount-code": {operation.ProtectionNone, 0, operation.OrderLookUp, true, false, 0}, // the code is not made from our id
		"generic-key":           {operation.ProtectionKey, 24 * time.Hour, operation.OrderReplay, false, false, 0},
		"generic-natural":       {operation.ProtectionNatural, 0, operation.OrderReplay, false, false, 0},
		"generic-lookup":        {operation.ProtectionNone, 0, operation.OrderLookUp, true, true, 30 * time.Second},
		"generic-none":          {operation.ProtectionNone, 0, operation.OrderLookUp, false, false, 0},
	}
	got := map[string]rely{}
	for name, p := range shipped(t) {
		o := p.Policy(target.Options{})
		got[name] = rely{o.Protection, o.KeyWindow, o.Order, o.Lookup, o.AbsentCounts, o.Visible}
		if o.Skew != 5*time.Second || o.Lease < 2*time.Minute || o.Quiet <= 0 || o.AttemptsMax < 1 || o.Timeout <= 0 {
			t.Errorf("%s: bounds %+v", name, o)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPolicyTakesLeaseAndSkewFromTheApp(t *testing.T) {
	t.Parallel()
	o := parse(t, smallProfile).Policy(target.Options{Skew: time.Second, Lease: 15 * time.Minute})
	if o.Skew != time.Second || o.Lease != 15*time.Minute {
		t.Errorf("skew %v, lease %v", o.Skew, o.Lease)
	}
}
