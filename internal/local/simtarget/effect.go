package simtarget

import (
	"slices"
	"strings"
	"time"
)

// What a natural key does when its value is there already, and whether an archived record still holds it.
const (
	againUpdate   = "update"
	againSame     = "same"
	againConflict = "conflict"
	archivedFrees = "frees"
	archivedHolds = "holds"
)

// keyEntry is what the target remembers of an idempotency key.
type keyEntry struct {
	at      time.Time
	digest  string
	pending bool
	reply   reply
}

// effect carries out a request that changes the target: key layer, commit, memory, wire.
func (t *target) effect(c call, sc *scope) outcome {
	entry, known := t.beginKey(c, sc)
	if known != nil {
		return t.afterEffect(c, *known)
	}
	switch {
	case t.full():
		t.forgetKey(c, sc, entry)
		return outcome{reply: t.render(t.spec.Failures.Broken, sc)}
	case c.wire.Kind == KindStoredError, c.wire.Kind == KindBrokenBefore:
		entry.finish(t.render(t.spec.Failures.Broken, sc))
		return outcome{reply: entry.reply}
	case c.wire.Kind == KindLateCommit:
		t.commitLater(c, entry)
		return outcome{action: ActionHang}
	}
	good := t.commit(c, sc)
	out := t.afterEffect(c, good)
	settle := func() { t.remember(c, sc, entry, good, out.reply) }
	if c.wire.Kind != KindLateAnswer {
		settle()
		return out
	}
	out.done = t.locked(settle)
	return out
}

// locked makes f safe to call later, and void after a reset.
func (t *target) locked(f func()) func() {
	epoch := t.epoch
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.epoch == epoch {
			f()
		}
	}
}

// commitLater lets the effect happen on the shared clock, whatever becomes of the connection.
func (t *target) commitLater(c call, entry *keyEntry) {
	t.late++
	t.sim.later(t.sim.clock.Now().Add(time.Duration(c.wire.Delay)), t.locked(func() {
		t.late--
		sc := t.scope(c.x)
		good := t.commit(c, sc)
		t.remember(c, sc, entry, good, good)
	}))
}

// beginKey looks the request's key up. It returns an answer when the request goes no further, else the entry to
// finish; a request without a key gets an entry that is not kept.
func (t *target) beginKey(c call, sc *scope) (*keyEntry, *reply) {
	entry := &keyEntry{at: t.sim.clock.Now(), pending: true}
	rule := c.route.Effect.Key
	if rule == nil || c.has(KindKeyIgnored) {
		return entry, nil
	}
	entry.digest = c.x.digest()
	if c.has(KindKeyForgotten) {
		clear(t.keys)
	}
	key := rule.At.text(sc)
	if key == "" {
		return entry, nil
	}
	if old := t.keys[key]; old != nil && (old.pending || entry.at.Sub(old.at) < t.window(c)) {
		known := t.knownKey(rule, old, entry.digest, sc)
		return old, &known
	}
	if len(t.keys) < keysMax {
		t.keys[key] = entry
	}
	return entry, nil
}

func (t *target) window(c call) time.Duration {
	window := time.Duration(c.route.Effect.Key.Window)
	if short, on := c.mods[KindShortWindow]; on {
		return min(window, time.Duration(short.Delay))
	}
	return window
}

func (t *target) knownKey(rule *Key, old *keyEntry, digest string, sc *scope) reply {
	switch {
	case old.digest != digest:
		return t.render(rule.OtherPayload, sc)
	case old.pending:
		return t.render(rule.Concurrent, sc)
	}
	t.tally.replays++
	return old.reply.replayed(rule.ReplayHeader)
}

func (r reply) replayed(header string) reply {
	again := r
	again.header = slices.Clone(r.header)
	if header != "" {
		again.set(header, "true")
	}
	return again
}

func (e *keyEntry) finish(r reply) { e.reply, e.pending = r, false }

// remember settles the key: the good answer, or for a target that stores errors what it answered itself. A
// refusal that made no effect leaves no memory, unless errors are stored.
func (t *target) remember(c call, sc *scope, entry *keyEntry, good, sent reply) {
	rule := c.route.Effect.Key
	if rule == nil {
		return
	}
	switch {
	case rule.StoresErrors && c.wire.Kind == KindBrokenAfter:
		entry.finish(sent)
	case good.status < 300 || rule.StoresErrors:
		entry.finish(good)
	default:
		t.forgetKey(c, sc, entry)
	}
}

// forgetKey drops the memory of this request, and of no other one under the same key.
func (t *target) forgetKey(c call, sc *scope, entry *keyEntry) {
	rule := c.route.Effect.Key
	if rule != nil && t.keys[rule.At.text(sc)] == entry {
		delete(t.keys, rule.At.text(sc))
	}
}

