// Package story tells what happened behind an id: the event, its runs, their operations with every attempt, question and
// piece of evidence.
//
// It promises to read only, and to show neither content nor secrets.
package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Story is what is known around one id. A delivery id or a target's reference may be that of several records.
type Story struct {
	Asked      string                `json:"asked"`
	Events     []operation.Event     `json:"events,omitempty"`
	Runs       []operation.Run       `json:"runs,omitempty"`
	Operations []operation.Operation `json:"operations,omitempty"`
	// Waits names the earlier stage that an operation waits for in every run that it has.
	Waits map[operation.ID]string `json:"waits,omitempty"`
	// More says that further records have the id and are not told.
	More bool `json:"more,omitempty"`
}

// ErrUnknown says that nothing has the id.
var ErrUnknown = errors.New("nothing in this ledger has this id")

// Bounds of a search.
const (
	idBytesMax    = 1 << 10
	matchesMax    = 20   // records told about one id
	progressEvery = 1000 // records read between two words of progress
	searchParts   = 1    // segments of the ledger read one after another
)

// Find reads the story behind an id: of an event, run, operation, attempt, question, link, delivery, or a target's
// reference. Ids that name no record of their own are looked for in the whole ledger; progress is then called with the
// number of records read. What a record refers to and a crash left unwritten is left out.
func Find(ctx context.Context, s Store, id string, progress func(int)) (Story, error) {
	t := teller{Story: Story{Asked: id}, store: s}
	if err := t.find(ctx, id, progress); err != nil {
		return t.Story, fmt.Errorf("read the story of %s: %w", id, err)
	}
	if len(t.Events)+len(t.Runs)+len(t.Operations) == 0 {
		return t.Story, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	if err := t.waits(ctx); err != nil {
		return t.Story, fmt.Errorf("read the story of %s: %w", id, err)
	}
	return t.Story, nil
}

// teller reads each record once.
type teller struct {
	Story
	store Store
}

// find tells what has the id. Nothing has an empty one, although a reference may be empty.
func (t *teller) find(ctx context.Context, id string, progress func(int)) error {
	if id == "" || len(id) > idBytesMax {
		return nil
	}
	switch prefix, _, _ := strings.Cut(id, "_"); prefix {
	case "op":
		return t.aroundOperation(ctx, operation.ID(id))
	case "run":
		return t.aroundRun(ctx, operation.RunID(id))
	case "ev":
		return t.aroundEvent(ctx, operation.EventID(id))
	}
	link, err := t.store.Link(ctx, linkID(id))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return t.search(ctx, id, progress)
	case err != nil:
		return err
	case link.Run != "":
		return t.aroundRun(ctx, link.Run)
	}
	for _, op := range link.Operations {
		if err := t.aroundOperation(ctx, op); err != nil {
			return err
		}
	}
	return nil
}

// linkID takes a link's id also as the address that was mailed.
func linkID(id string) ledger.LinkID {
	if _, after, found := strings.Cut(id, "/review/"); found {
		id = after
	}
	return ledger.LinkID(id)
}

// aroundOperation tells an operation, the runs that refer to it and the events of those.
func (t *teller) aroundOperation(ctx context.Context, id operation.ID) error {
	op, err := t.operation(ctx, id)
	if err != nil || op == nil {
		return err
	}
	for _, id := range op.Runs {
		run, err := t.run(ctx, id)
		if err != nil {
			return err
		}
		if run == nil {
			continue
		}
		if _, err := t.event(ctx, run.Event); err != nil {
			return err
		}
	}
	return nil
}

// aroundRun tells a run, its operations and its event.
func (t *teller) aroundRun(ctx context.Context, id operation.RunID) error {
	run, err := t.run(ctx, id)
	if err != nil || run == nil {
		return err
	}
	for _, stage := range run.Stages {
		if _, err := t.operation(ctx, stage.Operation); err != nil {
			return err
		}
	}
	_, err = t.event(ctx, run.Event)
	return err
}

// aroundEvent tells an event with everything that was made for it.
func (t *teller) aroundEvent(ctx context.Context, id operation.EventID) error {
	ev, err := t.event(ctx, id)
	if err != nil || ev == nil {
		return err
	}
	for _, run := range ev.Runs {
		if err := t.aroundRun(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (t *teller) operation(ctx context.Context, id operation.ID) (*operation.Operation, error) {
	return once(&t.Operations, func(o operation.Operation) bool { return o.ID == id }, func() (operation.Operation, error) { return t.store.Operation(ctx, id) })
}

func (t *teller) run(ctx context.Context, id operation.RunID) (*operation.Run, error) {
	return once(&t.Runs, func(r operation.Run) bool { return r.ID == id }, func() (operation.Run, error) { return t.store.Run(ctx, id) })
}

func (t *teller) event(ctx context.Context, id operation.EventID) (*operation.Event, error) {
	return once(&t.Events, func(e operation.Event) bool { return e.ID == id }, func() (operation.Event, error) { return t.store.Event(ctx, id) })
}

// once adds what read gives unless it is there; nil when it does not exist.
func once[T any](told *[]T, same func(T) bool, read func() (T, error)) (*T, error) {
	if i := slices.IndexFunc(*told, same); i >= 0 {
		return &(*told)[i], nil
	}
	v, err := read()
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	*told = append(*told, v)
	return &v, nil
}

// search reads the whole ledger for an id that names no record of its own.
func (t *teller) search(ctx context.Context, id string, progress func(int)) error {
	n := 0
	var found []ledger.Found
	err := t.store.Audit(ctx, searchParts, func(f ledger.Found) error {
		if n++; progress != nil && n%progressEvery == 0 {
			progress(n)
		}
		switch {
		case !mentions(f, id):
		case len(found) == matchesMax:
			t.More = true
		default:
			found = append(found, f)
		}
		return nil
	})
	for _, f := range found {
		err = errors.Join(err, t.around(ctx, f))
	}
	return err
}

func (t *teller) around(ctx context.Context, f ledger.Found) error {
	switch {
	case f.Operation != nil:
		return t.aroundOperation(ctx, f.Operation.ID)
	case f.Run != nil:
		return t.aroundRun(ctx, f.Run.ID)
	}
	return t.aroundEvent(ctx, f.Event.ID)
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
	if c := op.Contradiction; c != nil && (string(c.First) == id || string(c.Second) == id) {
		return true
	}
	return slices.ContainsFunc(op.Attempts, func(a operation.Attempt) bool { return string(a.ID) == id || string(a.Reference) == id })
}

func asked(open *operation.Question, answered []operation.Question, id string) bool {
	same := func(q operation.Question) bool { return string(q.ID) == id }
	return open != nil && same(*open) || slices.ContainsFunc(answered, same)
}
