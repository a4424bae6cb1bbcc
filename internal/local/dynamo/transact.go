package dynamo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/store"
)

// A ClientRequestToken is remembered this long after the transaction completed.
const tokenLife = 10 * time.Minute

const (
	tokenBytesMax     = 36
	tokensForgottenAt = 4 // old tokens dropped with each new one
)

// tokensBucket holds tokens: when they expire and the digest of the request.
// expiryBucket holds the same tokens by the time they expire.
var (
	tokensBucket = []byte("tokens")
	expiryBucket = []byte("token expiry")
)

// transaction is one TransactWriteItems.
type transaction struct {
	q      *request
	writes []*write
	digest [sha256.Size]byte
	now    time.Time
	// repeated says that the token's transaction was made before.
	repeated bool
}

func (s *Server) transactWrite(q *request) (*transactAnswer, error) {
	if err := q.checkParts("transactItems", transactMax); err != nil {
		return nil, err
	}
	if len(q.token) > tokenBytesMax {
		return nil, invalid("1 validation error detected: Value '%s' at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to %d", q.token, tokenBytesMax)
	}
	t := &transaction{q: q}
	if q.token != "" {
		t.digest, t.now = q.digest(), s.options.Clock.Now()
	}
	var err error
	if t.writes, err = s.prepareAll(q.parts, "Transaction request cannot include multiple operations on one item"); err != nil {
		return nil, err
	}
	if err := checkConditions(q.parts); err != nil {
		return nil, err
	}
	if err := s.commit(t.writes, t.decide); err != nil {
		return nil, err
	}
	if !q.wanted() {
		return &transactAnswer{}, nil
	}
	return &transactAnswer{q.consumedTables(t.consumed(), t.capacityKind())}, nil
}

func checkConditions(parts []*request) error {
	for _, part := range parts {
		switch {
		case part.op == "ConditionCheck" && part.condition == nil:
			return missingMember("transactItems.1.member.conditionCheck.conditionExpression")
		case part.op == "Update" && part.update == nil:
			return missingMember("transactItems.1.member.update.updateExpression")
		}
	}
	return nil
}

func (t *transaction) capacityKind() string {
	if t.repeated {
		return "Read"
	}
	return "Write"
}

func (t *transaction) consumed() map[string]*consumption {
	all := map[string]*consumption{}
	for _, w := range t.writes {
		if t.repeated {
			at(all, w.table.name).table += readUnits(w.old.Size(), true) * transactionFactor
			continue
		}
		at(all, w.table.name).add(w.consumed, transactionFactor)
	}
	return all
}

// decide answers a repeated token, or decides all writes and remembers the token.
func (t *transaction) decide(tx store.Tx) ([]store.Change, error) {
	if known := t.remembered(tx); known != nil {
		if !slices.Equal(known, t.digest[:]) {
			return nil, refuse("IdempotentParameterMismatchException", "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical")
		}
		t.repeated = true
		return nil, t.loadAll(tx)
	}
	changes, err := t.decideAll(tx)
	if err != nil || t.q.token == "" {
		return changes, err
	}
	return t.remember(tx, changes), nil
}

func (t *transaction) loadAll(tx store.Tx) error {
	for _, w := range t.writes {
		b := tx.Bucket(w.table.bucket)
		if b == nil {
			return unknownTable()
		}
		if err := w.load(b); err != nil {
			return err
		}
	}
	return nil
}

// decideAll decides every write on the same state: no two touch one item. Any refusal cancels all.
func (t *transaction) decideAll(tx store.Tx) ([]store.Change, error) {
	var changes []store.Change
	reasons := make([]cancellation, len(t.writes))
	cancelled := false
	size := 0
	for i, w := range t.writes {
		more, err := w.decide(tx)
		if err != nil {
			if reasons[i], err = asReason(err); err != nil {
				return nil, err
			}
			cancelled = true
		}
		changes = append(changes, more...)
		size += max(w.size, w.old.Size())
	}
	switch {
	case cancelled:
		return nil, cancelledBy(reasons)
	case size > transactBytesMax:
		return nil, invalid("The aggregate size of the items in the transaction exceeds %d bytes", transactBytesMax)
	}
	return changes, nil
}

