package target_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

type answerCase struct {
	profile string
	status  int
	body    string
	want    target.Verdict
	header  http.Header
}

func (c answerCase) answer(complete bool) target.Answer {
	return target.Answer{Status: c.status, Header: c.header, Body: []byte(c.body), Complete: complete}
}

const (
	hubError   = `{"status":"error","message":"m","correlationId":"c-1","category":"VALIDATION_ERROR"}`
	hubLimit   = `{"status":"error","errorType":"RATE_LIMIT","policyName":"DAILY","correlationId":"c-1"}`
	refused422 = `{"error":{"code":"bad","effect":"none"}}`
)

func proven(detail string, retry bool) target.Verdict {
	return target.Verdict{Outcome: operation.OutcomeNotExecuted, Retry: retry, Detail: detail}
}

func done(ref operation.Reference, detail string) target.Verdict {
	return target.Verdict{Outcome: operation.OutcomeExecuted, Reference: ref, Detail: detail}
}

func doubt(detail string) target.Verdict { return target.Verdict{Detail: detail} }

func answerCases() []answerCase {
	return []answerCase{
		{"hubspot-task", 200, `{"status":"COMPLETE","results":[{"id":"7714","new":true}]}`, done("7714", "task written (HTTP 200)"), nil},
		{"hubspot-task", 200, `{"results":[{"id":"1"},{"id":"2"}]}`, doubt("answer that the profile does not know (HTTP 200)"), nil},
		{"hubspot-task", 200, `{"results":[]}`, doubt("task written without a usable reference (HTTP 200)"), nil},
		{"hubspot-task", 207, `{"results":[{"id":"7714","properties":{"holdfast_operation_id":"` + testOp + `"}}],"errors":[{}]}`, done("7714", "task written beside an error (HTTP 207)"), nil},
		{"hubspot-task", 207, `{"results":[{"id":"7714","properties":{"holdfast_operation_id":"op_other"}}]}`, doubt("answer that the profile does not know (HTTP 207)"), nil},
		{"hubspot-task", 207, `{"results":[],"errors":[{"category":"VALIDATION_ERROR","context":{"objectWriteTraceId":["` + testOp + `"]}}]}`, proven("the one input was refused (HTTP 207)", false), nil},
		{"hubspot-task", 207, `{"results":[],"errors":[{"category":"VALIDATION_ERROR","context":{"objectWriteTraceId":["other"]}}]}`, doubt("answer that the profile does not know (HTTP 207)"), nil},
		{"hubspot-task", 400, hubError, proven("refused (HTTP 400)", false), nil},
		{"hubspot-task", 401, hubError, proven("credentials refused (HTTP 401)", true), nil},
		{"hubspot-task", 409, hubError, doubt("answer that the profile does not know (HTTP 409)"), nil},
		{"hubspot-task", 429, hubLimit, proven("rate limit (HTTP 429)", true), nil},
		{"hubspot-task", 429, `{"message":"slow down"}`, doubt("answer that the profile does not know (HTTP 429)"), nil},
		{"hubspot-task", 500, hubError, doubt("answer that the profile does not know (HTTP 500)"), nil},

		{"hubspot-task-contact", 200, `{"results":[{"from":{"id":"7714"},"to":{"id":101}}]}`, done("7714:101", "task tied to the contact (HTTP 200)"), nil},
		{"hubspot-task-contact", 200, `{"results":[{"from":{"id":"7714"}}]}`, doubt("task tied to the contact without a usable reference (HTTP 200)"), nil},
		{"hubspot-task-contact", 401, hubError, proven("credentials refused (HTTP 401)", true), nil},
		{"hubspot-task-contact", 404, hubError, proven("refused (HTTP 404)", false), nil},
		{"hubspot-task-contact", 404, `<html>`, doubt("answer that the profile does not know (HTTP 404)"), nil},
		{"hubspot-task-contact", 429, hubLimit, proven("rate limit (HTTP 429)", true), nil},

		{"resend-email", 200, `{"id":"4ef9"}`, done("4ef9", "accepted for sending (HTTP 200)"), nil},
		{"resend-email", 409, `{"statusCode":409,"name":"concurrent_idempotent_requests"}`, target.Verdict{Retry: true, Detail: "the same key is still being worked on (HTTP 409)"}, nil},
		{"resend-email", 409, `{"statusCode":409,"name":"invalid_idempotent_request"}`, target.Verdict{Conflict: true, NoRepeat: true, Detail: "the key was used with another body (HTTP 409)"}, nil},
		{"resend-email", 409, `{"name":"something_new"}`, doubt("answer that the profile does not know (HTTP 409)"), nil},
		{"resend-email", 400, `{"name":"invalid_idempotency_key","message":"m"}`, proven("the key was refused (HTTP 400)", false), nil},
		{"resend-email", 422, `{"statusCode":422,"name":"validation_error","message":"m"}`, proven("refused (HTTP 422)", false), nil},
		{"resend-email", 401, `{"statusCode":401,"name":"missing_api_key","message":"m"}`, proven("credentials refused (HTTP 401)", true), nil},
		{"resend-email", 401, `{"message":"m"}`, doubt("answer that the profile does not know (HTTP 401)"), nil},
		{"resend-email", 422, `{"message":"m"}`, doubt("answer that the profile does not know (HTTP 422)"), nil},
		{"resend-email", 429, `{"name":"rate_limit_exceeded","message":"m"}`, proven("rate limit (HTTP 429)", true), nil},
		{"resend-email", 500, `{"name":"internal_server_error","message":"m"}`, doubt("answer that the profile does not know (HTTP 500)"), nil},

		{"shopify-discount-code", 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":{"id":"gid://shopify/DiscountCodeNode/1"},"userErrors":[]}}}`, done("gid://shopify/DiscountCodeNode/1", "discount code created (HTTP 200)"), nil},
		{"shopify-discount-code", 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":null,"userErrors":[]}}}`, doubt("discount code created without a usable reference (HTTP 200)"), nil},
		{"shopify-discount-code", 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":null,"userErrors":[{"code":"TAKEN"}]}}}`, target.Verdict{Conflict: true, Detail: "a discount with this code exists (HTTP 200)"}, nil},
		{"shopify-discount-code", 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":null,"userErrors":[{"code":"INTERNAL_ERROR"}]}}}`, doubt("the shop reports an error of its own (HTTP 200)"), nil},
		{"shopify-discount-code", 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":null,"userErrors":[{"code":"BLANK"}]}}}`, proven("the input was refused (HTTP 200)", false), nil},
		{"shopify-discount-code", 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":{"id":"1"},"userErrors":[{"code":"BLANK"}]}}}`, doubt("answer that the profile does not know (HTTP 200)"), nil},
		{"shopify-discount-code", 200, `{"errors":[{"extensions":{"code":"THROTTLED"}}]}`, proven("throttled (HTTP 200)", true), nil},
		{"shopify-discount-code", 429, `{"errors":[{"extensions":{"code":"THROTTLED"}}]}`, proven("throttled (HTTP 429)", true), nil},
		{"shopify-discount-code", 200, `{"errors":[{"extensions":{"code":"THROTTLED"}}],"data":{"x":1}}`, doubt("answer that the profile does not know (HTTP 200)"), nil},
		{"shopify-discount-code", 200, `{"errors":[{"extensions":{"code":"MAX_COST_EXCEEDED"}}]}`, proven("the query costs too much (HTTP 200)", false), nil},
		{"shopify-discount-code", 200, `{"errors":[{"message":"Internal error"}],"data":null}`, doubt("answer that the profile does not know (HTTP 200)"), nil},

		{"generic-key", 201, `{"id":"eff-1"}`, done("eff-1", "carried out (HTTP 201)"), nil},
		{"generic-key", 200, `{"id":"eff-1"}`, done("eff-1", "carried out (HTTP 200)"), nil},
		{"generic-key", 409, `{"error":{"code":"key_reused"}}`, target.Verdict{Conflict: true, NoRepeat: true, Detail: "the key was used with another body (HTTP 409)"}, nil},
		{"generic-key", 422, `{"error":{"code":"key_reused"}}`, target.Verdict{Conflict: true, NoRepeat: true, Detail: "the key was used with another body (HTTP 422)"}, nil},
		{"generic-key", 500, `oops`, target.Verdict{NoRepeat: true, Detail: "an error is stored under the key (HTTP 500)"}, http.Header{"Idempotent-Replayed": {"true"}}},
		{"generic-key", 500, `oops`, doubt("answer that the profile does not know (HTTP 500)"), http.Header{"Idempotent-Replayed": {"false"}}},
		{"generic-key", 409, `{"error":{"code":"key_in_use"}}`, target.Verdict{Retry: true, Detail: "the same key is still being worked on (HTTP 409)"}, nil},
		{"generic-key", 503, `{"error":{"code":"unavailable","effect":"none"}}`, proven("not now (HTTP 503)", true), nil},
		{"generic-key", 401, refused422, proven("credentials refused (HTTP 401)", true), nil},
		{"generic-key", 422, refused422, proven("refused (HTTP 422)", false), nil},
		{"generic-natural", 422, refused422, proven("refused (HTTP 422)", false), nil},
		{"generic-natural", 503, `{"error":{"code":"unavailable"}}`, doubt("answer that the profile does not know (HTTP 503)"), nil},
		{"generic-lookup", 500, refused422, doubt("answer that the profile does not know (HTTP 500)"), nil},
		{"generic-lookup", 200, `{"id":"eff-1"}`, doubt("answer that the profile does not know (HTTP 200)"), nil},
		{"generic-none", 403, refused422, proven("refused (HTTP 403)", false), nil},
		{"generic-none", 403, `<html>blocked</html>`, doubt("answer that the profile does not know (HTTP 403)"), nil},
		{"generic-none", 0, ``, doubt("no answer"), nil},
	}
}

// R3: the tables say what each shipped target's answers prove; what is not listed is unknown.
func TestR03_AnswersOfTheShippedTargets(t *testing.T) {
	t.Parallel()
	all := shipped(t)
	seen := map[string]bool{}
	for _, tc := range answerCases() {
		seen[tc.profile] = true
		got := target.Classify(all[tc.profile], testOp, tc.answer(true))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s %d %s (-want +got):\n%s", tc.profile, tc.status, tc.body, diff)
		}
		cut := target.Classify(all[tc.profile], testOp, tc.answer(false))
		if cut.Outcome != operation.OutcomeUnknown {
			t.Errorf("%s %d: an answer that was cut off proves %v, want unknown", tc.profile, tc.status, cut.Outcome)
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d profiles have answers in the table", len(seen), len(all))
	}
}

// R3: every rule of every shipped profile decides at least one answer of the table.
func TestR03_EveryRuleHasItsAnswer(t *testing.T) {
	t.Parallel()
	all := shipped(t)
	used := map[string]bool{}
	for _, tc := range answerCases() {
		used[tc.profile+": "+strings.SplitN(tc.want.Detail, " (HTTP", 2)[0]] = true
	}
	for name, p := range all {
		for _, r := range p.Answers {
			if !used[name+": "+r.Reason] && !used[name+": "+r.Reason+" without a usable reference"] {
				if name == "generic-natural" || name == "generic-lookup" || name == "generic-none" {
					continue // the same text as generic-key's rules
				}
				t.Errorf("%s: no answer in the table reaches the rule %q", name, r.Reason)
			}
		}
	}
}

func TestConditionsReadHeaders(t *testing.T) {
	t.Parallel()
	p := parse(t, strings.Replace(smallProfile, "answers:\n", `answers:
  - { status: [201], where: [{ header: x-replayed, equals: 'yes' }], outcome: executed, reference: /id, reason: again, doc: contract, checked: 2026-11-29, grade: A }
`, 1))
	for value, want := range map[string]string{"yes": "again (HTTP 201)", "no": "made (HTTP 201)"} {
		got := target.Classify(p, testOp, target.Answer{Status: 201, Header: http.Header{"X-Replayed": {value}}, Body: []byte(`{"id":1}`), Complete: true})
		if got.Detail != want {
			t.Errorf("X-Replayed %s: got %q, want %q", value, got.Detail, want)
		}
	}
}