func (t *target) full() bool {
	kept := t.late
	for _, c := range t.collections {
		kept += len(c.records)
	}
	return kept+batchItemsMax > recordsMax
}

// commit changes the target's data, once for each item, and makes the answer.
func (t *target) commit(c call, sc *scope) reply {
	rule := c.route.Effect
	own := *sc
	sc = &own
	items := []any{nil}
	if rule.Each.node != nil {
		v, _ := rule.Each.value(sc)
		items, _ = v.([]any)
	}
	if len(items) == 0 || len(items) > batchItemsMax {
		return t.render(t.spec.Failures.Refused, sc)
	}
	for _, item := range items {
		sc.item = item
		rec, isNew, refusal := t.commitOne(c, sc)
		sc.rec, sc.isNew = rec, isNew
		if refusal != nil {
			return t.render(*refusal, sc)
		}
		result, _ := rule.Result.value(sc)
		sc.results = append(sc.results, result)
	}
	sc.total = len(sc.results)
	return t.render(rule.Answer, sc)
}

func (t *target) commitOne(c call, sc *scope) (*record, bool, *Answer) {
	rule := c.route.Effect
	col := t.collection(rule.In)
	doc := rule.Store.document(sc)
	if n := rule.Natural; n != nil {
		setPointer(doc, n.Field.text(sc), n.Value.text(sc))
	}
	if rule.Natural != nil && !c.has(KindNotUnique) {
		if rec, refusal := t.occupied(c, sc, col); rec != nil {
			if rule.Natural.Again == againUpdate && refusal == nil {
				col.update(rec, doc)
				t.tally.updates++
			}
			return rec, false, refusal
		}
	}
	rec := col.insert(doc, t.sim.clock.Now(), t.rng)
	t.made(c, t.effectOf(c, sc, rec), rec)
	return rec, true, nil
}

// occupied returns the record that holds the natural key's value, and the refusal that it causes, if any.
func (t *target) occupied(c call, sc *scope, col *collection) (*record, *Answer) {
	n := c.route.Effect.Natural
	at, value := n.Field.text(sc), n.Value.text(sc)
	for _, rec := range col.find(at, value, n.Fold) {
		switch {
		case rec.archived && n.Archived != archivedHolds:
			continue
		case rec.archived, n.Again == againConflict:
			return rec, n.Conflict
		}
		return rec, nil
	}
	if !c.has(KindForeignRecord) || value == "" {
		return nil, nil
	}
	doc := t.foreignDoc(c.route.Effect.In, sc, at, value)
	rec := col.insert(doc, t.sim.clock.Now(), t.rng)
	rec.foreign = true
	if n.Again == againConflict {
		return rec, n.Conflict
	}
	return rec, nil
}

func (t *target) foreignDoc(in string, sc *scope, at, value string) map[string]any {
	doc := t.spec.Collections[in].Foreign.document(sc)
	setPointer(doc, at, value)
	return doc
}

// effectOf describes a commit for the judge. The identity is the operation's mark wherever the request carries
// it: in its own field, the natural key, the key, the item, the address or the body; else the first of these.
func (t *target) effectOf(c call, sc *scope, rec *record) Effect {
	rule := c.route.Effect
	e := Effect{Time: rec.at.UTC().Format(timeShape), Route: c.route.Name, Reference: rec.id, Connection: c.x.conn,
		Method: c.x.method, Path: c.x.path, BodyDigest: c.x.bodyDigest(), BodyBytes: len(c.x.raw)}
	if rule.Key != nil {
		e.Key = rule.Key.At.text(sc)
	}
	if rule.Natural != nil {
		e.Natural = rule.Natural.Value.text(sc)
	}
	e.Operation = identity(rule.Mark.text(sc), e, sc)
	return e
}

func identity(mark string, e Effect, sc *scope) string {
	for _, text := range []string{mark, e.Natural, e.Key, textOf(sc.item), e.Path} {
		if found := operationMark(text); found != "" {
			return found
		}
	}
	if sc.item == nil {
		if found := operationMark(string(sc.x.raw)); found != "" {
			return found
		}
	}
	for _, text := range []string{mark, e.Natural, e.Key} {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return "unmarked"
}

const markStart = "op_"

// operationMark returns the first operation id in a text, or "".
func operationMark(text string) string {
	for from := 0; ; {
		at := strings.Index(text[from:], markStart)
		if at < 0 {
			return ""
		}
		at += from
		end := at + len(markStart)
		for end < len(text) && isAlphanumeric(text[end]) {
			end++
		}
		if end > at+len(markStart) && (at == 0 || text[at-1] != '_' && !isAlphanumeric(text[at-1])) {
			return text[at:end]
		}
		from = at + len(markStart)
	}
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
