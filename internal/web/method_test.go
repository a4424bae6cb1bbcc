package web_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
)

// Even a form that is filled in whole, with the right code, is an answer only as a POST: in an address, or by any other
// method, it is something that a machine may have fetched.
func TestR11_OnlyAPostIsAnAnswer(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	before := b.Op("op_email")
	f := form(t, b.get(i), "answer")
	maps.Copy(f, map[string][]string{"answer": {"approve"}, "code": {i.Code}})
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, ""} {
		req := events.APIGatewayV2HTTPRequest{PathParameters: map[string]string{"link": string(i.Link)}, Body: f.Encode(), RawQueryString: f.Encode()}
		req.RequestContext.HTTP.Method = method
		if _, err := b.page.Handle(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, b.Op("op_email")); diff != "" {
			t.Fatalf("%q decided:\n%s", method, diff)
		}
	}
	if status, told := b.post(i, f); status != http.StatusOK || b.Op("op_email").Approval == nil {
		t.Errorf("the same form as a POST: %d %s", status, told)
	}
}

// Whoever presses too early is told so; it is no guess, and uses up none of the link's tries.
func TestR13_AFormWithoutACodeCostsNoTry(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	for range ledger.LinkTriesMax + 1 {
		if status, told := b.post(i, form(t, b.get(i), "answer"), "answer", "approve", "code", " "); status != http.StatusBadRequest {
			t.Fatalf("without a code: %d %s", status, told)
		}
	}
	if status, told := b.post(i, form(t, b.get(i), "answer"), "answer", "approve", "code", i.Code); status != http.StatusOK {
		t.Errorf("with the right code afterwards: %d %s", status, told)
	}
}
