package operation_test

import (
	"flag"
	"strings"
	"testing"

	"holdfast/internal/operation"
)

// The search visits the nearest states first. By default it stops at statesNear in each configuration, to stay quick;
// with -search.full it goes on to statesBound, which only the keyed targets with lookups do not fit into.
const (
	statesNear  = 40_000
	statesBound = 2_000_000
)

var fullSearch = flag.Bool("search.full", false, "visit every reachable state, up to statesBound, instead of the nearest ones")

// liveSteps is how many steps without faults an operation may need to reach rest.
const liveSteps = 60

type node struct {
	parent int32
	label  label
}

type search struct {
	c     config
	k     core
	enc   encoder
	seen  map[key]struct{}
	live  map[key]struct{}
	nodes []node
	steps int
	most  int
	whole bool // every reachable state was visited
	depth int  // steps from the beginning that are all visited
}

type item struct {
	w  world
	id int32
}

// run visits every reachable state, nearest first, and answers the shortest story of a broken rule, or nil.
func (s *search) run() []string {
	first := start(s.c)
	s.seen = map[key]struct{}{s.enc.key(&first): {}}
	s.live = map[key]struct{}{}
	s.nodes = []node{{parent: -1}}
	front := []item{{w: first}}
	for len(front) > 0 && len(s.seen) < s.most {
		var next []item
		for i := range front {
			if story := s.expand(&front[i], &next); story != nil {
				return story
			}
		}
		front = next
		s.depth++
	}
	s.whole = len(front) == 0
	return nil
}

func (s *search) expand(from *item, next *[]item) (story []string) {
	s.c.steps(&s.k, &from.w, func(w world, l label) {
		s.steps++
		if story != nil {
			return
		}
		id := s.enc.key(&w)
		if _, known := s.seen[id]; known && w.problem == "" {
			return
		}
		s.seen[id] = struct{}{}
		s.nodes = append(s.nodes, node{parent: from.id, label: l})
		at := int32(len(s.nodes) - 1)
		why := s.c.wrong(&s.k, &from.w, &w)
		if why == "" {
			why = s.stuck(w)
		}
		if why != "" {
			story = s.tell(at, why)
			return
		}
		*next = append(*next, item{w: w, id: at})
	})
	return story
}

func (s *search) tell(at int32, why string) []string {
	var lines []string
	for ; at > 0; at = s.nodes[at].parent {
		lines = append([]string{s.nodes[at].label.String()}, lines...)
	}
	return append(lines, "BROKEN: "+why)
}

// stuck follows the ladder from w with every worker gone and no further fault: it must come to rest, settled or held.
func (s *search) stuck(w world) string {
	var visited []key
	w.workers = [2]worker{}
	for range liveSteps {
		id := s.enc.key(&w)
		if _, ok := s.live[id]; ok {
			break
		}
		visited = append(visited, id)
		rest, why := s.c.follow(&s.k, &w)
		if why != "" {
			return why
		}
		if rest {
			break
		}
		if len(visited) == liveSteps {
			return "the ladder goes on without coming to rest (liveness)"
		}
	}
	for _, id := range visited {
		s.live[id] = struct{}{}
	}
	return ""
}

// follow takes the one step that Next names.
func (c *config) follow(k *core, w *world) (rest bool, why string) {
	for j := range w.n {
		if w.tries[j].truth == truthPending {
			w.commit(c, j)
		}
	}
	m := k.next(w.op, c.policy, w.now)
	var f operation.Fact
	switch m.Action {
	case operation.ActionDone:
		return true, ""
	case operation.ActionWait:
		if m.Due <= w.now {
			return false, "a wait for an instant that has passed: " + string(m.Reason) + " (liveness)"
		}
		w.now = m.Due
		return false, ""
	case operation.ActionAsk:
		if q := w.op.Question; q != nil && q.Kind == m.Kind {
			return true, c.answerable(w)
		}
		w.asked++
		f = operation.Asked{At: w.now, Question: operation.Question{ID: operation.QuestionID(rune('A' + w.asked)), Kind: m.Kind, Reviewers: []operation.Person{reviewer}, Expires: w.now + 3, ValidFor: 3}}
	case operation.ActionLookUp:
		f = c.lookTruly(w)
	default:
		if w.n >= c.tries {
			return true, ""
		}
		return c.sendTruly(k, w, m.Action == operation.ActionReplay)
	}
	return false, c.mustAccept(k, w, f)
}

