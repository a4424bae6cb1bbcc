package simtarget_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	tasks   = "/crm/objects/2026-03/tasks"
	graphql = "/admin/api/2026-10/graphql.json"
)

func upsertBody(id, subject string) string {
	return fmt.Sprintf(`{"inputs":[{"id":%q,"idProperty":"hf_op","properties":{"hs_task_subject":%q}}]}`, id, subject)
}

func TestHubSpotUpsertCollapsesRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.call("hubspot", "POST", tasks+"/batch/upsert", upsertBody("op_a", "Call"))
	w.wantStatus(first, 200)
	w.wantField(first, "results.0.new", true)
	w.wantField(first, "results.0.properties.hf_op", "op_a")
	again := w.call("hubspot", "POST", tasks+"/batch/upsert", upsertBody("op_a", "Call again"))
	w.wantField(again, "results.0.new", false)
	w.wantField(again, "results.0.id", first.field("results.0.id"))
	w.wantField(again, "results.0.properties.hs_task_subject", "Call again") // the overwrite hazard
	w.wantEffects("hubspot", 1)
	if r := w.sim.Effects()["hubspot"]; r.Updates != 1 || r.ByOperation["op_a"] != 1 {
		t.Errorf("updates %d, by operation %v", r.Updates, r.ByOperation)
	}
	read := w.call("hubspot", "GET", tasks+"/op_a?idProperty=hf_op", "")
	w.wantField(read, "id", first.field("results.0.id"))
	w.wantField(w.call("hubspot", "GET", tasks+"/op_b?idProperty=hf_op", ""), "category", "OBJECT_NOT_FOUND")
	w.wantStatus(w.call("hubspot", "GET", tasks+"/"+first.field("results.0.id").(string), ""), 200)
}

func TestHubSpotBatchCountsEachItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"inputs":[{"id":"op_a","idProperty":"hf_op","properties":{}},{"id":"op_b","idProperty":"hf_op","properties":{}}]}`
	w.wantField(w.call("hubspot", "POST", tasks+"/batch/upsert", body), "results.1.new", true)
	if by := w.sim.Effects()["hubspot"].ByOperation; by["op_a"] != 1 || by["op_b"] != 1 {
		t.Errorf("by operation %v", by)
	}
}

func TestHubSpotPlainCreateIsNotProtectedAndSearchLags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"properties":{"hf_op":"op_a"},"associations":[]}`
	search := `{"filterGroups":[{"filters":[{"propertyName":"hf_op","operator":"EQ","value":"op_a"}]}],"limit":1}`
	for range 2 {
		w.wantStatus(w.call("hubspot", "POST", tasks, body), 201)
	}
	w.wantEffects("hubspot", 2)
	w.wantField(w.call("hubspot", "POST", tasks+"/search", search), "total", 0.0)
	w.clock.Move(30 * time.Second)
	page := w.call("hubspot", "POST", tasks+"/search", search)
	w.wantField(page, "total", 2.0)
	w.wantField(page, "paging.next.after", "1")
	rest := w.call("hubspot", "POST", tasks+"/search", strings.Replace(search, `"limit":1`, `"limit":1,"after":"1"`, 1))
	w.wantField(rest, "paging", nil)
	if rest.field("results.0.id") == page.field("results.0.id") {
		t.Error("the second page shows the first page's record")
	}
}

func TestHubSpotAssociationIsNaturallyIdempotentAndNeedsItsTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wantStatus(w.call("hubspot", "PUT", tasks+"/1/associations/default/contacts/77", ""), 404)
	id := w.call("hubspot", "POST", tasks+"/batch/upsert", upsertBody("op_a", "Call")).field("results.0.id").(string)
	for range 2 {
		w.wantField(w.call("hubspot", "PUT", tasks+"/"+id+"/associations/default/contacts/77", ""), "results.0.to.id", "77")
	}
	if by := w.sim.Effects()["hubspot"].ByRoute; by["associate"] != 1 {
		t.Errorf("by route %v, want one association", by)
	}
}

func TestHubSpotArchivedTaskIsNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.call("hubspot", "POST", tasks+"/batch/upsert", upsertBody("op_a", "Call")).field("results.0.id").(string)
	w.wantStatus(w.call("hubspot", "DELETE", tasks+"/"+id, ""), 204)
	w.wantStatus(w.call("hubspot", "GET", tasks+"/op_a?idProperty=hf_op", ""), 404)
	w.wantStatus(w.call("hubspot", "DELETE", tasks+"/"+id, ""), 404)
	w.wantField(w.call("hubspot", "POST", tasks+"/batch/upsert", upsertBody("op_a", "Call")), "results.0.new", true)
	w.wantEffects("hubspot", 2)
}

func TestRefusalsHaveTheTargetsOwnShape(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 257)
	cases := []struct {
		target, method, path, body string
		headers                    []string
		status                     int
		field, want                string
	}{
		{"hubspot", "POST", tasks + "/batch/upsert", `{"inputs":[]}`, nil, 400, "category", "VALIDATION_ERROR"},
		{"hubspot", "POST", tasks + "/batch/upsert", `{"inputs":[{"id":"x"}]}`, nil, 400, "category", "VALIDATION_ERROR"},
		{"hubspot", "POST", tasks, `{}`, nil, 400, "category", "VALIDATION_ERROR"},
		{"hubspot", "POST", tasks, post, []string{"Authorization", ""}, 401, "category", "INVALID_AUTHENTICATION"},
		{"resend", "POST", "/emails", mail, []string{"Authorization", ""}, 401, "name", "missing_api_key"},
		{"resend", "POST", "/emails", mail, []string{"Idempotency-Key", long}, 400, "name", "invalid_idempotency_key"},
		{"resend", "POST", "/emails", `{"from":"a","to":[],"subject":"s"}`, nil, 422, "name", "missing_required_field"},
		{"resend", "POST", "/emails", `not json`, nil, 422, "name", "missing_required_field"},
		{"resend", "GET", "/emails/none", "", nil, 404, "name", "not_found"},
		{"resend", "GET", "/nothing", "", nil, 404, "name", "not_found"},
		{"generic-key", "POST", "/effects", post, nil, 400, "error.code", "key_missing"},
		{"generic-lookup", "GET", "/effects", "", nil, 400, "error.code", "invalid"},
		{"generic-natural", "POST", "/effects/a", "", nil, 404, "error.code", "not_found"},
	}
	for _, c := range cases {
		t.Run(c.target+c.path+c.want, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			send := c.headers
			if len(send) == 2 && send[1] == "" {
				w.wantUnauthorised(c.target, c.method, c.path, c.body, c.status, c.field, c.want)
				return
			}
			g := w.call(c.target, c.method, c.path, c.body, send...)
			w.wantStatus(g, c.status)
			w.wantField(g, c.field, c.want)
			w.wantEffects(c.target, 0)
		})
	}
}

func (w *world) wantUnauthorised(target, method, path, body string, status int, field, want string) {
	w.t.Helper()
	c := w.pipe(target)
	if _, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: sim\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body); err != nil {
		w.t.Fatal(err)
	}
	g, err := read(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.wantStatus(g, status)
	w.wantField(g, field, want)
	w.wantEffects(target, 0)
}

func TestResendKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
	w.wantStatus(first, 200)
	w.clock.Move(24*time.Hour - time.Minute)
	w.wantField(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), "id", first.field("id"))
	other := w.call("resend", "POST", "/emails", strings.Replace(mail, "Hi", "Ho", 1), "Idempotency-Key", "op_a")
	w.wantStatus(other, 409)
	w.wantField(other, "name", "invalid_idempotent_request")
	w.wantEffects("resend", 1)
	w.clock.Move(time.Minute)
	after := w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
	w.wantStatus(after, 200)
	w.wantEffects("resend", 2) // the window is over: a new operation
	if after.field("id") == first.field("id") {
		t.Error("the same e-mail came back after the window")
	}
}

func TestResendWithoutKeyIsNotProtectedAndListHasNoFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.call("resend", "POST", "/emails", mail)
	}
	w.wantEffects("resend", 3)
	page := w.call("resend", "GET", "/emails?limit=2&tag=op_a", "")
	w.wantField(page, "has_more", true)
	rest := w.call("resend", "GET", "/emails?limit=2&after="+page.field("next").(string), "")
	w.wantField(rest, "has_more", false)
	id := rest.field("data.0.id").(string)
	w.wantField(w.call("resend", "GET", "/emails/"+id, ""), "last_event", "sent")
}

