package target_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
	"holdfast/internal/target"
	"holdfast/internal/target/wiretest"
)

type lookCase struct {
	profile string
	status  int
	body    string
	want    target.LookResult
	ref     operation.Reference
	whole   bool // complete
}

func lookCases() []lookCase {
	ours, other := `"operation_id":"`+testOp+`"`, `"operation_id":"op_of_somebody_else"`
	code := func(inner string) string { return `{"data":{"codeDiscountNodeByCode":` + inner + `}}` }
	return []lookCase{
		{"generic-lookup", 200, `{"results":[],"total":0}`, target.LookAbsent, "", true},
		{"generic-lookup", 200, `{"results":[],"total":1}`, target.LookAbsent, "", false},
		{"generic-lookup", 200, `{"results":[]}`, target.LookAbsent, "", false},
		{"generic-lookup", 200, `{"results":[],"total":null}`, target.LookAbsent, "", false},
		{"generic-lookup", 200, `{"results":[{"id":"e1",` + ours + `}],"total":1}`, target.LookFound, "e1", true},
		{"generic-lookup", 200, `{"results":[{"id":"e1",` + ours + `}],"total":2}`, target.LookConflict, "", false},
		{"generic-lookup", 200, `{"results":[{"id":"e1",` + ours + `},{"id":"e2",` + ours + `}],"total":2}`, target.LookConflict, "", false},
		{"generic-lookup", 200, `{"results":[{"id":"e1",` + ours + `},{"id":"e2",` + ours + `}],"total":1}`, target.LookConflict, "", false},
		{"generic-lookup", 200, `{"results":[{"id":"e1",` + other + `}],"total":1}`, target.LookConflict, "", false},
		{"generic-lookup", 200, `{"results":[{"id":"e1",` + ours + `},{"id":"e2",` + other + `}],"total":2}`, target.LookConflict, "", false},
		{"generic-lookup", 200, `{"results":[{"id":"e1"}],"total":1}`, target.LookConflict, "", false},
		{"generic-lookup", 200, `{"results":[{` + ours + `}],"total":1}`, target.LookFailed, "", false},
		{"generic-lookup", 200, `{"results":{}}`, target.LookFailed, "", false},
		{"generic-lookup", 200, `{}`, target.LookFailed, "", false},
		{"generic-lookup", 200, `<html>`, target.LookFailed, "", false},
		{"generic-lookup", 404, `{"results":[],"total":0}`, target.LookFailed, "", false},

		{"hubspot-task", 200, `{"id":"7714","properties":{"holdfast_operation_id":"` + testOp + `"}}`, target.LookFound, "7714", true},
		{"hubspot-task", 200, `{"id":"7714","properties":{"holdfast_operation_id":"other"}}`, target.LookConflict, "", false},
		{"hubspot-task", 200, `{"id":"7714"}`, target.LookConflict, "", false},
		{"hubspot-task", 404, hubError, target.LookAbsent, "", false}, // how soon a read sees a task is not documented
		{"hubspot-task", 404, `<html>not found</html>`, target.LookFailed, "", false},
		{"hubspot-task", 403, hubError, target.LookFailed, "", false},
		{"hubspot-task", 429, hubLimit, target.LookFailed, "", false},

		{"shopify-discount-code", 200, code(`{"id":"gid://1","codeDiscount":{"title":"Spring ` + testOp + `"}}`), target.LookFound, "gid://1", true},
		{"shopify-discount-code", 200, code(`{"id":"gid://1","codeDiscount":{"title":"Spring ` + testOp + `x"}}`), target.LookConflict, "", false},
		{"shopify-discount-code", 200, code(`{"id":"gid://1","codeDiscount":{"title":"Spring"}}`), target.LookConflict, "", false},
		{"shopify-discount-code", 200, code(`{"id":"gid://1","codeDiscount":{}}`), target.LookConflict, "", false},
		{"shopify-discount-code", 200, code(`null`), target.LookAbsent, "", false},
		{"shopify-discount-code", 200, `{"data":{"codeDiscountNodeByCode":null},"errors":[{"message":"denied"}]}`, target.LookFailed, "", false},
		{"shopify-discount-code", 200, `{"errors":[{"extensions":{"code":"THROTTLED"}}]}`, target.LookFailed, "", false},
	}
}

// R4: found needs our mark, several are a conflict, and what the profile does not know is no finding at all.
func TestR04_WhatLookupsShow(t *testing.T) {
	t.Parallel()
	all := shipped(t)
	for _, tc := range lookCases() {
		got := target.ReadLookup(all[tc.profile], testOp, target.Answer{Status: tc.status, Body: []byte(tc.body), Complete: true})
		if got.Result != tc.want || got.Reference != tc.ref || got.Complete != tc.whole {
			t.Errorf("%s %d %s:\ngot %+v\nwant %v %q complete %t", tc.profile, tc.status, tc.body, got, tc.want, tc.ref, tc.whole)
		}
		if cut := target.ReadLookup(all[tc.profile], testOp, target.Answer{Status: tc.status, Body: []byte(tc.body)}); cut.Result != target.LookFailed {
			t.Errorf("%s %s: a cut answer shows %v, want failed", tc.profile, tc.body, cut.Result)
		}
	}
}

