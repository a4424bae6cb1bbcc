package load

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/local"
	"holdfast/internal/operation"
)

// filled is a ledger in memory with operations as the product leaves them: half of them confirmed, half not sent yet and
// due. A round opens as many as it confirms.
type filled struct {
	l       *local.Local
	name    string
	n       int
	claimed []operation.Operation // in the latest round
	next    int                   // open operation to claim next
	stride  int                   // from it to the one after
}

// openEvery: one of so many operations is open.
const openEvery = 2

// contentBytes is the size of a content as the shipped flows render it.
const contentBytes = 400

// fillTell is how many operations are told at once.
const fillTell = 100_000

func (f *filled) fill(ctx context.Context, n int, tell func(string, ...any)) error {
	f.stride = max(n/((warmRounds+rounds)*stepsPerRound), openEvery) / openEvery * openEvery
	for f.n < n {
		op, err := f.create(ctx)
		if err != nil {
			return err
		}
		if f.n%openEvery != 0 {
			if op, err = f.claim(ctx, op); err != nil {
				return err
			}
			if err := f.report(ctx, op); err != nil {
				return err
			}
		}
		f.n++
		if f.n%fillTell == 0 {
			tell("%s ledger: %d of %d operations", f.name, f.n, n)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// id spreads ids as keyed hashes are spread.
func (f *filled) id(n int) operation.ID {
	return operation.ID(fmt.Sprintf("op_%016x%08x", mixed(uint64(len(f.name)), uint64(n)), n))
}

func content(id operation.ID) []byte {
	text := "POST /effects HTTP/1.1 " + string(id) + " "
	return []byte(text + strings.Repeat("c", contentBytes-len(text)))
}

func (f *filled) now() operation.Time { return operation.TimeOf(f.l.Clock.Now()) }

// create makes operation n of this ledger as planning does.
func (f *filled) create(ctx context.Context) (operation.Operation, error) {
	id, now := f.id(f.n), f.now()
	bytes := content(id)
	const owner = "ops-lead@example.com"
	op := operation.Operation{
		ID: id, Flow: standing, Stage: "notice", Target: "generic-key", Profile: 1, Owner: owner, Created: now, SendBy: now.Add(24 * time.Hour),
		Runs: []operation.RunID{operation.RunID("run_" + strings.TrimPrefix(string(id), "op_"))}, Content: operation.Content{Version: 1, Digest: ledger.DigestOf(bytes)},
		Evidence: []operation.Evidence{{Kind: operation.EvidencePlanned, At: now, Detail: "content 1"}},
		Step:     operation.Step{Action: operation.ActionSend, Due: now, Owner: owner},
	}
	op.Policy = f.l.App.Runner.PolicyOf(&op)
	op.Approval = &operation.Approval{By: owner, At: now, Version: 1, Digest: op.Content.Digest, Standing: true}
	res, err := f.l.App.Ledger.CreateOperation(ctx, op, bytes)
	if err == nil && res.Verdict != ledger.Created {
		err = shape("create", f.n, res.Verdict)
	}
	return res.Current, err
}

// claim takes the right to make the first attempt.
func (f *filled) claim(ctx context.Context, op operation.Operation) (operation.Operation, error) {
	now := f.now()
	next, refused := operation.Apply(&op, operation.Claim{
		Attempt: operation.AttemptID("at_" + strings.TrimPrefix(string(op.ID), "op_")), Run: op.Runs[0], At: now, LeaseUntil: now.Add(2 * time.Minute),
		Filled: operation.Filled{Version: 1, Digest: op.Content.Digest},
	}, op.Policy)
	if refused != nil {
		return op, refused
	}
	res, err := f.l.App.Ledger.Claim(ctx, op, *next)
	if err == nil && res.Verdict != ledger.Written {
		err = shape("claim", f.n, res.Verdict)
	}
	return res.Current, err
}

// report records that the attempt was carried out.
func (f *filled) report(ctx context.Context, op operation.Operation) error {
	fact, err := json.Marshal(operation.Reported{
		Attempt: op.Attempts[0].ID, At: f.now(), Outcome: operation.OutcomeExecuted, Kind: operation.EvidenceAnswer, Reference: operation.Reference("ref_" + string(op.ID)),
	})
	if err != nil {
		return err
	}
	res, err := f.l.App.Ledger.RecordOutcome(ctx, op, op.Attempts[0].ID, fact)
	if err == nil && (res.Verdict != ledger.Written || res.Current.Status != operation.StatusConfirmed) {
		err = shape("outcome", f.n, res)
	}
	return err
}

// round measures each step on some operations, in microseconds of processor time for one. What is claimed, and read, was
// not touched for long; what is recorded was claimed in this round.
func (f *filled) round(ctx context.Context, round int) (map[string]float64, error) {
	took := map[string]float64{}
	var open []operation.Operation
	for range stepsPerRound {
		op, err := f.l.App.Ledger.Operation(ctx, f.id(f.next))
		if err != nil {
			return nil, err
		}
		open = append(open, op)
		f.next += f.stride
	}
	f.claimed = f.claimed[:0]
	seed := uint64(round)
	for _, step := range []struct {
		name string
		one  func(i int) error
	}{
		{"read", func(i int) error {
			_, err := f.l.App.Ledger.Operation(ctx, f.id(int(mixed(seed, uint64(i))%uint64(f.n))))
			return err
		}},
		{"create", func(int) error { _, err := f.create(ctx); f.n++; return err }},
		{"claim", func(i int) error {
			op, err := f.claim(ctx, open[i])
			f.claimed = append(f.claimed, op)
			return err
		}},
		{"outcome", func(i int) error { return f.report(ctx, f.claimed[i]) }},
		{"due", func(i int) error {
			hints, err := f.l.App.Ledger.Due(ctx, i%ledger.Shards, operation.TimeMax, duePage, nil)
			if err == nil && len(hints) == 0 {
				err = shape("due", f.n, hints)
			}
			return err
		}},
	} {
		begun := f.cpu()
		for i := range stepsPerRound {
			if err := step.one(i); err != nil {
				return nil, fmt.Errorf("%s: %w", step.name, err)
			}
		}
		took[step.name] = float64((f.cpu() - begun).Nanoseconds()) / 1000 / stepsPerRound
	}
	return took, nil
}

// duePage is the number of hints on a page, as the sweep asks for them.
const duePage = 100

func (f *filled) cpu() time.Duration { return threadTime(f.l.Clock) }
