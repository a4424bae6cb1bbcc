package approval

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// Verdict is how a decision ended, for the page that shows it.
type Verdict uint8

// The verdicts. The zero value decided nothing.
const (
	Refused  Verdict = iota // Reason says why; nothing changed
	Decided                 // the decision is written
	Standing                // the same decision stands already
	Opposed                 // another decision stands; nothing changed
)

// Input is what a person sent from the page.
type Input struct {
	Code      string
	Answer    operation.Answer
	Reference operation.Reference
	How       string
	Minutes   int
	// Seen is, per operation (or for the run), the digest and revision that the page showed.
	Seen map[string]Seen
}

// Seen is what the page showed.
type Seen struct {
	Digest operation.Digest
	Rev    int64
}

// Result is what became of an Input.
type Result struct {
	Verdict  Verdict
	Reason   operation.Reason
	Standing *operation.Decision
	// Runs are to be resumed.
	Runs []operation.RunID
}

// Reasons of the page itself.
const (
	ReasonWrongCode  operation.Reason = "wrong_code"
	ReasonTriesSpent operation.Reason = "code_tries_spent"
	ReasonNoCodes    operation.Reason = "codes_not_configured"
)

var errRaced = errors.New("others decide about the same operations at once; open the page again")

// Decide checks the person's code and writes the decision on every operation of the link that still asks it, together
// or not at all.
func (d *Desk) Decide(ctx context.Context, link ledger.Link, in Input) (Result, error) {
	if why, err := d.Prove(ctx, link, in.Code); err != nil || why != "" {
		return Result{Reason: why}, err
	}
	if len(link.Operations) == 0 {
		return d.decideRun(ctx, link, in)
	}
	for range askRaces {
		out, raced, err := d.decideOnce(ctx, link, in)
		if err != nil || !raced {
			return out, err
		}
	}
	return Result{}, errRaced
}

// Prove checks that whoever sends the code is the link's person; "" means yes. Every code is counted before it is
// compared, in constant time: comparing first would let parallel guesses through before the count stops them. A right
// one is given back, because only wrong ones are to be bounded. A failure to give back costs the person one try and
// nobody anything else, so it is only logged.
func (d *Desk) Prove(ctx context.Context, link ledger.Link, code string) (operation.Reason, error) {
	if link.CodeHash == "" || len(d.CodeKey) == 0 {
		return ReasonNoCodes, nil
	}
	left, err := d.Store.CountTry(ctx, link.ID)
	if err != nil {
		return "", err
	}
	if !left {
		return ReasonTriesSpent, nil
	}
	given := d.hash(link.ID, strings.ToUpper(strings.Join(strings.Fields(code), "")))
	if subtle.ConstantTimeCompare([]byte(given), []byte(link.CodeHash)) != 1 {
		return ReasonWrongCode, nil
	}
	if err := d.Store.GiveTryBack(ctx, link.ID); err != nil {
		d.Log.Warn("a try with the right code stays counted", "run", link.Run, "error", err)
	}
	return "", nil
}

func (d *Desk) decideOnce(ctx context.Context, link ledger.Link, in Input) (out Result, raced bool, err error) {
	var changes []ledger.Change
	var first Result
	now := d.now() // one reading is one decision, at one time
	for _, id := range link.Operations {
		op, err := d.Store.Operation(ctx, id)
		if err != nil {
			return Result{}, false, err
		}
		next, refused := operation.Apply(&op, d.fact(now, link, in, &op), d.Policy(&op))
		if refused != nil {
			if one := refusal(in, refused); first.Reason == "" || one.Verdict > first.Verdict {
				first = one
			}
			continue
		}
		if in.Answer == operation.AnswerApprove {
			if why, err := d.unreadable(ctx, &op); err != nil || why != "" {
				return Result{Reason: why}, false, err
			}
		}
		changes = append(changes, ledger.Change{Seen: op, Next: *next})
	}
	if len(changes) == 0 || blocks(first) {
		return first, false, nil
	}
	res, err := d.write(ctx, changes)
	if err != nil || res.Verdict != ledger.Written {
		return Result{}, err == nil, err
	}
	return Result{Verdict: Decided, Runs: runsOf(res.Current)}, false, nil
}

