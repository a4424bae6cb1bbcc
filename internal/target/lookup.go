package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/operation"
)

// LookResult is what a lookup showed. Its zero value is failed: it showed nothing.
type LookResult uint8

// The results of a lookup.
const (
	LookFailed   LookResult = iota // no usable answer
	LookFound                      // exactly one effect, with our mark
	LookAbsent                     // none; settles nothing by itself
	LookConflict                   // several, or one without our mark
)

// Evidence is the kind of evidence that a result is.
func (l LookResult) Evidence() operation.EvidenceKind {
	return [...]operation.EvidenceKind{operation.EvidenceLookupFailed, operation.EvidenceLookupFound,
		operation.EvidenceLookupAbsent, operation.EvidenceLookupConflict}[l]
}

func (l LookResult) String() string {
	return [...]string{"failed", "found", "absent", "conflict"}[l]
}

// Looked is what one lookup showed.
type Looked struct {
	Result     LookResult
	Reference  operation.Reference // with found
	Complete   bool                // with absent: the documented rule for completeness held
	RetryAfter operation.Time
	Status     int
	Detail     string // from rules and numbers only
}

// LookUp asks the target once what became of the operation whose pinned request is given, at the address the
// request went to. It has lookup rights only: it sends the profile's lookup call and never the request.
func (e *Engine) LookUp(ctx context.Context, p *Profile, pinned Request) Looked {
	if p.Lookup == nil {
		return Looked{Detail: "this target documents no way to ask"}
	}
	if pinned.Target != p.Name {
		return Looked{Detail: "the request was made for another target than this profile"}
	}
	question, err := p.lookupRequest(pinned)
	if err != nil {
		return Looked{Detail: "the lookup could not be made: " + err.Error()}
	}
	secret, err := e.authorize(ctx, p, pinned.Base)
	if err != nil {
		return Looked{Detail: err.Error()}
	}
	got := e.exchange(ctx, p, question, secret, nil)
	if got.Status == http.StatusUnauthorized {
		e.forget(p, pinned.Base)
	}
	if got.Status == 0 {
		return Looked{Detail: string(got.Failure)}
	}
	out := ReadLookup(p, pinned.Operation, Answer{got.Status, got.Header, got.Body, got.Complete})
	out.RetryAfter = retryAfter(got.Header, e.Clock.Now())
	return out
}

func (p *Profile) lookupRequest(pinned Request) (Request, error) {
	d := Destination{Base: pinned.Base, Account: pinned.Account, APIVersion: pinned.APIVersion}
	body := Answer{Body: pinned.Body}.parse().tree
	r, err := p.Lookup.Call.render(d, func(name string) (any, bool, error) {
		place, fromRequest := strings.CutPrefix(name, "request:")
		if !fromRequest {
			return commonValue(name, pinned.Operation, d)
		}
		s, ok := scalar(pointer(place).at(body))
		if !ok || containsMark(s) {
			return nil, false, errors.New("the request has no such value")
		}
		return s, true, nil
	})
	if err != nil {
		return Request{}, err
	}
	return r, checkAddress(r.Base, r.URL)
}

// ReadLookup reads a lookup's answer by the profile's rules: conflict first, then found, then absent.
func ReadLookup(p *Profile, op string, a Answer) Looked {
	out := Looked{Status: a.Status}
	if !a.Complete {
		out.Detail = fmt.Sprintf("answer not read whole (HTTP %d)", a.Status)
		return out
	}
	l, read := p.Lookup, a.parse()
	if matching(l.Conflict, read, op) != nil {
		out.Result, out.Detail = LookConflict, fmt.Sprintf("the target reports a conflict (HTTP %d)", a.Status)
		return out
	}
	if rule := matching(l.Found, read, op); rule != nil {
		return l.found(*rule, read, op, out)
	}
	if matching(l.Absent, read, op) != nil {
		return l.absent(read, op, out)
	}
	out.Detail = fmt.Sprintf("answer that the profile does not know (HTTP %d)", a.Status)
	return out
}

func matching(rules []FoundRule, a parsed, op string) *FoundRule {
	i := slices.IndexFunc(rules, func(r FoundRule) bool { return r.Status.has(a.Status) && allHold(r.Where, a, op) })
	if i < 0 {
		return nil
	}
	return &rules[i]
}

func (l *Lookup) found(rule FoundRule, a parsed, op string, out Looked) Looked {
	effects := []any{a.tree}
	if l.List != "" {
		list, ok := l.List.at(a.tree).([]any)
		if !ok {
			out.Detail = fmt.Sprintf("answer without its list (HTTP %d)", a.Status)
			return out
		}
		effects = list
	}
	there := l.count(len(effects), a)
	ours := 0
	for _, effect := range effects {
		if rule.marks(effect, op) {
			ours++
		}
	}
	switch {
	case len(effects) == 0:
		return l.absent(a, op, out)
	case there == 1 && ours == 1:
		return foundOne(rule, effects[0], out)
	}
	out.Result = LookConflict
	out.Detail = fmt.Sprintf("%d found, %d of those shown with our mark", there, ours)
	return out
}

func (r *FoundRule) marks(effect any, op string) bool {
	mark, ok := scalar(r.Mark.at(effect))
	if r.MarkWord {
		return ok && slices.Contains(strings.Fields(mark), op)
	}
	return ok && mark == op
}

// count is how many effects there are, those that the answer does not show included.
func (l *Lookup) count(shown int, a parsed) int {
	if l.Complete == nil || l.Complete.Total == "" {
		return shown
	}
	text, _ := scalar(l.Complete.Total.at(a.tree))
	total, err := strconv.Atoi(text)
	if err != nil {
		return shown
	}
	return max(shown, total)
}

// whole says that the documented rule for completeness holds: every condition, and as many in all as are shown.
func (l *Lookup) whole(a parsed, op string) bool {
	c := l.Complete
	if c == nil || !allHold(c.When, a, op) {
		return false
	}
	if c.Total == "" {
		return true
	}
	list, _ := l.List.at(a.tree).([]any)
	text, ok := scalar(c.Total.at(a.tree))
	return ok && text == strconv.Itoa(len(list))
}

func foundOne(rule FoundRule, effect any, out Looked) Looked {
	if out.Reference = extract(rule.Reference, effect); out.Reference == "" {
		out.Detail = fmt.Sprintf("found with our mark but without a usable reference (HTTP %d)", out.Status)
		return out
	}
	out.Result, out.Complete, out.Detail = LookFound, true, fmt.Sprintf("one found, with our mark (HTTP %d)", out.Status)
	return out
}

func (l *Lookup) absent(a parsed, op string, out Looked) Looked {
	out.Result = LookAbsent
	out.Complete = l.whole(a, op)
	out.Detail = fmt.Sprintf("none found, complete: %t (HTTP %d)", out.Complete, a.Status)
	return out
}
