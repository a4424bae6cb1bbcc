package target

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"holdfast/internal/operation"
)

// retryAfterMax bounds what a target may ask for; a longer wait is cut to this.
const retryAfterMax = 24 * time.Hour

// Verdict is what one answer proves by a profile's rules.
type Verdict struct {
	Outcome   operation.Outcome
	Reference operation.Reference // set when, and only when, executed
	Conflict  bool                // somebody holds this key or value already; who, only a lookup can tell
	NoRepeat  bool                // an error is stored under the key
	Retry     bool                // a later attempt may be answered differently
	Detail    string              // from the rule's reason and numbers only
}

// Classify reads an answer by the profile's rules: the first that matches decides, and an answer that no rule
// knows, that was cut off, or that claims success without a reference is unknown.
func Classify(p *Profile, op string, a Answer) Verdict {
	if a.Status == 0 {
		return Verdict{Detail: "no answer"}
	}
	if !a.Complete {
		return Verdict{Detail: fmt.Sprintf("answer not read whole (HTTP %d)", a.Status)}
	}
	read := a.parse()
	for i := range p.Answers {
		if r := &p.Answers[i]; r.Status.has(a.Status) && allHold(r.Where, read, op) {
			return r.verdict(read)
		}
	}
	return Verdict{Detail: fmt.Sprintf("answer that the profile does not know (HTTP %d)", a.Status)}
}

func (r *Rule) verdict(a parsed) Verdict {
	v := Verdict{NoRepeat: r.StoredError, Retry: r.Retry, Detail: fmt.Sprintf("%s (HTTP %d)", r.Reason, a.Status)}
	switch r.Outcome {
	case RuleNotExecuted:
		v.Outcome = operation.OutcomeNotExecuted
	case RuleConflict:
		v.Conflict = true
	case RuleExecuted:
		if v.Reference = extract(r.Reference, a.tree); v.Reference == "" {
			v.Detail = fmt.Sprintf("%s without a usable reference (HTTP %d)", r.Reason, a.Status)
			return v
		}
		v.Outcome = operation.OutcomeExecuted
	}
	return v
}

// retryAfter reads a Retry-After header, in seconds or as a date; zero when there is none to read.
func retryAfter(h http.Header, now time.Time) operation.Time {
	text := h.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	if wait <= 0 {
		return 0
	}
	return operation.TimeOf(now.Add(min(wait, retryAfterMax)))
}
