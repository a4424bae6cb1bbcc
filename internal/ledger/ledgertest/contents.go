package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func contentCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"R05_ContentIsCheckedAtRead":  contentChecked,
		"R05_OtherPlanOtherBytes":     otherPlan,
		"R04_ExpiryOnlyWhenSettled":   expiryWhenSettled,
		"R04_ExpiryMakesNoStub":       expiryMakesNoStub,
		"R04_ReopenedIsKept":          reopenedIsKept,
		"CaseB077_UnitsOfTheExpiry":   unitsOfTheExpiry,
		"CaseB077_UnitsOfInstants":    unitsOfInstants,
		"R05_ContentBeforeOperation":  contentFirst,
		"R05_ContentHasABound":        contentBound,
		"R04_SettledTogetherExpire":   settledTogether,
		"R09_PayloadsExpireWhenAsked": payloadsExpire,
	}
}

// raw reads one item as it is stored.
func (b *bench) raw(pk, sk string) map[string]types.AttributeValue {
	b.t.Helper()
	out, err := b.client.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &b.table, ConsistentRead: aws.Bool(true), Key: keyOf(pk, sk)})
	if err != nil {
		b.t.Fatal(err)
	}
	return out.Item
}

func keyOf(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
}

// tamper stores an item as somebody else's hand might.
func (b *bench) tamper(it map[string]types.AttributeValue) {
	b.t.Helper()
	if _, err := b.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &b.table, Item: it}); err != nil {
		b.t.Fatal(err)
	}
}

func contentSK(c operation.Content) string { return "content#0001#" + string(c.Digest) }

// expires is the expiry of an operation's first content, in seconds; "" when none is set.
func (b *bench) expires(op operation.Operation) string {
	b.t.Helper()
	it := b.raw("op#"+string(op.ID), contentSK(op.Content))
	if it == nil {
		b.t.Fatalf("%s has no content", op.ID)
	}
	if n, ok := it[ledger.TTLAttribute].(*types.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}

func contentChecked(t *testing.T, b *bench) {
	op := b.created("op_bytes")
	if got, err := b.Content(t.Context(), op.ID, op.Content); err != nil || string(got) != content {
		t.Fatalf("got %q, %v", got, err)
	}
	it := b.raw("op#op_bytes", contentSK(op.Content))
	it["bytes"] = &types.AttributeValueMemberB{Value: []byte("POST /elsewhere")}
	b.tamper(it)
	if _, err := b.Content(t.Context(), op.ID, op.Content); !errors.Is(err, ledger.ErrDigest) {
		t.Errorf("other bytes: %v; want a digest error", err)
	}
	f := operation.Filled{Version: 1, Generation: 1, Digest: ledger.DigestOf([]byte("filled"))}
	if err := b.PutFilled(t.Context(), op.ID, f, []byte("other")); !errors.Is(err, ledger.ErrDigest) {
		t.Errorf("filled under another digest: %v; want a digest error", err)
	}
	for range 2 {
		if err := b.PutFilled(t.Context(), op.ID, f, []byte("filled")); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.Filled(t.Context(), op.ID, f); err != nil || string(got) != "filled" {
		t.Errorf("filled: %q, %v", got, err)
	}
}

// Two plans with other content meet on one operation: the first one's content stands with it.
func otherPlan(t *testing.T, b *bench) {
	op := b.created("op_met")
	other := b.proposed("op_met")
	other.Content.Digest = ledger.DigestOf([]byte("other"))
	res, err := b.CreateOperation(t.Context(), other, []byte("other"))
	if err != nil || res.Verdict != ledger.Exists || res.Current.Content != op.Content {
		t.Fatalf("got %v, %v; want exists with the first content", res.Verdict, err)
	}
	if got, err := b.Content(t.Context(), op.ID, op.Content); err != nil || string(got) != content {
		t.Errorf("got %q, %v; want the first content untouched", got, err)
	}
	if b.expires(op) != "" || b.expires(other) == "" {
		t.Errorf("expiry of the first %q and of the other %q; want only the other's", b.expires(op), b.expires(other))
	}
	// An edit comes to the other bytes after all: they are needed again.
	if err := b.PutContent(t.Context(), other.ID, other.Content, []byte("other")); err != nil || b.expires(other) != "" {
		t.Errorf("kept again: %v, and expires %q; want never", err, b.expires(other))
	}
}

func expiryWhenSettled(t *testing.T, b *bench) {
	op := b.claimed("op_ttl", "at_1")
	unknown := b.won(b.RecordOutcome(t.Context(), op, "at_1", Seen{At: b.at()}.bytes()))
	b.clock.Move(400 * 24 * time.Hour)
	if got := b.expires(op); got != "" {
		t.Fatalf("an unknown operation's content expires at %s; want never", got)
	}
	if err := b.Expire(t.Context(), unknown); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("expire an open operation: %v; want refused", err)
	}
	found := unknown
	found.Status, found.Reference = operation.StatusConfirmed, "7714"
	found.Attempts = []operation.Attempt{op.Attempts[0]}
	done := b.won(b.Update(t.Context(), unknown, cite(found, operation.EvidenceLookupFound, b.at(), "")))
	want := strconv.FormatInt(int64(b.at().Add(ledger.ContentKeptDefault))/1000, 10)
	if got := b.expires(op); len(got) != len(want) || got > want || got == "" {
		t.Errorf("expires at %q; want about %s, in seconds", got, want)
	}
	b.clock.Move(ledger.ContentKeptDefault + time.Hour)
	if _, err := b.Content(t.Context(), op.ID, op.Content); !errors.Is(err, ledger.ErrExpired) {
		t.Errorf("after its expiry, not yet deleted: %v; want expired", err)
	}
	if got, err := b.Operation(t.Context(), op.ID); err != nil || got.Reference != done.Reference {
		t.Errorf("the operation: %v; want it for ever", err)
	}
}

// Housekeeping deletes a content right before its expiry is set again: it must not come back empty.
func expiryMakesNoStub(t *testing.T, b *bench) {
	op := b.created("op_gone")
	declined := op
	declined.Status = operation.StatusDeclined
	declined = cite(declined, operation.EvidenceDeclined, b.at(), "")
	w := &wire{script: func(c string, _ int, body []byte) fault {
		if c != "UpdateItem" || bytes.Contains(body, []byte("write_id_")) {
			return fault{}
		}
		return fault{before: func() {
			if _, err := b.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: keyOf("op#op_gone", contentSK(op.Content))}); err != nil {
				t.Error(err)
			}
		}}
	}}
	b.won(b.with(w).Update(t.Context(), op, declined))
	if it := b.raw("op#op_gone", contentSK(op.Content)); it != nil {
		t.Errorf("a stub stands: %v", it)
	}
	if _, err := b.Content(t.Context(), op.ID, op.Content); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("got %v; want not found", err)
	}
}