// B055: not found inside the lag is a lookup that found nothing, and only the policy's delay makes it count.
func TestCaseB055_AbsentCountsOnlyWhereTheDelayIsDocumented(t *testing.T) {
	t.Parallel()
	for name, p := range shipped(t) {
		o := p.Policy(target.Options{})
		documented := p.Lookup != nil && p.Lookup.Visible != nil && p.Lookup.Complete != nil
		if o.AbsentCounts != documented || documented && o.Visible < 30*time.Second {
			t.Errorf("%s: absent counts %t after %v, documented %t", name, o.AbsentCounts, o.Visible, documented)
		}
	}
}

func TestLookUpAsksWithItsOwnCallOnly(t *testing.T) {
	t.Parallel()
	all := shipped(t)
	for name, tc := range map[string]struct{ method, uri, body string }{
		"generic-lookup": {"GET", "/effects?operation_id=" + testOp, ""},
		"hubspot-task":   {"GET", "/crm/objects/2026-03/tasks/" + testOp + "?idProperty=holdfast_operation_id&properties=holdfast_operation_id", ""},
		"shopify-discount-code": {"POST", "/admin/api/2026-10/graphql.json",
			`{"query":"query holdfast($code: String!) { codeDiscountNodeByCode(code: $code) { id codeDiscount { ... on DiscountCodeBasic { title } } } }","variables":{"code":"SPRING-7"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := all[name]
			server := wiretest.New(t, say(answer(404, hubError)))
			d, err := p.To(target.Destination{Base: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			pinned, err := target.Render(p, testOp, contents()[name], d)
			if err != nil {
				t.Fatal(err)
			}
			newEngine(clock.New()).LookUp(t.Context(), p, pinned)
			server.Close()
			got := <-server.Received
			if diff := cmp.Diff([]string{tc.method, tc.uri, tc.body}, []string{got.Method, got.URI, string(got.Body)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c, r := server.Counts(); c != 1 || r != 1 {
				t.Errorf("%d connections with %d requests, want 1 with 1", c, r)
			}
		})
	}
}

func TestLookUpThatCannotBeMade(t *testing.T) {
	t.Parallel()
	all := shipped(t)
	engine := newEngine(clock.New())
	server := wiretest.New(t, func(c *wiretest.Conn, _ int) { c.Reset() })
	pinned := filledFor(t, all["generic-lookup"], server.URL)
	noCode := pinned
	noCode.Target, noCode.APIVersion = "shopify-discount-code", "2026-10"
	for name, tc := range map[string]struct {
		got  target.Looked
		want string
	}{
		"no lookup":      {engine.LookUp(t.Context(), all["generic-none"], pinned), "no way to ask"},
		"other target":   {engine.LookUp(t.Context(), all["hubspot-task"], pinned), "another target"},
		"no value":       {engine.LookUp(t.Context(), all["shopify-discount-code"], noCode), "the request has no such value"},
		"no answer":      {engine.LookUp(t.Context(), all["generic-lookup"], pinned), "the connection ended without an answer"},
		"answer unknown": {target.ReadLookup(all["generic-lookup"], testOp, target.Answer{Status: 500, Complete: true}), "does not know (HTTP 500)"},
	} {
		if tc.got.Result != target.LookFailed || !strings.Contains(tc.got.Detail, tc.want) {
			t.Errorf("%s: got %+v, want failed with %q", name, tc.got, tc.want)
		}
	}
}

func TestLookResultsAreEvidence(t *testing.T) {
	t.Parallel()
	want := map[target.LookResult]operation.EvidenceKind{target.LookFailed: operation.EvidenceLookupFailed, target.LookFound: operation.EvidenceLookupFound,
		target.LookAbsent: operation.EvidenceLookupAbsent, target.LookConflict: operation.EvidenceLookupConflict}
	for r, kind := range want {
		if r.Evidence() != kind || "lookup_"+r.String() != string(kind) {
			t.Errorf("%d: %s, %s", r, r.Evidence(), r)
		}
	}
}

// A found rule of a target that answers an unasked list must see the mark in the item, not beside it.
func TestMarkBesideTheItemIsNoMark(t *testing.T) {
	t.Parallel()
	body, _ := json.Marshal(map[string]any{"operation_id": testOp, "results": []any{map[string]any{"id": "e1"}}})
	got := target.ReadLookup(shipped(t)["generic-lookup"], testOp, target.Answer{Status: 200, Body: body, Complete: true})
	if got.Result != target.LookConflict {
		t.Errorf("got %+v, want conflict", got)
	}
}
