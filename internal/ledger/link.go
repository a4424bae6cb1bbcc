package ledger

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/operation"
)

// LinkID is the short opaque id in a reviewer's link.
type LinkID string

// LinkTriesMax bounds wrong codes on one link.
const LinkTriesMax = 5

// Link is bound to one person, one question of one round and its subject; it holds no content and decides nothing.
type Link struct {
	ID         LinkID               `json:"id"`
	Person     operation.Person     `json:"person"`
	Question   operation.QuestionID `json:"question"`
	Round      int                  `json:"round"`
	Operations []operation.ID       `json:"operations,omitempty"`
	Run        operation.RunID      `json:"run,omitempty"`
	Created    operation.Time       `json:"created"`
	Expires    operation.Time       `json:"expires"`
	CodeHash   string               `json:"code_hash,omitempty"`
	Tries      int                  `json:"-"` // wrong codes so far
	Bound      string               `json:"-"` // the browser that proved to be the person's
}

// CreateLink keeps a new link: Created, or Exists with the one that has this id.
func (l *Ledger) CreateLink(ctx context.Context, link Link) (Result[Link], error) {
	if l.EpochNow() == 0 {
		return Result[Link]{}, ErrUnchecked
	}
	doc, err := encode(link)
	if err != nil {
		return Result[Link]{}, err
	}
	k := linkKey(link.ID)
	it, writeID := k.attributes(), l.WriteID()
	it["v"], it["doc"], it["tries"], it["write_id"] = num(schemaVersion), str(string(doc)), num(0), str(writeID)
	it[TTLAttribute] = num(int64(link.Expires.Add(l.ContentKept)) / 1000)
	err = l.put(ctx, it, absent, nil, nil)
	if err == nil {
		return Result[Link]{Created, link}, nil
	}
	var refused *refusal
	if !errors.As(err, &refused) {
		return Result[Link]{}, err
	}
	stands, err := linkOf(refused.item)
	if textOf(refused.item, "write_id") == writeID {
		return Result[Link]{Created, stands}, err
	}
	return Result[Link]{Exists, stands}, err
}

// Link reads a link; ErrNotFound when there is none. Whether it has expired is the caller's to compare.
func (l *Ledger) Link(ctx context.Context, id LinkID) (Link, error) {
	it, err := l.get(ctx, linkKey(id))
	if err != nil {
		return Link{}, err
	}
	if it == nil {
		return Link{}, fmt.Errorf("link: %w", ErrNotFound)
	}
	return linkOf(it)
}

func linkOf(it item) (Link, error) {
	var link Link
	if err := decode([]byte(textOf(it, "doc")), &link); err != nil {
		return Link{}, fmt.Errorf("link: %w", err)
	}
	tries, err := numberOf(it, "tries")
	link.Tries, link.Bound = int(tries), textOf(it, "bound")
	return link, err
}

// CountTry counts a code before it is compared. False: the tries are used up, and the code must not be compared.
func (l *Ledger) CountTry(ctx context.Context, id LinkID) (bool, error) {
	err := l.change(ctx, linkKey(id), "SET tries = tries + :one", tryLeft, nil,
		item{":one": num(1), ":tries_max": num(LinkTriesMax)})
	return held(err, id)
}

// GiveTryBack takes back one counted try after the code proved right, so that a person who makes several decisions
// with one link is not locked out. Right codes are compared only after they are counted and given back only afterwards,
// so that at most LinkTriesMax wrong codes are ever compared, also in parallel. Its own lost answer may give back one
// more; nobody reaches it without the right code, so it helps nobody to guess.
func (l *Ledger) GiveTryBack(ctx context.Context, id LinkID) error {
	err := l.change(ctx, linkKey(id), "SET tries = tries - :one", tryCounted, nil, item{":one": num(1), ":none": num(0)})
	_, err = held(err, id)
	return err
}

// BindLink ties a link to one browser. False: it is tied to another one.
func (l *Ledger) BindLink(ctx context.Context, id LinkID, browser string) (bool, error) {
	err := l.change(ctx, linkKey(id), "SET #bound = :bound", unboundOrSame,
		map[string]string{"#bound": "bound"}, item{":bound": str(browser)})
	return held(err, id)
}

// held turns a refusal into false; a link that is not there is an error.
func held(err error, id LinkID) (bool, error) {
	var refused *refusal
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &refused):
		return false, err
	case refused.item == nil:
		return false, fmt.Errorf("link: %w", ErrNotFound)
	}
	return false, nil
}
