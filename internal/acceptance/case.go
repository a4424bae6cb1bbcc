package acceptance

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/operation"
	"holdfast/internal/target"
	"holdfast/internal/web"
)

// Case is one case as it was played. Only what its JSON shows is a promise to other programs.
type Case struct {
	N           int            `json:"n"`
	Name        string         `json:"name"`
	Passed      bool           `json:"passed"`
	Effects     map[string]int `json:"effects"` // at the target, by stage
	Duplicates  int            `json:"duplicates"`
	Transitions int            `json:"transitions"` // states entered by all executions of the run
	Evidence    []string       `json:"evidence"`
	Next        string         `json:"next"`
	Owner       string         `json:"owner"`

	Checks []Check  `json:"-"`
	Sent   []Sent   `json:"-"`
	Shows  []Shown  `json:"-"`
	Notes  []string `json:"-"` // what happened, in order
	Warns  []string `json:"-"` // contradictions of the target
	Story  []string `json:"-"` // the operations' evidence, as the ledger keeps it
}

// Check is one thing that had to be true.
type Check struct {
	Text string
	OK   bool
}

// Sent is what an operation sends.
type Sent struct {
	Stage, Operation, Status, Reference, Method, URL, Body, Digest string
	Attempts                                                       int
}

// Shown is an effect that the target shows.
type Shown struct{ Stage, Target, Route, Operation, Reference, At string }

// probe plays one case.
type probe struct {
	Case
	*site
	plan *plan
}

func (b *probe) start(ctx context.Context) (err error) {
	b.site, err = b.plan.openSite(ctx, b.plan.text, nil)
	return err
}

func (b *probe) close() error {
	if b.site == nil {
		return nil
	}
	return b.site.Close()
}

// expect holds what happened against what has to be.
func (b *probe) expect(ok bool, format string, args ...any) {
	b.Checks = append(b.Checks, Check{fmt.Sprintf(format, args...), ok})
}

func (b *probe) note(format string, args ...any) {
	b.Notes = append(b.Notes, fmt.Sprintf(format, args...))
}

// end is the finished case: passed when everything that had to be true was.
func (b *probe) end() Case {
	c := b.Case
	c.Passed = len(c.Checks) > 0
	var failed, held []string
	for _, k := range c.Checks {
		if k.OK {
			held = append(held, k.Text)
			continue
		}
		c.Passed = false
		failed = append(failed, "NOT TRUE: "+k.Text)
	}
	c.Evidence = slices.Concat(failed, c.Warns, held, c.Notes, c.Story)
	if c.Evidence == nil {
		c.Evidence = []string{}
	}
	return c
}

// judge counts the effects of the run's operations at the targets, and of further ones by their label; whatever belongs
// to none of them is a duplicate of somebody's.
func (b *probe) judge(ctx context.Context, r rest, more ...operation.Operation) error {
	all, err := b.allEffects(ctx)
	if err != nil {
		return err
	}
	explained, wanted := 0, 0
	b.Duplicates, b.Sent, b.Shows, b.Story = 0, nil, nil, nil
	for i, op := range append(append([]operation.Operation(nil), r.ops...), more...) {
		label := op.Stage
		if i >= len(r.ops) {
			label = op.Stage + " (second)"
		}
		found, err := b.effectsOf(ctx, op)
		if err != nil {
			return err
		}
		b.Effects[label] = len(found)
		explained += len(found)
		wanted += min(len(found), 1)
		if err := b.record(ctx, label, op, found); err != nil {
			return err
		}
	}
	b.Duplicates = len(all) - wanted
	b.expect(explained == len(all), "every effect at the targets belongs to an operation of the run (%d of %d do)", explained, len(all))
	b.Transitions, _ = b.transitions(r.run)
	b.next(r)
	return nil
}

// record keeps what was sent, what the target shows and the evidence, for the report.
func (b *probe) record(ctx context.Context, label string, op operation.Operation, found []effect) error {
	request, err := b.sent(ctx, op)
	if err != nil {
		return err
	}
	b.Sent = append(b.Sent, Sent{
		Stage: label, Operation: string(op.ID), Status: op.Status.String(), Reference: string(op.Reference), Attempts: len(op.Attempts),
		Method: request.Method, URL: request.URL, Body: bodyText(request), Digest: string(op.Content.Digest),
	})
	for _, e := range found {
		b.Shows = append(b.Shows, Shown{label, e.Sim, e.Route, e.Operation, e.Reference, e.Time})
	}
	for _, e := range op.Evidence {
		line := fmt.Sprintf("%s · %s · %s", label, e.At, web.EvidenceText(e))
		if e.Count > 1 {
			line += fmt.Sprintf(" (%d times)", e.Count)
		}
		if e.By != "" {
			line += " · " + string(e.By)
		}
		b.Story = append(b.Story, line)
	}
	return nil
}

const bodyShownMax = 4 << 10

func bodyText(r target.Request) string {
	if len(r.Body) > bodyShownMax {
		return string(r.Body[:bodyShownMax]) + "…"
	}
	return string(r.Body)
}

// next says what comes next and whose it is (R7).
func (b *probe) next(r rest) {
	b.Next, b.Owner = "nothing: the run is "+r.run.Status.String(), string(r.run.Owner)
	for i := range r.ops {
		op := &r.ops[i]
		if op.Question == nil && (op.Status.Settled() || r.run.Ended()) {
			continue
		}
		b.Next = fmt.Sprintf("%s: %s by %s: %s", op.Stage, op.Step.Action, day(op.Step.Due), web.Sentence(op.Step.Reason))
		b.Owner = string(op.Step.Owner)
		return
	}
	if !r.run.Ended() {
		b.Next = fmt.Sprintf("the run: %s by %s: %s", r.run.Step.Action, day(r.run.Step.Due), web.Sentence(r.run.Step.Reason))
		b.Owner = string(r.run.Step.Owner)
	}
}

// day is an instant for people, to the minute.
func day(t operation.Time) string { return t.Std().Format("2006-01-02 15:04 UTC") }

// once expects the run to be done, with each effect there once and its reference saved.
func (b *probe) once(ctx context.Context, r rest) error {
	if err := b.judge(ctx, r); err != nil {
		return err
	}
	b.expect(r.run.Status == operation.RunDone, "the run is done (it is %s)", r.run.Status)
	b.expect(len(r.ops) == len(b.plan.stages()), "every stage has its operation")
	for _, op := range r.ops {
		b.expect(b.Effects[op.Stage] == 1, "%s happened exactly once (%d effects at the target)", op.Stage, b.Effects[op.Stage])
		found, err := b.effectsOf(ctx, op)
		if err != nil {
			return err
		}
		b.expect(op.Status == operation.StatusConfirmed && len(found) > 0 && shows(found[0], op.Reference), "%s is confirmed with the target's own reference (%s, %q)", op.Stage, op.Status, op.Reference)
	}
	b.expect(b.Duplicates == 0, "there are no duplicates (%d)", b.Duplicates)
	return nil
}
