package operation_test

import (
	"strings"
	"testing"

	"holdfast/internal/operation"
)

// comparison proves the key: wherever two worlds have one key, the worlds that can follow have the same keys. By
// induction over the steps, then, visiting one world of each key visits every key, and no broken rule hides behind another.
type comparison struct{ follow map[key]key }

// differs says that w has the key of an earlier world and leads elsewhere.
func (m *comparison) differs(s *search, w *world, id key) string {
	var enc encoder
	set := map[key]struct{}{}
	s.c.steps(&s.k, w, func(n world, _ label) {
		n.closePage(&s.k)
		set[enc.key(&s.c, &s.k, &n)] = struct{}{}
	})
	var sum key
	for k := range set {
		sum[0], sum[1] = sum[0]^k[0], sum[1]^k[1]
	}
	if old, ok := m.follow[id]; ok && old != sum {
		return "two states with one key, and other states follow: the key leaves out what a rule reads"
	}
	m.follow[id] = sum
	return m.sweepMatters(s, w)
}

// sweepMatters: that nobody has written down yet that a lease is over changes neither what Next says nor what may be
// answered. So it is enough to write it as soon as it can be.
func (m *comparison) sweepMatters(s *search, w *world) string {
	p := s.c.policy
	next, refused := s.k.apply(w.op, operation.LeaseOver{At: w.now}, p)
	if refused != nil {
		return ""
	}
	for _, at := range []operation.Time{w.now, w.now + s.c.skew} {
		if s.k.next(w.op, p, at) != s.k.next(next, p, at) || !sameChoices(s.k.choices(w.op, p, at), s.k.choices(next, p, at)) {
			return "the sweep's late note changes what may be done"
		}
	}
	return ""
}

func sameChoices(a, b []operation.Choice) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestSearchKeyTellsStatesApart(t *testing.T) {
	most := comparedNear
	if *fullSearch {
		most = comparedFull
	}
	for _, c := range configs() {
		t.Run(c.name, func(t *testing.T) {
			s := search{c: c, k: rightCore(), most: most, check: &comparison{follow: map[key]key{}}}
			if story := s.run(); story != nil {
				t.Fatal("\n" + strings.Join(story, "\n"))
			}
			t.Logf("%d states, %d arrivals compared", len(s.seen), s.steps)
		})
	}
}
