package launch

import "holdfast/internal/operation"

// TimeFacts are the facts about an operation that time alone has made true: an attempt's lease is over, a question's
// time has ended. Whoever comes first writes them down, an execution or the sweep.
func TimeFacts(op *operation.Operation, p operation.Policy, now operation.Time) []operation.Fact {
	var facts []operation.Fact
	for i := range op.Attempts {
		a := &op.Attempts[i]
		if a.Open() && a.Recorded == 0 && a.Ended == 0 && a.Over(p.Skew, now) {
			facts = append(facts, operation.LeaseOver{At: now})
			break
		}
	}
	if q := op.Question; q != nil && q.Expires != 0 && now >= q.Expires {
		facts = append(facts, operation.Lapsed{At: now, Question: q.ID})
	}
	return facts
}
