// Package approval asks named people and takes their decisions.
//
// It promises that a question is bound to one person, one round and one content; that nothing but a deliberate POST
// with the code sent apart decides (R11); and that a decision is written on the operation before anything is woken. It
// never decides for anybody, never puts a task token or content into a link or a mail, and never answers by time.
package approval

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/flow"
	"holdfast/internal/ledger"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
)

// Store is the part of the ledger that asking and deciding need.
type Store interface {
	Operation(context.Context, operation.ID) (operation.Operation, error)
	Update(ctx context.Context, seen, next operation.Operation) (ledger.Result[operation.Operation], error)
	TransactDecisions(context.Context, []ledger.Change) (ledger.Decisions, error)
	Content(context.Context, operation.ID, operation.Content) ([]byte, error)
	Run(context.Context, operation.RunID) (operation.Run, error)
	UpdateRun(ctx context.Context, seen, next operation.Run) (ledger.Result[operation.Run], error)
	CreateLink(context.Context, ledger.Link) (ledger.Result[ledger.Link], error)
	Link(context.Context, ledger.LinkID) (ledger.Link, error)
	CountTry(context.Context, ledger.LinkID) (bool, error)
	GiveTryBack(context.Context, ledger.LinkID) error
}

// Desk asks people. Its fields are set once.
type Desk struct {
	Store    Store
	Notifier notify.Notifier
	Clock    clock.Clock
	Policy   func(*operation.Operation) operation.Policy
	NewID    func(prefix string) string // random, in an alphabet that survives mail clients
	NewCode  func() string              // random, short enough to type
	CodeKey  []byte                     // keys the hashes of codes
	// Review is the address of the review pages, without a final slash, as people reach it.
	Review string
	Log    *slog.Logger
}

// Bounds of asking.
const (
	askRaces       = 8              // tries to put a question while others write
	expiresDefault = 24 * time.Hour // of an approval question whose flow names no time
	validDefault   = 48 * time.Hour // of a yes
	holdLinkKept   = 90 * 24 * time.Hour
)

func (d *Desk) now() operation.Time { return operation.TimeOf(d.Clock.Now()) }

// AskOperations puts one question about the given operations of a run to its people: links and mails first, the
// question on each operation last, so that an open question always has a link that reached the mail server. An
// operation that no longer needs asking is left alone. The operations are returned as they now stand.
func (d *Desk) AskOperations(ctx context.Context, run operation.Run, plan flow.PinnedPlan, ops []operation.Operation) ([]operation.Operation, error) {
	now := d.now()
	q := operation.Question{ID: operation.QuestionID(d.NewID("q_"))}
	kinds := map[operation.QuestionKind]bool{}
	var ids []operation.ID
	for i := range ops {
		if m := operation.Next(&ops[i], d.Policy(&ops[i]), now); m.Action == operation.ActionAsk && !standsAlready(&ops[i], m.Kind) {
			kinds[m.Kind] = true
			ids = append(ids, ops[i].ID)
		}
	}
	if len(ids) == 0 {
		return ops, nil
	}
	q.Reviewers = people(plan, kinds[operation.QuestionApprove] && len(kinds) == 1)
	q.Expires, q.ValidFor = times(plan, now)
	if err := d.invite(ctx, run, q, ids, stagesOf(ops, ids)); err != nil {
		return ops, err
	}
	for i := range ops {
		if !slices.Contains(ids, ops[i].ID) {
			continue
		}
		asked, err := d.put(ctx, ops[i], q)
		if err != nil {
			return ops, err
		}
		ops[i] = asked
	}
	return ops, nil
}

func standsAlready(op *operation.Operation, kind operation.QuestionKind) bool {
	return op.Question != nil && op.Question.Kind == kind
}

// people are asked to approve as the flow names them; what happened is also asked of the owner.
func people(plan flow.PinnedPlan, approve bool) []operation.Person {
	out := slices.Clone(plan.Reviewers)
	if (!approve || len(out) == 0) && !slices.Contains(out, plan.Owner) {
		out = append(out, plan.Owner)
	}
	return out
}

func times(plan flow.PinnedPlan, now operation.Time) (expires operation.Time, validFor int64) {
	e, v := plan.Expires.Std(), plan.Valid.Std()
	if e <= 0 {
		e = expiresDefault
	}
	if v <= 0 {
		v = validDefault
	}
	return now.Add(e), v.Milliseconds()
}

// put writes the question on one operation, and again from what others left.
func (d *Desk) put(ctx context.Context, op operation.Operation, q operation.Question) (operation.Operation, error) {
	for range askRaces {
		p, now := d.Policy(&op), d.now()
		m := operation.Next(&op, p, now)
		q.Kind = m.Kind
		next, refused := operation.Apply(&op, operation.Asked{At: now, Question: q}, p)
		if refused != nil {
			return op, nil // it no longer needs this question
		}
		res, err := d.Store.Update(ctx, op, *next)
		if err != nil || res.Verdict == ledger.Written {
			return res.Current, err
		}
		op = res.Current
	}
	return op, fmt.Errorf("ask about %s: others write it all the time; it is asked again later", op.ID)
}

// AskRun puts a question about the run itself to its owner.
func (d *Desk) AskRun(ctx context.Context, run operation.Run, why operation.Reason) (operation.Run, error) {
	if run.Question != nil || run.Ended() {
		return run, nil
	}
	return d.askRun(ctx, run, why, nil, run.Owner)
}

// AskMissing puts a question about an event that cannot be planned to who decides about it by the flow's rule, and to the
// run's owner. The names of what is missing are kept on the run.
func (d *Desk) AskMissing(ctx context.Context, run operation.Run, why operation.Reason, fields []string, who operation.Person) (operation.Run, error) {
	if run.Question != nil || run.Ended() {
		return run, nil
	}
	people := []operation.Person{run.Owner}
	if who != "" && who != run.Owner {
		people = []operation.Person{who, run.Owner}
	}
	return d.askRun(ctx, run, why, fields, people...)
}

func (d *Desk) askRun(ctx context.Context, run operation.Run, why operation.Reason, fields []string, people ...operation.Person) (operation.Run, error) {
	q := operation.Question{ID: operation.QuestionID(d.NewID("q_")), Reason: why, Reviewers: people}
	if err := d.invite(ctx, run, q, nil, conflicts(&run)); err != nil {
		return run, err
	}
	next := run
	next.Missing = fields
	if !operation.AskAboutRun(&next, q, d.now()) {
		return run, nil
	}
	next.Hold(why, d.now())
	res, err := d.Store.UpdateRun(ctx, run, next)
	return res.Current, err
}
