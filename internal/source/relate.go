package source

import "time"

// Relation is how a later notification stands to one that was recorded before.
type Relation string

// The relations.
const (
	// RelationNone: another event. It runs.
	RelationNone Relation = "none"
	// RelationDuplicate: the same event with the same content. It gets the run's current state.
	RelationDuplicate Relation = "duplicate"
	// RelationVariant: the same event in another subscription's shape. The first one wins; the other stays visible.
	RelationVariant Relation = "variant"
	// RelationConflict: the same event or delivery with other content. It is held; neither is picked silently.
	RelationConflict Relation = "conflict"
	// RelationPossibleRepeat: nothing tells whether it is the same event. It is held, visible and releasable.
	RelationPossibleRepeat Relation = "possible_repeat"
)

// Relate compares two notifications. apart is how long after the first one the later one came, by our clock.
// Incomplete identities relate to nothing: each is held for its own gaps.
func Relate(first, later Identity, apart time.Duration) Relation {
	switch {
	case !first.Complete() || !later.Complete():
		return RelationNone
	case first.Source != later.Source || first.Account != later.Account || first.Topic != later.Topic:
		return RelationNone
	case first.Rung == later.Rung && first.Value == later.Value:
		return relateSame(first, later, apart)
	case apart <= later.Horizon && shares(first.Likenesses, later.Likenesses):
		return RelationPossibleRepeat
	}
	return RelationNone
}

func relateSame(first, later Identity, apart time.Duration) Relation {
	switch {
	case first.Rung == RungBodyDigest && apart <= later.Horizon:
		return RelationPossibleRepeat
	case first.Rung == RungBodyDigest:
		return RelationNone
	case first.CanonicalDigest == later.CanonicalDigest:
		return RelationDuplicate
	case first.DeliveryID != "" && later.DeliveryID != "" && first.DeliveryID != later.DeliveryID:
		return RelationVariant
	}
	return RelationConflict
}

func shares(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}
