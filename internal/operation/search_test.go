package operation_test

import (
	"slices"

	"holdfast/internal/operation"
)

// liveSteps is how many steps without faults an operation may need to reach rest.
const liveSteps = 60

// node is how a state was reached: by which step of which other one. Stories are told by walking again.
type node struct {
	parent int32
	step   int32
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
	check *comparison
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
	s.seen = map[key]struct{}{s.enc.key(&s.c, &s.k, &first): {}}
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
	step := int32(-1)
	s.c.steps(&s.k, &from.w, func(w world, _ label) {
		s.steps++
		step++
		if story != nil {
			return
		}
		w.closePage(&s.k)
		id := s.enc.key(&s.c, &s.k, &w)
		why := from.w.final(&w)
		if why == "" && s.check != nil {
			why = s.check.differs(s, &w, id)
		}
		if _, known := s.seen[id]; known && w.problem == "" && why == "" {
			return
		}
		s.seen[id] = struct{}{}
		s.nodes = append(s.nodes, node{parent: from.id, step: step})
		at := int32(len(s.nodes) - 1)
		if why == "" {
			why = s.c.wrong(&s.k, &w)
		}
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
	var path []int32
	for ; at > 0; at = s.nodes[at].parent {
		path = append(path, s.nodes[at].step)
	}
	var lines []string
	w := start(s.c)
	for _, want := range slices.Backward(path) {
		var line string
		w, line = s.walk(w, want)
		lines = append(lines, line)
	}
	return append(lines, "BROKEN: "+why)
}

// walk takes the step of that number.
func (s *search) walk(from world, want int32) (to world, line string) {
	step := int32(-1)
	s.c.steps(&s.k, &from, func(w world, l label) {
		if step++; step == want {
			w.closePage(&s.k)
			to, line = w, l.String()
		}
	})
	return to, line
}

// stuck follows the ladder from w with every worker gone and no further fault: it must come to rest, settled or held.
func (s *search) stuck(w world) string {
	var visited []key
	w.workers = [2]worker{}
	for range liveSteps {
		id := s.enc.key(&s.c, &s.k, &w)
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
	later := w.now + windowT + visibleT + leaseT + c.skew + 2
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
	filled := operation.Filled{Version: op.Content.Version, Generation: op.Generation, Digest: filledOf(op)}
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
