package simtarget

import (
	"slices"
	"strconv"
	"time"
)

// visible returns the records a selector picks that are not archived.
func (t *target) visible(by Selector, sc *scope) []*record {
	found := t.collection(by.In).find(by.Field.text(sc), by.Value.text(sc), by.Fold)
	return slices.DeleteFunc(found, func(r *record) bool { return r.archived })
}

// settled drops the records that a lookup does not show yet.
func (t *target) settled(c call, lag Span, found []*record) []*record {
	wait := time.Duration(lag)
	if slow, on := c.mods[KindSlowVisibility]; on {
		wait = max(wait, time.Duration(slow.Delay))
	}
	now := t.sim.clock.Now()
	return slices.DeleteFunc(found, func(r *record) bool { return now.Sub(r.at) < wait })
}

// foreign returns a record of somebody else's in the place that the selector looks at.
func (t *target) foreign(by Selector, sc *scope) *record {
	col := t.collection(by.In)
	rec := col.draft(t.foreignDoc(by.In, sc, by.Field.text(sc), by.Value.text(sc)), t.sim.clock.Now(), t.rng)
	rec.foreign = true
	return rec
}

func (t *target) get(c call, sc *scope) reply {
	own := *sc
	sc = &own
	rule := c.route.Get
	found := t.settled(c, rule.Lag, t.visible(rule.By, sc))
	if c.has(KindForeignRecord) {
		found = []*record{t.foreign(rule.By, sc)}
	}
	if len(found) == 0 {
		return t.render(rule.Absent, sc)
	}
	sc.rec = found[0]
	return t.render(rule.Answer, sc)
}

func (t *target) list(c call, sc *scope) reply {
	own := *sc
	sc = &own
	rule := c.route.List
	found := t.settled(c, rule.Lag, t.listed(rule, sc))
	if c.has(KindForeignRecord) {
		found = []*record{t.foreign(rule.By, sc)}
	}
	if c.has(KindSeveralMatches) {
		found = t.doubled(rule.By, sc, found)
	}
	sc.total = len(found)
	page, next := t.page(c, sc, found)
	sc.results = []any{}
	for _, rec := range page {
		sc.rec = rec
		result, _ := rule.Result.value(sc)
		sc.results = append(sc.results, result)
	}
	sc.rec = nil
	if next > 0 || c.has(KindTruncatedPage) {
		sc.next = strconv.Itoa(next)
	}
	return t.render(rule.Answer, sc)
}

func (t *target) listed(rule *List, sc *scope) []*record {
	if !rule.All {
		return t.visible(rule.By, sc)
	}
	var all []*record
	for _, r := range t.collection(rule.By.In).records {
		if !r.archived {
			all = append(all, r)
		}
	}
	return all
}

// doubled makes two matches: a copy of the first beside it, or two of somebody else's.
func (t *target) doubled(by Selector, sc *scope, found []*record) []*record {
	if len(found) == 0 {
		return []*record{t.foreign(by, sc), t.foreign(by, sc)}
	}
	copied := t.collection(by.In).draft(found[0].doc, found[0].at, t.rng)
	return append(found, copied)
}

// page cuts one page out; next is where the following one starts, or 0. A truncated page is empty and says that
// more follows.
func (t *target) page(c call, sc *scope, found []*record) (page []*record, next int) {
	rule := c.route.List
	limit, err := strconv.Atoi(rule.Limit.text(sc))
	if err != nil || limit < 1 || limit > pageItemsMax {
		limit = pageItemsMax
	}
	start, err := strconv.Atoi(rule.Cursor.text(sc))
	if err != nil || start < 0 {
		start = 0
	}
	start = min(start, len(found))
	if c.has(KindTruncatedPage) {
		return nil, start
	}
	end := min(start+limit, len(found))
	if end < len(found) {
		next = end
	}
	return found[start:end], next
}

func (t *target) archive(c call, sc *scope) reply {
	rule := c.route.Archive
	found := t.visible(rule.By, sc)
	if len(found) == 0 {
		return t.render(rule.Absent, sc)
	}
	found[0].archived = true
	own := *sc
	own.rec = found[0]
	return t.render(rule.Answer, &own)
}
