package sim

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// firstByte is asked when the first byte of a request reaches a connection.
func (w *world) firstByte(c *conn) {
	a := w.current()
	if a.call == nil || a.call.function != "ExecuteFunction" {
		if a.call == nil || a.call.function != "ReconcileFunction" {
			w.fail("R2", "a request to a target left from "+a.name)
		}
		return
	}
	w.sends++
	cl, ok := w.claims[a]
	if !ok {
		w.fail("R1", "a request left without a claim")
		return
	}
	w.sent[cl.attempt]++
	if w.sent[cl.attempt] > 1 {
		w.fail("R2", fmt.Sprintf("attempt %s put a second request on the wire", cl.attempt))
	}
	op, err := w.peek.Operation(context.Background(), cl.op)
	if err != nil {
		if !w.restored {
			w.fail("R1", fmt.Sprintf("attempt %s was sent and the ledger does not know %s: %v", cl.attempt, cl.op, err))
		}
		return
	}
	w.maySend(&op, cl)
}

// maySend checks a request that is about to leave against the ledger as it stands, by the world's own clock.
func (w *world) maySend(op *operation.Operation, cl claim) {
	at := op.Attempt(cl.attempt)
	now := operation.TimeOf(w.now)
	switch {
	case at == nil:
		if !w.everRestored {
			w.fail("R1", fmt.Sprintf("attempt %s was sent and is not on %s", cl.attempt, cl.op))
		}
		return
	case now > at.LeaseUntil.Add(2*skewMax):
		w.fail("R2", fmt.Sprintf("attempt %s was sent after its lease", cl.attempt))
	case op.Status == operation.StatusConfirmed:
		w.fail("R8", fmt.Sprintf("attempt %s was sent when %s was confirmed", cl.attempt, cl.op))
	}
	policy := w.policyOf(op)
	w.expect(op, at)
	for i := range op.Attempts {
		o := &op.Attempts[i]
		if o.ID == at.ID || !o.Open() || o.Attested != nil {
			continue
		}
		w.reach("R3")
		if !at.Replay || policy.Protection == operation.ProtectionNone || o.Digest != at.Digest || o.Generation != at.Generation {
			w.fail("R3", fmt.Sprintf("attempt %s was sent while nothing is known about %s", at.ID, o.ID))
		}
		if until := operation.WindowUntil(op, policy); until != 0 && now > until.Add(policy.KeyMargin) {
			w.fail("R3", fmt.Sprintf("attempt %s was sent after the key's window", at.ID))
		}
	}
}

// expect keeps what an attempt's request must be on the wire: the approved content, filled, byte for byte.
func (w *world) expect(op *operation.Operation, at *operation.Attempt) {
	stored, err := w.peek.Filled(context.Background(), op.ID, operation.Filled{Version: at.Version, Generation: at.Generation, Digest: at.Digest})
	if err != nil {
		if !w.everRestored {
			w.fail("R5", fmt.Sprintf("attempt %s names bytes that nobody kept: %v", at.ID, err))
		}
		return
	}
	request, err := target.Decode(stored)
	if err != nil {
		w.fail("R5", fmt.Sprintf("attempt %s names bytes that do not read: %v", at.ID, err))
		return
	}
	w.expected[at.ID] = request
}

// onTheWire compares a whole request with the content that was approved.
func (w *world) onTheWire(a *actor, sent []byte) {
	cl, ok := w.claims[a]
	if !ok || a.call.function != "ExecuteFunction" {
		return
	}
	want, ok := w.expected[cl.attempt]
	if !ok {
		return
	}
	got, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		w.fail("R5", fmt.Sprintf("attempt %s sent no HTTP request: %v", cl.attempt, err))
		return
	}
	body, err := io.ReadAll(got.Body)
	if err != nil || got.Method != want.Method || !strings.HasSuffix(want.URL, got.RequestURI) || !bytes.Equal(body, want.Body) {
		w.fail("R5", fmt.Sprintf("attempt %s sent %s %s with %d bytes, which is not the approved content", cl.attempt, got.Method, got.RequestURI, len(body)))
	}
	for _, h := range want.Headers {
		if got.Header.Get(h.Name) != h.Value {
			w.fail("R5", fmt.Sprintf("attempt %s sent another header %s than was approved", cl.attempt, h.Name))
		}
	}
}

// effect is told of every effect at a target.
func (w *world) effect(c simtarget.Commit) {
	id := operation.ID(c.Operation)
	op, known := w.ops[id]
	if !known && w.everKnown[id] { // a request from before a restore arrives after it
		w.forgotten[id] = true
		w.effects[id] = append(w.effects[id], effect{Commit: c})
		return
	}
	if !known {
		w.fail("R10", fmt.Sprintf("%s has an effect of %q, which is no operation", c.Target, c.Operation))
		return
	}
	e := effect{Commit: c, attested: slices.ContainsFunc(op.Attempts, func(a operation.Attempt) bool { return a.Attested != nil })}
	w.tell("%s: effect %s of %s", c.Target, c.Reference, id)
	if before := w.effects[id]; len(before) > 0 && !w.anew(&op) {
		w.duplicates++
		w.fail("R3", fmt.Sprintf("%s has a second effect in %s (%s after %s)", id, c.Target, c.Reference, before[0].Reference()))
	}
	w.effects[id] = append(w.effects[id], e)
}

// answered is told of every answer to a delivery.
func (w *world) answered(s *sender, status int, refuse bool) {
	if status/100 != 2 {
		w.reach("R9")
		return
	}
	if refuse {
		return
	}
	for _, ev := range w.evs {
		for _, d := range ev.Deliveries {
			if d.ID == s.event.id {
				w.reach("R10")
				return
			}
		}
	}
	if !w.everRestored {
		w.fail("R9", fmt.Sprintf("delivery %s was answered %d and no event has it", s.event.id, status))
	}
}

// mayHaveTold counts an operation that a person has to settle although the target could have told.
func (w *world) mayHaveTold(op *operation.Operation) {
	p := w.policyOf(op)
	if op.AnyOpen() && p.Lookup && len(w.effects[op.ID]) > 0 {
		w.couldTell[op.ID] = true
	}
}
