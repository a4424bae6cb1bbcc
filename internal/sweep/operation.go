package sweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/internal/flow"
	"holdfast/internal/launch"
	"holdfast/internal/ledger"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
)

// operation writes down what time has ended and makes the runs go on that wait for it.
func (s *Sweep) operation(ctx context.Context, id operation.ID, r *Report) error {
	op, err := s.Store.Operation(ctx, id)
	if err != nil {
		return err
	}
	p, now := s.Policy(&op), s.now()
	if next := passed(&op, p, now); next != nil {
		r.Passed++
		res, err := s.Store.Update(ctx, op, *next)
		if err != nil || res.Verdict != ledger.Written {
			return err
		}
		return s.carryOn(ctx, &res.Current)
	}
	if s.early(op.Step) {
		return nil
	}
	if err := s.act(ctx, &op, operation.Next(&op, p, now), r); err != nil {
		return err
	}
	_, err = s.Store.Update(ctx, op, *operation.Postpone(&op, p, now))
	return err
}

// act reminds people of an open question, and makes runs go on for everything else that can be done now.
func (s *Sweep) act(ctx context.Context, op *operation.Operation, m operation.Move, r *Report) error {
	switch {
	case m.Action == operation.ActionAsk && op.Question != nil:
		r.Reminded++
		return s.remind(ctx, reminded(op, s.now()), string(op.ID), m.Reason, linkHint)
	case m.Action == operation.ActionDone, m.Action == operation.ActionWait:
		return nil
	}
	r.Started++
	return s.carryOn(ctx, op)
}

// passed is the operation after what time has ended; nil when nothing has.
func passed(op *operation.Operation, p operation.Policy, now operation.Time) *operation.Operation {
	var out *operation.Operation
	for _, f := range launch.TimeFacts(op, p, now) {
		if next, refused := operation.Apply(op, f, p); refused == nil {
			op, out = next, next
		}
	}
	return out
}

// carryOn makes the runs go on that rely on the operation. Where all of them have ended, the latest one gets an execution
// once more while something about the operation is open: a second effect to be looked for, a contradiction to be asked
// about.
func (s *Sweep) carryOn(ctx context.Context, op *operation.Operation) error {
	var failed []error
	var ended operation.RunID
	open := false
	for _, id := range op.Runs {
		run, err := s.Store.Run(ctx, id)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
		case err != nil:
			failed = append(failed, err)
		case !run.Ended():
			open = true
			failed = append(failed, s.Launcher.Resume(ctx, id, operation.ReasonLaunch))
		case slices.ContainsFunc(run.Stages, func(st operation.StageRef) bool { return st.Operation == op.ID }):
			ended = id
		}
	}
	switch {
	case !open && ended == "":
		failed = append(failed, s.orphan(ctx, op))
	case !open && ended != "" && op.Step.Action != operation.ActionDone:
		failed = append(failed, s.Launcher.Settle(ctx, ended))
	}
	return errors.Join(failed...)
}

// orphan looks after an operation that no run knows: one that a crash left out, or that a restored table lost. What was
// not sent is withdrawn; whoever asked for it was told that it is not clear whether it was done. What may have been sent
// is put to the operation's owner, because nothing else would ever find out.
func (s *Sweep) orphan(ctx context.Context, op *operation.Operation) error {
	done, current, err := s.give(ctx, op, operation.Withdrawn{At: s.now(), How: "its run is not in the ledger"})
	if err != nil || done || current.Question != nil {
		return err
	}
	if m := operation.Next(current, s.Policy(current), s.now()); m.Action != operation.ActionAsk {
		if done, current, err = s.give(ctx, current, operation.Unfit{At: s.now(), Reason: operation.ReasonRunMissing}); err != nil || !done {
			return err
		}
	}
	run := operation.Run{ID: current.Runs[0], Flow: current.Flow, Owner: current.Owner}
	_, err = s.Asker.AskOperations(ctx, run, flow.PinnedPlan{Flow: current.Flow, Owner: current.Owner}, []operation.Operation{*current})
	return err
}

// give gives one fact to an operation once; false when it was refused or another writer was first.
func (s *Sweep) give(ctx context.Context, op *operation.Operation, f operation.Fact) (bool, *operation.Operation, error) {
	next, refused := operation.Apply(op, f, s.Policy(op))
	if refused != nil {
		return false, op, nil
	}
	res, err := s.Store.Update(ctx, *op, *next)
	return err == nil && res.Verdict == ledger.Written, &res.Current, err
}

// escalateAfter is how long a question may wait before those above are told too.
const escalateAfter = 24 * time.Hour

// reminded are the people who were asked, and after a while the owner and those above.
func reminded(op *operation.Operation, now operation.Time) []operation.Person {
	to := slices.Clone(op.Question.Reviewers)
	if now.Sub(op.Question.Asked) < escalateAfter {
		return to
	}
	for _, p := range append([]operation.Person{op.Owner}, op.Escalate...) {
		if !slices.Contains(to, p) {
			to = append(to, p)
		}
	}
	return to
}

// What the reminded person can do.
const (
	linkHint    = "The link was sent when the question was asked."
	releaseHint = "Nothing was done. `holdfast resolve %s` with --answer release or refuse decides."
)

func (s *Sweep) remind(ctx context.Context, to []operation.Person, id string, why operation.Reason, hint string) error {
	for _, person := range to {
		err := s.Notifier.Notify(ctx, notify.Mail{
			To: string(person), Subject: "Still waiting for a decision",
			Text: "Still waiting: " + id + "\nReason: " + string(why) + "\n\n" + strings.ReplaceAll(hint, "%s", id) + " `holdfast inspect " + id + "` shows the story.\n",
		})
		if err != nil {
			return err
		}
	}
	return nil
}