// A declined operation that a person opens again must not lose its content to the expiry of the first settlement.
func reopenedIsKept(t *testing.T, b *bench) {
	op := b.created("op_again")
	declined := op
	declined.Status = operation.StatusDeclined
	declined = b.won(b.Update(t.Context(), op, cite(declined, operation.EvidenceDeclined, b.at(), "")))
	if b.expires(op) == "" {
		t.Fatal("declined, and no expiry")
	}
	again := declined
	again.Status = operation.StatusProposed
	b.won(b.Update(t.Context(), declined, cite(again, operation.EvidenceCheckAgain, b.at(), "")))
	if got := b.expires(op); got != "" {
		t.Errorf("opened again and still expires at %s", got)
	}
}

func settledTogether(t *testing.T, b *bench) {
	changes := b.pair()
	for i := range changes {
		changes[i].Next = changes[i].Seen
		changes[i].Next.Status = operation.StatusDeclined
		changes[i].Next = cite(changes[i].Next, operation.EvidenceDeclined, b.at(), "")
	}
	if out, err := b.TransactDecisions(t.Context(), changes); err != nil || out.Verdict != ledger.Written {
		t.Fatalf("got %v, %v", out.Verdict, err)
	}
	for _, c := range changes {
		if b.expires(c.Seen) == "" {
			t.Errorf("%s is declined and its content never expires", c.Seen.ID)
		}
	}
}

