package operation_test

import (
	"flag"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"holdfast/internal/operation"
)

// By default every state of two attempts is visited, and of three where they are few; with -search.full of three.
const (
	statesNear   = 40_000    // for a look at the wrappers of wrong cores
	statesBound  = 8_000_000 // a search that passes it is told as not complete
	gcPercent    = 400
	comparedNear = 5_000
	comparedFull = 40_000
)

var fullSearch = flag.Bool("search.full", false, "visit every reachable state instead of the nearest ones")

// configs are the corners of what targets document: each kind of protection, with and without lookups, in both orders.
func configs() []config {
	var out []config
	for _, prot := range []operation.Protection{operation.ProtectionNone, operation.ProtectionKey, operation.ProtectionNatural} {
		none := operation.OrderLookUp // without a lookup or a protection there is no order
		out = append(out, corner(prot, "no lookup", false, false, none))
		for _, counts := range []bool{false, true} {
			look := map[bool]string{false: "absent never counts", true: "absent counts"}[counts]
			out = append(out, corner(prot, look, true, counts, operation.OrderLookUp))
			if prot != operation.ProtectionNone {
				out = append(out, corner(prot, look, true, counts, operation.OrderReplay))
			}
		}
	}
	out[0].stale, out[0].sweepLate = true, true
	approvals := config{name: "key, approvals and edits", policy: policyOf(operation.ProtectionKey, true, true, operation.OrderReplay), approvals: true, skew: 1, tries: 2, stale: true}
	out = append(out, approvals)
	for _, prot := range []operation.Protection{operation.ProtectionNone, operation.ProtectionKey, operation.ProtectionNatural} {
		c := corner(prot, "absent counts", true, true, operation.OrderLookUp)
		c.name, c.restores = c.name+", restored ledger", true
		out = append(out, c)
	}
	apart := skewed(corner(operation.ProtectionNatural, "no lookup", false, false, operation.OrderLookUp), timeoutT+1)
	apart.name += ", clocks apart by 2"
	return append(out, apart)
}

func corner(prot operation.Protection, look string, lookup, counts bool, order operation.Order) config {
	name := strings.Join([]string{prot.String(), look}, ", ")
	if lookup && prot != operation.ProtectionNone {
		name += ", " + order.String() + " first"
	}
	return config{name: name, policy: policyOf(prot, lookup, counts, order), tries: 2, skew: 1, lies: true, feeds: true}
}

func TestSearchFindsNoBrokenRule(t *testing.T) {
	// Most of what is allocated lives for two levels of the search: collecting more rarely halves the time.
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	total, table := 0, []string{"configuration | attempts | states | steps | depth | complete"}
	for _, c := range configs() {
		c.tries = attempts(c)
		t.Run(c.name, func(t *testing.T) {
			s := search{c: c, k: rightCore(), most: statesBound}
			if testing.Short() { // for the race detector, which slows a search down and has nothing to find in it
				s.most = statesNear
			}
			story := s.run()
			total += len(s.seen)
			table = append(table, fmt.Sprintf("%s | %d | %d | %d | %d | %t", c.name, c.tries, len(s.seen), s.steps, s.depth, s.whole))
			if story != nil {
				t.Fatal("\n" + strings.Join(story, "\n"))
			}
		})
	}
	t.Logf("2 workers, 1 person, clocks apart by 1, timeout %d, lease %d, effect after %d and shown after %d, key window %d less %d, %d lookups (ticks)\n%s\n%d states in all",
		timeoutT, leaseT, lateT, visibleT, windowT, marginT, lookupsMax, strings.Join(table, "\n"), total)
}

// attempts: three where it is quick, and with -search.full everywhere but where approvals, edits or a restored ledger
// multiply the states of a key. The attempt that stands for what a restored ledger lost is one of them.
func attempts(c config) int {
	if c.restores && c.policy.Protection == operation.ProtectionKey {
		return 2
	}
	quick := c.restores || c.policy.Protection != operation.ProtectionKey && (!c.policy.Lookup || c.policy.Protection == operation.ProtectionNatural)
	if quick || *fullSearch && !c.approvals {
		return triesMax
	}
	return 2
}