// unreadable says why the content cannot be approved: nobody can have read what is gone or has another digest.
func (d *Desk) unreadable(ctx context.Context, op *operation.Operation) (operation.Reason, error) {
	_, err := d.Store.Content(ctx, op.ID, op.Content)
	switch {
	case errors.Is(err, ledger.ErrDigest), errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrExpired):
		d.Log.Error("approval refused: what is stored is not what was frozen", "operation", op.ID, "error", err)
		return operation.ReasonDigestMismatch, nil
	}
	return "", err
}

// blocks: what was refused for what the person saw or wrote stops the whole reading; what has moved on does not.
func blocks(r Result) bool {
	switch r.Reason {
	case "", operation.ReasonDecided, operation.ReasonNoQuestion:
		return false
	}
	return true
}

// fact is the decision on one operation. A question's id is made for one asking, so it stands for its round.
func (d *Desk) fact(now operation.Time, link ledger.Link, in Input, op *operation.Operation) operation.Decided {
	seen := in.Seen[string(op.ID)]
	round := link.Round
	if op.Question != nil && op.Question.ID == link.Question {
		round = op.Question.Round
	}
	return operation.Decided{
		At: now, Question: link.Question, Round: round, Digest: seen.Digest, Rev: seen.Rev,
		By: link.Person, Answer: in.Answer, Reference: in.Reference, How: in.How, Minutes: in.Minutes,
	}
}

func refusal(in Input, r *operation.Refusal) Result {
	out := Result{Reason: r.Reason, Standing: r.Standing}
	if r.Standing != nil {
		out.Verdict = Opposed
		if r.Standing.Answer == in.Answer {
			out.Verdict = Standing
		}
	}
	return out
}

func (d *Desk) write(ctx context.Context, changes []ledger.Change) (ledger.Decisions, error) {
	if len(changes) > 1 {
		return d.Store.TransactDecisions(ctx, changes)
	}
	res, err := d.Store.Update(ctx, changes[0].Seen, changes[0].Next)
	return ledger.Decisions{Verdict: res.Verdict, Current: []operation.Operation{res.Current}}, err
}

func runsOf(ops []operation.Operation) []operation.RunID {
	seen := map[operation.RunID]bool{}
	var out []operation.RunID
	for i := range ops {
		for _, id := range ops[i].Runs {
			if !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	return out
}

// decideRun decides about the run itself. What the decision asks for beyond the run (a second operation, a stop) is
// carried out by whoever resumes it.
func (d *Desk) decideRun(ctx context.Context, link ledger.Link, in Input) (Result, error) {
	run, err := d.Store.Run(ctx, link.Run)
	if err != nil {
		return Result{}, err
	}
	next := run
	next.Stages = append([]operation.StageRef(nil), run.Stages...)
	seen := in.Seen[string(run.ID)]
	round := link.Round
	if run.Question != nil && run.Question.ID == link.Question {
		round = run.Question.Round
	}
	refused := operation.DecideRun(&next, operation.Decided{
		At: d.now(), Question: link.Question, Round: round, Rev: seen.Rev, By: link.Person, Answer: in.Answer,
		How: in.How, Minutes: in.Minutes,
	})
	if refused != nil {
		return refusal(in, refused), nil
	}
	res, err := d.Store.UpdateRun(ctx, run, next)
	if err != nil {
		return Result{}, err
	}
	if res.Verdict != ledger.Written {
		return Result{Reason: operation.ReasonOtherRevision}, nil
	}
	return Result{Verdict: Decided, Runs: []operation.RunID{run.ID}}, nil
}
