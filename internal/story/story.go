// Package story tells what happened behind an id: the event, its runs, their operations with every attempt, question and
// piece of evidence.
//
// It promises to read only, and to show neither content nor secrets.
package story

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// Store is the part of the ledger that a story is read from.
type Store interface {
	Operation(context.Context, operation.ID) (operation.Operation, error)
	Run(context.Context, operation.RunID) (operation.Run, error)
	Event(context.Context, operation.EventID) (operation.Event, error)
	Link(context.Context, ledger.LinkID) (ledger.Link, error)
	Audit(ctx context.Context, segments int32, fn func(ledger.Found) error) error
}

// Story is what is known around one id.
type Story struct {
	Asked      string                `json:"asked"`
	Event      *operation.Event      `json:"event,omitempty"`
	Runs       []operation.Run       `json:"runs,omitempty"`
	Operations []operation.Operation `json:"operations,omitempty"`
}

// ErrUnknown says that nothing has the id.
var ErrUnknown = errors.New("nothing in this ledger has this id")

// Find reads the story behind an id: of an event, run, operation, attempt, question, link, delivery, or a target's
// reference. Ids that name no record of their own are looked for in the whole ledger; progress is then called with the
// number of records read.
func Find(ctx context.Context, s Store, id string, progress func(int)) (Story, error) {
	out := Story{Asked: id}
	var err error
	switch prefix, _, _ := strings.Cut(id, "_"); prefix {
	case "op":
		err = out.fromOperation(ctx, s, operation.ID(id))
	case "run":
		err = out.fromRun(ctx, s, operation.RunID(id))
	case "ev":
		err = out.fromEvent(ctx, s, operation.EventID(id))
	default:
		err = out.search(ctx, s, id, progress)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		return out, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	return out, err
}

func (st *Story) fromOperation(ctx context.Context, s Store, id operation.ID) error {
	op, err := s.Operation(ctx, id)
	if err != nil {
		return err
	}
	st.Operations = []operation.Operation{op}
	for _, run := range op.Runs {
		r, err := s.Run(ctx, run)
		if err != nil {
			return err
		}
		st.Runs = append(st.Runs, r)
	}
	return st.eventOf(ctx, s)
}

func (st *Story) eventOf(ctx context.Context, s Store) error {
	if len(st.Runs) == 0 {
		return nil
	}
	ev, err := s.Event(ctx, st.Runs[0].Event)
	if err == nil {
		st.Event = &ev
	}
	return err
}

func (st *Story) fromRun(ctx context.Context, s Store, id operation.RunID) error {
	run, err := s.Run(ctx, id)
	if err != nil {
		return err
	}
	st.Runs = append(st.Runs, run)
	for _, stage := range run.Stages {
		op, err := s.Operation(ctx, stage.Operation)
		if err != nil {
			return err
		}
		st.Operations = append(st.Operations, op)
	}
	if st.Event == nil {
		return st.eventOf(ctx, s)
	}
	return nil
}

func (st *Story) fromEvent(ctx context.Context, s Store, id operation.EventID) error {
	ev, err := s.Event(ctx, id)
	if err != nil {
		return err
	}
	st.Event = &ev
	for _, run := range ev.Runs {
		if err := st.fromRun(ctx, s, run); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
	}
	return nil
}

// progressEvery is how many records are read between two words of progress.
const progressEvery = 1000

var errFound = errors.New("found")

// search reads the whole ledger for an id that names no record of its own.
func (st *Story) search(ctx context.Context, s Store, id string, progress func(int)) error {
	if link, err := s.Link(ctx, ledger.LinkID(id)); err == nil {
		return st.fromRun(ctx, s, link.Run)
	} else if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	n := 0
	var found ledger.Found
	err := s.Audit(ctx, 1, func(f ledger.Found) error {
		if n++; progress != nil && n%progressEvery == 0 {
			progress(n)
		}
		if mentions(f, id) {
			found = f
			return errFound
		}
		return nil
	})
	switch {
	case !errors.Is(err, errFound) && err != nil:
		return err
	case found.Operation != nil:
		return st.fromOperation(ctx, s, found.Operation.ID)
	case found.Run != nil:
		return st.fromRun(ctx, s, found.Run.ID)
	case found.Event != nil:
		return st.fromEvent(ctx, s, found.Event.ID)
	}
	return ledger.ErrNotFound
}

func mentions(f ledger.Found, id string) bool {
	switch {
	case f.Operation != nil:
		return operationMentions(f.Operation, id)
	case f.Run != nil:
		return asked(f.Run.Question, f.Run.Answered, id)
	case f.Event != nil:
		for _, d := range f.Event.Deliveries {
			if d.ID == id {
				return true
			}
		}
	}
	return false
}

func operationMentions(op *operation.Operation, id string) bool {
	if string(op.Reference) == id || asked(op.Question, op.Answered, id) {
		return true
	}
	for i := range op.Attempts {
		if string(op.Attempts[i].ID) == id || string(op.Attempts[i].Reference) == id {
			return true
		}
	}
	return false
}

func asked(open *operation.Question, answered []operation.Question, id string) bool {
	if open != nil && string(open.ID) == id {
		return true
	}
	for i := range answered {
		if string(answered[i].ID) == id {
			return true
		}
	}
	return false
}