// An expiry in another unit than seconds is not taken for a time.
func unitsOfTheExpiry(t *testing.T, b *bench) {
	op := b.created("op_units")
	now := b.clock.Now()
	for _, c := range []struct {
		name  string
		value types.AttributeValue
		want  error
	}{
		{"seconds, tomorrow", num(now.Add(24 * time.Hour).Unix()), nil},
		{"seconds, yesterday", num(now.Add(-24 * time.Hour).Unix()), ledger.ErrExpired},
		{"milliseconds", num(now.UnixMilli()), ledger.ErrCorrupt},
		{"nanoseconds", num(now.UnixNano()), ledger.ErrCorrupt},
		{"text", &types.AttributeValueMemberS{Value: now.Format(time.RFC3339)}, ledger.ErrCorrupt},
		{"zero", num(0), ledger.ErrCorrupt},
	} {
		it := b.raw("op#op_units", contentSK(op.Content))
		it[ledger.TTLAttribute] = c.value
		b.tamper(it)
		if _, err := b.Content(t.Context(), op.ID, op.Content); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", c.name, err, c.want)
		}
	}
}

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// An instant in another unit is refused at write and, in a stored record, at read.
func unitsOfInstants(t *testing.T, b *bench) {
	op := b.created("op_instants")
	for name, due := range map[string]operation.Time{
		"seconds":     operation.Time(b.clock.Now().Unix()),
		"nanoseconds": operation.Time(b.clock.Now().UnixNano()),
	} {
		next := b.looked(op)
		next.Step.Due = due
		if _, err := b.Update(t.Context(), op, next); !errors.Is(err, ledger.ErrRefused) {
			t.Errorf("written in %s: %v; want refused", name, err)
		}
	}
	for name, due := range map[string]string{"no milliseconds": "2026-11-29T18:00:00Z", "seconds": "1796000000", "year 3000": "3000-01-01T00:00:00.000Z"} {
		it := b.raw("op#op_instants", "op")
		it["due"] = &types.AttributeValueMemberS{Value: due}
		b.tamper(it)
		if _, err := b.Operation(t.Context(), op.ID); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("stored with %s: %v; want corrupt", name, err)
		}
	}
}

// A crash after the content leaves no operation; planning again makes it, also with other content.
func contentFirst(t *testing.T, b *bench) {
	w := &wire{script: func(c string, n int, _ []byte) fault { return fault{drop: c == "PutItem" && n >= 2} }}
	if _, err := b.with(w).CreateOperation(t.Context(), b.proposed("op_crash"), []byte(content)); !errors.Is(err, ledger.ErrUnclear) {
		t.Fatalf("got %v; want unclear", err)
	}
	if _, err := b.Operation(t.Context(), "op_crash"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("after the crash: %v; want no operation", err)
	}
	other := b.proposed("op_crash")
	other.Content.Digest = ledger.DigestOf([]byte("other"))
	res, err := b.CreateOperation(t.Context(), other, []byte("other"))
	if err != nil || res.Verdict != ledger.Created {
		t.Fatalf("planned again: %v, %v; want created", res.Verdict, err)
	}
	got, err := b.Content(t.Context(), "op_crash", res.Current.Content)
	if diff := cmp.Diff("other", string(got)); err != nil || diff != "" {
		t.Errorf("content: %v\n%s", err, diff)
	}
}

func contentBound(t *testing.T, b *bench) {
	for _, size := range []int{ledger.ContentBytesMax, ledger.ContentBytesMax + 1} {
		body := make([]byte, size)
		op := b.proposed(operation.ID("op_" + strconv.Itoa(size)))
		op.Content.Digest = ledger.DigestOf(body)
		_, err := b.CreateOperation(t.Context(), op, body)
		if over := size > ledger.ContentBytesMax; errors.Is(err, ledger.ErrTooLarge) != over || (!over && err != nil) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func payloadsExpire(t *testing.T, b *bench) {
	ev := b.record("ev_old", "d1", "{}").Current
	b.clock.Move(1000 * 24 * time.Hour)
	if _, err := b.Payload(t.Context(), ev.ID, ev.Payload); err != nil {
		t.Fatalf("an open event's payload: %v; want it kept", err)
	}
	if err := b.ExpirePayloads(t.Context(), ev.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	b.clock.Move(2 * time.Hour)
	if _, err := b.Payload(t.Context(), ev.ID, ev.Payload); !errors.Is(err, ledger.ErrExpired) {
		t.Errorf("after its expiry: %v; want expired", err)
	}
}
