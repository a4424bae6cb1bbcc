package acceptance_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/acceptance"
)

// An example carries the event's id where its source looks for it.
func TestExamplesNameTheirEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flow, source string
		header       map[string]string
		inBody       string
	}{
		{"campaign-follow-up", "shopify-flow", nil, "action_run_id"},
		{"order-follow-up", "shopify", map[string]string{"X-Shopify-Topic": "orders/paid", "X-Shopify-Event-Id": "event-7", "X-Shopify-Shop-Domain": "acceptance.example"}, ""},
		{"standing-follow-up", "standard", nil, ""},
	} {
		t.Run(c.flow, func(t *testing.T) {
			t.Parallel()
			e, err := acceptance.ExampleOf(options(c.flow), "event-7", nil)
			if err != nil {
				t.Fatal(err)
			}
			if e.Source.Name != c.source || e.Flow != c.flow || !e.Derived {
				t.Errorf("%+v", e)
			}
			for name, want := range c.header {
				if got := e.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			var body map[string]any
			if err := json.Unmarshal(e.Body, &body); err != nil {
				t.Fatal(err)
			}
			if c.inBody != "" && body[c.inBody] != "event-7" {
				t.Errorf("%s is %v", c.inBody, body[c.inBody])
			}
		})
	}
}

// A body of the caller's is signed as it is, to the byte.
func TestAGivenBodyIsNotTouched(t *testing.T) {
	t.Parallel()
	body := `{ "id": 7,   "created_at": "2026-11-29T00:00:00Z" }`
	e, err := acceptance.ExampleOf(options("order-follow-up"), "event-7", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(body, string(e.Body)); diff != "" || e.Derived || e.Header.Get("X-Shopify-Topic") != "orders/paid" {
		t.Errorf("%s %+v", diff, e)
	}
	if _, err := acceptance.ExampleOf(options("order-follow-up"), "event-7", []byte("[]")); err == nil {
		t.Error("a list is taken for a body")
	}
}
