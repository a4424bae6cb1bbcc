package simtarget_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/internal/clock"
	"holdfast/internal/local/simtarget"
)

// The example of docs/simulations.md loads and does what it says.
func TestTheDocumentedExampleWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/simulations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no example")
	}
	specs, err := simtarget.Load(fstest.MapFS{"my-service.yaml": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: clock.New(), urls: map[string]string{}}
	w.sim = simtarget.New(simtarget.Options{Clock: w.clock, Specs: specs, Seed: 7})
	t.Cleanup(func() { w.sim.Close() })
	book := func(body string) got {
		return w.call("my-service", "POST", "/bookings", body, "X-Operation-Id", "op_1", "Idempotency-Key", "k-1")
	}
	w.wantStatus(w.call("my-service", "GET", "/bookings/by-operation/op_1", ""), 404)
	w.wantStatus(book(`{"note":""}`), 422)
	w.wantStatus(book(`{"note":"two seats"}`), 201)
	w.wantStatus(book(`{"note":"two seats"}`), 201)
	w.wantStatus(book(`{"note":"three seats"}`), 422)
	w.wantStatus(w.call("my-service", "GET", "/bookings/by-operation/op_1", ""), 200)
	w.wantEffects("my-service", 1)
}
