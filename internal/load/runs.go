package load

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/local"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

// Runs is what full runs left whose targets broke, with the people who answered.
type Runs struct {
	Runs int `json:"runs"`
	// Faults are the shares of effect requests that each switch strikes, by its kind, at every target.
	Faults map[simtarget.Kind]float64 `json:"faults"`
	Struck int                        `json:"struck"`
	// Answers are what people answered.
	Answers map[operation.Answer]int `json:"answers"`
	Refused int                      `json:"refused"`
	Count   Count                    `json:"count"`
}

// faults are what breaks: answers lost after the effect and connections cut before it, refusals before any effect, and
// errors on both sides of it, which prove nothing.
func faults() map[simtarget.Kind]float64 {
	return map[simtarget.Kind]float64{
		simtarget.KindLostAfterCommit:   0.06,
		simtarget.KindResetAfterRequest: 0.02,
		simtarget.KindLimited:           0.04,
		simtarget.KindBrokenBefore:      0.03,
		simtarget.KindBrokenAfter:       0.03,
		simtarget.KindHalfAnswer:        0.02,
		simtarget.KindUnreadable:        0.02,
		simtarget.KindProxyAfter:        0.02,
	}
}

// usedTargets are the simulated targets of the two flows.
func usedTargets() []string { return []string{"generic-key", "generic-lookup", "hubspot", "resend"} }

// runs runs two flows by turns: one that its owner authorised, and one whose every run a reviewer approves.
func (o Options) runs(ctx context.Context) (out *Runs, broken promises, err error) {
	l, err := o.open(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := breakTargets(l); err != nil {
		return nil, nil, err
	}
	s := newSender(l, o.Concurrency, func(n int) (notification, error) { return o.ofTwoFlows(n), nil })
	defer s.close()
	h := &house{l: l, answered: map[operation.Answer]int{}, told: func(open int) { o.Tell("%d things are open", open) }}
	t := newTold(o.Runs)
	if err := o.blow(ctx, s, mixedOrder(o.Seed, o.Runs, 1), t); err != nil {
		return nil, nil, err
	}
	if err := h.settle(ctx); err != nil {
		return nil, nil, err
	}
	out = &Runs{Runs: o.Runs, Faults: faults(), Answers: h.answered, Refused: t.refused}
	for _, f := range l.Sim.Faults() {
		out.Struck += f.Used
	}
	out.Count, err = recount(ctx, l)
	return out, out.judge(t), err
}

func (r *Runs) judge(t *told) (p promises) {
	p.holds(len(t.wrong) == 0, "answers that are neither a yes nor \"not now, come again\", by status: %v", t.wrong)
	r.Count.accepted(&p, t.accepted())
	r.Count.judge(&p)
	return p
}

func breakTargets(l *local.Local) error {
	for _, name := range usedTargets() {
		for kind, share := range faults() {
			if _, err := l.Sim.SetFault(simtarget.Fault{Target: name, Kind: kind, Probability: share, Match: simtarget.MatchEffects}); err != nil {
				return err
			}
		}
	}
	return nil
}

const followUp = `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"load-%[1]x-%[2]d","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"load","customer_id":"c%[2]d","first_name":"Ada","email":"c%[2]d@example.com","due":"2030-01-02T09:00:00Z"}}`

// ofTwoFlows is notification n: an even one for the standing flow, an odd one for the flow that asks a reviewer.
func (o Options) ofTwoFlows(n int) notification {
	if n%2 == 0 {
		return standingNotification(o.Seed, n, 0)
	}
	return notification{source: "shopify-flow", id: fmt.Sprintf("load-%d", n), body: fmt.Appendf(nil, followUp, o.Seed, n)}
}
