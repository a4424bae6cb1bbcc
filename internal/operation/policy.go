package operation

import "time"

// Protection is what the target documents against repeats.
type Protection uint8

// The kinds of protection. The zero value is none: what a profile does not prove, nobody relies on.
const (
	ProtectionNone    Protection = iota
	ProtectionKey                // a key that the target remembers for a documented window
	ProtectionNatural            // a unique value made from our id; no expiry
)

// Order is what a profile does first about an unknown outcome.
type Order uint8

// The two orders.
const (
	OrderLookUp Order = iota
	OrderReplay
)

// Policy is what a target's profile lets the core rely on. All of it is documented by the target or is our own
// bound; the zero value relies on nothing.
type Policy struct {
	Protection Protection    `json:"protection,omitempty"`
	KeyWindow  time.Duration `json:"key_window_ns,omitempty"` // counted from the claim of the oldest unproven attempt under the key
	KeyMargin  time.Duration `json:"key_margin_ns,omitempty"` // subtracted from the window
	Order      Order         `json:"order,omitempty"`
	ReplaysMax int           `json:"replays_max,omitempty"`

	Lookup       bool          `json:"lookup,omitempty"`          // the target can be asked by our mark
	AbsentCounts bool          `json:"absent_counts,omitempty"`   // complete, and its visibility delay is documented
	Visible      time.Duration `json:"visible_ns,omitempty"`      // an effect is found at the latest this long after the attempt was over
	LookupEvery  time.Duration `json:"lookup_every_ns,omitempty"` // between two lookups
	LookupsMax   int           `json:"lookups_max,omitempty"`     // lookups per unknown outcome before a person is asked
	Quiet        time.Duration `json:"quiet_ns,omitempty"`        // after this an effect of an attempt that is over cannot newly appear; before it nobody may say "nothing happened"

	AttemptsMax int           `json:"attempts_max,omitempty"` // sends in all, replays not counted
	BackoffMin  time.Duration `json:"backoff_min_ns,omitempty"`
	BackoffMax  time.Duration `json:"backoff_max_ns,omitempty"`
	Factor      float64       `json:"factor,omitempty"`

	Timeout time.Duration `json:"timeout_ns,omitempty"` // of one request
	Lease   time.Duration `json:"lease_ns,omitempty"`   // at least the function's hard kill time
	Skew    time.Duration `json:"skew_ns,omitempty"`    // bound on the difference of two machines' clocks
}

// Stricter joins the pinned and the current recovery rules of a profile that changed under an open operation:
// of each rule the one that sends less.
func Stricter(a, b Policy) Policy {
	out := a
	if b.Protection != a.Protection {
		out.Protection = ProtectionNone
	}
	if b.Order != a.Order {
		out.Order = OrderLookUp
	}
	out.KeyWindow = min(a.KeyWindow, b.KeyWindow)
	out.KeyMargin = max(a.KeyMargin, b.KeyMargin)
	out.ReplaysMax = min(a.ReplaysMax, b.ReplaysMax)
	out.Lookup = a.Lookup && b.Lookup
	out.AbsentCounts = a.AbsentCounts && b.AbsentCounts
	out.Visible = max(a.Visible, b.Visible)
	out.LookupEvery = max(a.LookupEvery, b.LookupEvery)
	out.LookupsMax = min(a.LookupsMax, b.LookupsMax)
	out.Quiet = max(a.Quiet, b.Quiet)
	out.AttemptsMax = min(a.AttemptsMax, b.AttemptsMax)
	out.BackoffMin = max(a.BackoffMin, b.BackoffMin)
	out.BackoffMax = max(a.BackoffMax, b.BackoffMax)
	out.Factor = max(a.Factor, b.Factor)
	out.Timeout = max(a.Timeout, b.Timeout)
	out.Lease = max(a.Lease, b.Lease)
	out.Skew = max(a.Skew, b.Skew)
	return out
}

// backoff is the wait before try n+1 after n failed ones (n from 1).
func (p Policy) backoff(n int) time.Duration {
	d := p.BackoffMin
	for i := 1; i < n && d < p.BackoffMax; i++ {
		d = time.Duration(float64(d) * max(p.Factor, 1))
	}
	return min(d, max(p.BackoffMax, p.BackoffMin))
}

// collapse says that the target documents that requests a and b have one effect between them: a natural key always, a
// key of one generation when the window that its oldest attempt can have opened spans both: a repeat in between does not
// prolong it. A restored attempt's key is not known.
func (op *Operation) collapse(p Policy, a, b *Attempt) bool {
	switch p.Protection {
	case ProtectionNatural:
		return true
	case ProtectionKey:
		sent := latest(a.sentBy(), b.sentBy())
		same := a.Generation == b.Generation && a.Version == b.Version && !a.Restored && !b.Restored
		return same && sent.Sub(op.oldestUnder(a.Generation)) < p.KeyWindow-p.KeyMargin
	}
	return false
}

// oldestUnder is the claim of the oldest attempt under a key generation that is not proven not executed; zero without one.
func (op *Operation) oldestUnder(generation int) Time {
	var oldest Time
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Generation == generation && a.Outcome != OutcomeNotExecuted {
			oldest = earliest(oldest, a.Claimed)
		}
	}
	return oldest
}

// sentBy is when the attempt's request left at the latest. A replay's fence minded the window already.
func (a *Attempt) sentBy() Time {
	switch {
	case a.Replay:
		return a.Claimed
	case a.Recorded != 0:
		return min(a.Recorded, a.LeaseUntil)
	}
	return a.LeaseUntil
}