func shopify(query string, variables map[string]any) string {
	raw, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func discount(code string) string {
	return shopify(`mutation make($d: DiscountCodeBasicInput!) { made: discountCodeBasicCreate(basicCodeDiscount: $d) {
		codeDiscountNode { id codeDiscount { ... on DiscountCodeBasic { name: title codes(first: 1) { nodes { code } } } } }
		userErrors { field code message } } }`, map[string]any{"d": map[string]any{"code": code, "title": "Spring op_a"}})
}

func byCode(code string) string {
	return shopify(fmt.Sprintf(`{ codeDiscountNodeByCode(code: %q) { id codeDiscount { ... on DiscountCodeBasic { title } } } }`, code), nil)
}

func TestShopifyCodeIsUniqueAndFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wantField(w.call("shopify-admin", "POST", graphql, byCode("SPRING")), "data.codeDiscountNodeByCode", nil)
	first := w.call("shopify-admin", "POST", graphql, discount("Spring"))
	w.wantStatus(first, 200)
	w.wantField(first, "data.made.codeDiscountNode.codeDiscount.name", "Spring op_a")
	w.wantField(first, "data.made.codeDiscountNode.codeDiscount.codes.nodes.0.code", "Spring")
	w.wantField(first, "data.made.codeDiscountNode.codeDiscount.title", nil) // asked for under another name only
	again := w.call("shopify-admin", "POST", graphql, discount("SPRING"))
	w.wantStatus(again, 200)
	w.wantField(again, "data.made.codeDiscountNode", nil)
	w.wantField(again, "data.made.userErrors.0.code", "TAKEN")
	found := w.call("shopify-admin", "POST", graphql, byCode("spring"))
	w.wantField(found, "data.codeDiscountNodeByCode.id", first.field("data.made.codeDiscountNode.id"))
	w.wantField(found, "data.codeDiscountNodeByCode.codeDiscount.title", "Spring op_a")
	w.wantEffects("shopify-admin", 1)
	if by := w.sim.Effects()["shopify-admin"].ByOperation; by["op_a"] != 1 {
		t.Errorf("by operation %v, want the mark from the title", by)
	}
}

func TestGenericNaturalReturnsTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.call("generic-natural", "PUT", "/effects/op_a", post)
	w.wantField(first, "new", true)
	w.clock.Move(1000 * time.Hour)
	again := w.call("generic-natural", "PUT", "/effects/op_a", `{"x":2}`)
	w.wantField(again, "new", false)
	w.wantField(again, "id", first.field("id"))
	w.wantField(w.call("generic-natural", "GET", "/effects/op_a", ""), "content.x", 1.0)
	w.wantEffects("generic-natural", 1)
}

func TestGenericKeyOtherPayload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wantStatus(w.call("generic-key", "POST", "/effects", post, "Idempotency-Key", "k"), 201)
	w.wantField(w.call("generic-key", "POST", "/effects", `{"x":2}`, "Idempotency-Key", "k"), "error.code", "key_reused")
	w.wantEffects("generic-key", 1)
}

func TestGenericLookupShowsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("generic-lookup", "POST", "/effects", post, "X-Operation-Id", "op_a")
	w.wantField(w.call("generic-lookup", "GET", "/effects?operation_id=op_a", ""), "total", 0.0)
	w.clock.Move(30 * time.Second)
	w.wantField(w.call("generic-lookup", "GET", "/effects?operation_id=op_a", ""), "results.0.operation_id", "op_a")
	w.call("generic-lookup", "POST", "/effects", post, "X-Operation-Id", "op_a")
	if by := w.sim.Effects()["generic-lookup"].ByOperation; by["op_a"] != 2 {
		t.Errorf("by operation %v, want two: nothing protects", by)
	}
}

func TestValuesAreKeptAsTheyCame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"inputs":[{"id":"op_a","idProperty":"hf_op","properties":{"n":12345678901234567890.10}}]}`
	if g := w.call("hubspot", "POST", tasks+"/batch/upsert", body); !strings.Contains(g.body, "12345678901234567890.10") {
		t.Errorf("a number lost digits: %s", g.body)
	}
	w.wantField(w.call("hubspot", "POST", tasks+"/batch/upsert", upsertBody("op_A", "Call")), "results.0.new", true)
	w.wantEffects("hubspot", 2) // letter case matters here, unlike in a discount code
}