// asReason turns the refusal of one write into a reason of the whole; other errors stay errors.
func asReason(err error) (cancellation, error) {
	e := asRefusal(err)
	switch e.name {
	case "ConditionalCheckFailedException":
		return cancellation{code: "ConditionalCheckFailed", message: e.message, item: e.item}, nil
	case "ValidationException":
		return cancellation{code: "ValidationError", message: e.message}, nil
	}
	return cancellation{}, err
}

func cancelledBy(reasons []cancellation) error {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		if codes[i] = r.code; r.code == "" {
			codes[i] = "None"
		}
	}
	e := refuse("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	e.reasons = reasons
	return e
}

// remembered is the digest of the transaction made under the token, if it is still remembered.
func (t *transaction) remembered(tx store.Tx) []byte {
	if t.q.token == "" {
		return nil
	}
	raw := tx.Bucket(tokensBucket).Bytes([]byte(t.q.token))
	if raw == nil || int64(binary.BigEndian.Uint64(raw)) <= t.now.UnixMilli() {
		return nil
	}
	return raw[timeBytes:]
}

// timeBytes is the length of a stored time.
const timeBytes = 8

func (t *transaction) remember(tx store.Tx, changes []store.Change) []store.Change {
	token := []byte(t.q.token)
	expires := binary.BigEndian.AppendUint64(nil, uint64(t.now.Add(tokenLife).UnixMilli()))
	changes = t.forget(tx, changes)
	return append(changes,
		store.Change{Bucket: tokensBucket, Key: token, Record: store.OfBytes(append(slices.Clone(expires), t.digest[:]...))},
		store.Change{Bucket: expiryBucket, Key: append(expires, token...), Record: store.OfBytes([]byte{})})
}

// forget drops a few of the oldest tokens that have expired.
func (t *transaction) forget(tx store.Tx, changes []store.Change) []store.Change {
	tokens, seen := tx.Bucket(tokensBucket), 0
	_ = tx.Bucket(expiryBucket).EachBytes(func(key, _ []byte) (bool, error) { // it never fails
		if int64(binary.BigEndian.Uint64(key)) > t.now.UnixMilli() {
			return true, nil
		}
		old := slices.Clone(key)
		changes = append(changes, store.Change{Bucket: expiryBucket, Key: old})
		if raw := tokens.Bytes(old[timeBytes:]); bytes.HasPrefix(raw, old[:timeBytes]) { // not used anew since
			changes = append(changes, store.Change{Bucket: tokensBucket, Key: old[timeBytes:]})
		}
		seen++
		return seen >= tokensForgottenAt, nil
	})
	return changes
}

// digest is the same for two requests exactly when they say the same, in whatever order their maps are written.
func (q *request) digest() [sha256.Size]byte {
	var b []byte
	for _, part := range q.parts {
		b = part.appendCanonical(b)
	}
	return sha256.Sum256(b)
}

func (q *request) appendCanonical(b []byte) []byte {
	for _, text := range []string{q.op, q.table, q.returnOnFailure} {
		b = attr.AppendText(b, text)
	}
	for _, e := range []*string{q.condition, q.update} {
		if e != nil {
			b = attr.AppendText(b, *e)
		}
		b = append(b, ';')
	}
	names := attr.Item{}
	for _, n := range q.scope.Names {
		names = append(names, attr.Field{Name: n.Key, Value: attr.String(n.Name)})
	}
	values := attr.Item{}
	for _, v := range q.scope.Values {
		values = append(values, attr.Field{Name: v.Key, Value: v.Value})
	}
	for _, it := range []attr.Item{q.item, q.key, names, values} {
		b = attr.AppendItem(b, it.Sorted())
	}
	return b
}
