package target_test

import (
	"strings"
	"testing"

	"holdfast/internal/clock"
	"holdfast/internal/target"
	"holdfast/internal/target/wiretest"
)

// The target is asked where the request went: another release of the API, or another account, would answer truly that
// it has nothing, and that would prove nothing.
func TestR05_ALookupAsksWhereTheRequestWent(t *testing.T) {
	t.Parallel()
	p := shipped(t)["hubspot-task"]
	server := wiretest.New(t, say(answer(404, hubError)))
	then, err := p.To(target.Destination{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	then.APIVersion = "2025-09"
	pinned, err := target.Render(p, testOp, contents()["hubspot-task"], then)
	if err != nil {
		t.Fatal(err)
	}
	newEngine(clock.New()).LookUp(t.Context(), p, pinned)
	server.Close()
	if got := <-server.Received; !strings.HasPrefix(got.URI, "/crm/objects/2025-09/tasks/") {
		t.Errorf("asked at %s, and the request went to release 2025-09", got.URI)
	}
}
