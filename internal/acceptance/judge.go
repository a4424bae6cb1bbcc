package acceptance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// effect is one commit at a simulated target, with the target's name.
type effect struct {
	Sim string
	simtarget.Effect
}

// allEffects are the commits of every simulated target, in a fixed order.
func (s *site) allEffects(ctx context.Context) ([]effect, error) {
	shown, err := s.shown(ctx)
	if err != nil {
		return nil, err
	}
	var out []effect
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		for _, e := range shown[name].List {
			out = append(out, effect{name, e})
		}
	}
	return out, nil
}

// sent is the request of an operation, with its holes filled once it was claimed.
func (s *site) sent(ctx context.Context, op operation.Operation) (target.Request, error) {
	raw, err := s.App.Ledger.Content(ctx, op.ID, op.Content)
	if op.Filled != nil {
		raw, err = s.App.Ledger.Filled(ctx, op.ID, *op.Filled)
	}
	if errors.Is(err, ledger.ErrNotFound) || err != nil {
		return target.Request{}, err
	}
	return target.Decode(raw)
}

// effectsOf are the commits that carry the operation's mark, or that its very request made.
func (s *site) effectsOf(ctx context.Context, op operation.Operation) ([]effect, error) {
	all, err := s.allEffects(ctx)
	if err != nil {
		return nil, err
	}
	request, err := s.sent(ctx, op)
	if err != nil {
		return nil, fmt.Errorf("read what %s sends: %w", op.ID, err)
	}
	sim := s.plan.sims[op.Target]
	var out []effect
	for _, e := range all {
		if e.Sim == sim && (e.Operation == string(op.ID) || sameRequest(e, request)) {
			out = append(out, e)
		}
	}
	return out, nil
}

// sameRequest says that the target received exactly these bytes at this address.
func sameRequest(e effect, r target.Request) bool {
	u, err := url.Parse(r.URL)
	return err == nil && e.Method == r.Method && e.Path == u.Path && e.BodyDigest == string(ledger.DigestOf(r.Body))
}

// shows says that a saved reference is the target's own: the record's id, or parts of what its address names.
func shows(e effect, ref operation.Reference) bool {
	if string(ref) == e.Reference {
		return true
	}
	parts := strings.Split(string(ref), ":")
	for _, part := range parts {
		if part == "" || !strings.Contains(e.Path, part) {
			return false
		}
	}
	return len(parts) > 1
}