func (c *config) mustAccept(k *core, w *world, f operation.Fact) string {
	next, refused := k.apply(w.op, f, c.policy)
	if refused != nil {
		return "what Next names is refused: " + string(refused.Reason) + " (liveness)"
	}
	w.accept(w.op, next)
	return ""
}

// answerable: a question with no legal answer, now or after the quiet time, holds for ever.
func (c *config) answerable(w *world) string {
	later := w.now + windowT + visibleT + leaseT + skewT + 2
	for _, at := range []operation.Time{w.now, later} {
		for _, ch := range operation.Choices(w.op, c.policy, at) {
			if ch.Legal || ch.Why == operation.ReasonExpired {
				return "" // an expired question is closed by the sweep
			}
		}
	}
	return "a question without any legal answer (R7)"
}

func (c *config) lookTruly(w *world) operation.Looked {
	l := operation.Looked{At: w.now, Result: operation.LookAbsent}
	for j := range w.n {
		switch {
		case w.tries[j].truth != truthEffect:
		case l.Result == operation.LookAbsent:
			l.Result, l.Reference = operation.LookFound, refOf(j)
		default:
			l.Result, l.Reference = operation.LookConflict, ""
		}
	}
	return l
}

func (c *config) sendTruly(k *core, w *world, replay bool) (bool, string) {
	op, id := w.op, attemptID(w.n)
	filled := operation.Filled{Version: op.Content.Version, Generation: op.Generation, Digest: op.Content.Digest + operation.Digest(rune('0'+op.Generation))}
	if why := c.mustAccept(k, w, operation.Claim{Attempt: id, Run: "run_1", At: w.now, LeaseUntil: w.now + leaseT, Replay: replay, Filled: filled}); why != "" {
		return false, why
	}
	ref, repeat := w.collapsed(c, op.Generation)
	w.tries[w.n] = try{claimed: w.now, sentAt: w.now, gen: op.Generation, version: op.Content.Version, truth: truthNothing}
	if !repeat {
		w.tries[w.n].truth, ref = truthEffect, refOf(w.n)
	}
	w.n++
	f := operation.Reported{Attempt: id, At: w.now, Kind: operation.EvidenceAnswer, Reference: ref}
	if ref != "" {
		f.Outcome = operation.OutcomeExecuted
	}
	return false, c.mustAccept(k, w, f)
}

func configs() []config {
	var out []config
	looks := []struct {
		name           string
		lookup, counts bool
	}{{"no lookup", false, false}, {"absent never counts", true, false}, {"absent counts", true, true}}
	for _, prot := range []operation.Protection{operation.ProtectionNone, operation.ProtectionKey, operation.ProtectionNatural} {
		for _, l := range looks {
			for _, order := range []operation.Order{operation.OrderLookUp, operation.OrderReplay} {
				if order == operation.OrderReplay && (!l.lookup || prot == operation.ProtectionNone) {
					continue // one of the two is missing: there is no order
				}
				name := strings.Join([]string{prot.String(), l.name, order.String() + " first"}, ", ")
				tries := 2
				if !l.lookup && prot != operation.ProtectionKey {
					tries = triesMax // small enough for a third
				}
				out = append(out, config{name: name, policy: policyOf(prot, l.lookup, l.counts, order), tries: tries, lies: true, feeds: true, stale: !l.lookup && prot == operation.ProtectionNone})
			}
		}
	}
	approvals := config{name: "approvals and edits", policy: policyOf(operation.ProtectionKey, true, true, operation.OrderReplay), approvals: true, tries: 2, stale: true}
	return append(out, approvals)
}

func TestSearchFindsNoBrokenRule(t *testing.T) {
	total := 0
	for _, c := range configs() {
		t.Run(c.name, func(t *testing.T) {
			s := search{c: c, k: rightCore(), most: statesNear}
			if *fullSearch {
				s.most = statesBound
			}
			story := s.run()
			total += len(s.seen)
			t.Logf("%d attempts, 2 workers, 1 person: %d states, %d steps, whole to depth %d, every state: %t", c.tries, len(s.seen), s.steps, s.depth, s.whole)
			if story != nil {
				t.Fatal("\n" + strings.Join(story, "\n"))
			}
		})
	}
	t.Logf("%d states in all", total)
}
