package sim

import "slices"

// shrinkPlays bounds how many worlds a shrinking plays.
const shrinkPlays = 400

// Shrink makes a failing schedule smaller, as long as the same rule breaks: events, acts and faults that it does not
// need are left out. It reports false when the schedule does not break the rule at all.
func (l *Lab) Shrink(s Schedule, rule string, tell func(plays, left int)) (Schedule, bool, error) {
	h := &shrinking{lab: l, rule: rule, tell: tell}
	if !h.breaks(s) {
		return s, false, h.err
	}
	for before := -1; before != size(s) && h.plays < shrinkPlays; {
		before = size(s)
		s.Faults = smaller(s.Faults, func(f []Fault) bool { t := s; t.Faults = f; return h.breaks(t) })
		s.Acts = smaller(s.Acts, func(a []act) bool { t := s; t.Acts = a; return h.breaks(t) })
		s.Events = smaller(s.Events, func(e []event) bool { t := s; t.Events = e; return len(e) > 0 && h.breaks(t) })
	}
	return s, true, h.err
}

func size(s Schedule) int { return len(s.Faults) + len(s.Acts) + len(s.Events) }

type shrinking struct {
	lab   *Lab
	rule  string
	tell  func(plays, left int)
	plays int
	err   error
}

// breaks says whether the schedule still breaks the rule.
func (h *shrinking) breaks(s Schedule) bool {
	if h.plays >= shrinkPlays || h.err != nil {
		return false
	}
	h.plays++
	w, err := h.lab.Replay(s, false)
	if err != nil {
		h.err = err
		return false
	}
	broken := slices.ContainsFunc(w.Result.Violations, func(v Violation) bool { return v.Rule == h.rule })
	if h.tell != nil {
		h.tell(h.plays, size(s))
	}
	return broken
}

// smaller leaves out parts, large ones first, for which it still holds.
func smaller[T any](all []T, holds func([]T) bool) []T {
	for part := len(all); part > 0; part /= 2 {
		for from := 0; from < len(all); {
			less := slices.Concat(all[:from], all[min(from+part, len(all)):])
			if holds(less) {
				all = less
			} else {
				from += part
			}
		}
	}
	return all
}
