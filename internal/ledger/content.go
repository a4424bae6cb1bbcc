package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/operation"
)

// DigestOf is the digest that the ledger compares stored bytes with.
func DigestOf(b []byte) operation.Digest {
	sum := sha256.Sum256(b)
	return operation.Digest(hex.EncodeToString(sum[:]))
}

// PutContent keeps the bytes of one version of an operation's content. It is safe to repeat.
func (l *Ledger) PutContent(ctx context.Context, id operation.ID, c operation.Content, b []byte) error {
	return l.putBytes(ctx, contentKey(id, c), c.Digest, b)
}

// Content reads one version's bytes and compares them with its digest: ErrDigest, ErrExpired, ErrNotFound.
func (l *Ledger) Content(ctx context.Context, id operation.ID, c operation.Content) ([]byte, error) {
	return l.bytes(ctx, contentKey(id, c), c.Digest)
}

// PutFilled keeps content with its holes filled, before the claim that names it. It is safe to repeat.
func (l *Ledger) PutFilled(ctx context.Context, id operation.ID, f operation.Filled, b []byte) error {
	return l.putBytes(ctx, filledKey(id, f), f.Digest, b)
}

// Filled reads filled bytes and compares them with their digest.
func (l *Ledger) Filled(ctx context.Context, id operation.ID, f operation.Filled) ([]byte, error) {
	return l.bytes(ctx, filledKey(id, f), f.Digest)
}

func (l *Ledger) putBytes(ctx context.Context, k key, d operation.Digest, b []byte) error {
	switch {
	case l.EpochNow() == 0:
		return ErrUnchecked
	case len(b) > ContentBytesMax:
		return fmt.Errorf("keep %s: %w: %d bytes of at most %d", k, ErrTooLarge, len(b), ContentBytesMax)
	case DigestOf(b) != d:
		return fmt.Errorf("keep %s: %w", k, ErrDigest)
	}
	it := k.attributes()
	it["v"], it["bytes"] = num(schemaVersion), blob(b)
	err := l.put(ctx, it, slotFree, nil, nil)
	var refused *refusal
	if !errors.As(err, &refused) {
		return err
	}
	if !bytes.Equal(bytesOf(refused.item, "bytes"), b) {
		return fmt.Errorf("keep %s: %w: other bytes are stored there", k, ErrDigest)
	}
	if refused.item[TTLAttribute] != nil {
		return l.setExpiry(ctx, k, 0)
	}
	return nil
}

func (l *Ledger) bytes(ctx context.Context, k key, d operation.Digest) ([]byte, error) {
	it, err := l.get(ctx, k)
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, fmt.Errorf("%s: %w", k, ErrNotFound)
	}
	if err := l.kept(it); err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	b := bytesOf(it, "bytes")
	if DigestOf(b) != d {
		return nil, fmt.Errorf("%s: %w", k, ErrDigest)
	}
	return b, nil
}

// kept compares the expiry in code: DynamoDB deletes late.
func (l *Ledger) kept(it item) error {
	if it[TTLAttribute] == nil {
		return nil
	}
	at, err := expiryOf(it)
	if err != nil {
		return err
	}
	if l.now() > at {
		return ErrExpired
	}
	return nil
}

// expiryOf reads the expiry in seconds and refuses another unit.
func expiryOf(it item) (operation.Time, error) {
	s, err := numberOf(it, TTLAttribute)
	if err != nil {
		return 0, err
	}
	if s < int64(operation.TimeMin)/1000 || s > int64(operation.TimeMax)/1000 {
		return 0, fmt.Errorf("%w: %s %d is outside 2020 to 2100: its unit must be seconds", ErrCorrupt, TTLAttribute, s)
	}
	return operation.Time(s * 1000), nil
}

// setExpiry lets DynamoDB delete an item some time after at; 0 keeps it.
func (l *Ledger) setExpiry(ctx context.Context, k key, at operation.Time) error {
	names := map[string]string{"#ttl": TTLAttribute}
	var err error
	if at == 0 {
		err = l.change(ctx, k, "REMOVE #ttl", present, names, nil)
	} else if at < operation.TimeMin || at > operation.TimeMax {
		return fmt.Errorf("%w: expiry outside 2020 to 2100", ErrRefused)
	} else {
		err = l.change(ctx, k, "SET #ttl = :ttl", present, names, item{":ttl": num(int64(at) / 1000)})
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// settled starts the expiry of contents once the operation's settlement is durable. Its failure must not look like a
// failure of the write, and only keeps the contents longer; the audit's caller repairs it with Expire.
func (l *Ledger) settled(ctx context.Context, seen *operation.Operation, res Result[operation.Operation]) {
	if res.Verdict == Written && !seen.Status.Settled() && res.Current.Status.Settled() {
		_ = l.Expire(ctx, res.Current)
	}
}

// Expire sets the expiry on all contents of a settled operation, and on nothing of an open one. It is safe to repeat.
func (l *Ledger) Expire(ctx context.Context, op operation.Operation) error {
	if !op.Status.Settled() {
		return fmt.Errorf("expire %s: %w: it is %s", op.ID, ErrRefused, op.Status)
	}
	return l.eachContent(ctx, operationKey(op.ID).pk, l.now().Add(l.ContentKept))
}

// reopen keeps the contents of an operation that is about to leave a settled status, before it does.
func (l *Ledger) reopen(ctx context.Context, seen, next *operation.Operation) error {
	if !seen.Status.Settled() || next.Status.Settled() {
		return nil
	}
	return l.eachContent(ctx, operationKey(seen.ID).pk, 0)
}

// orphan lets the content go that a plan kept for an operation which exists with other content.
func (l *Ledger) orphan(ctx context.Context, id operation.ID, c operation.Content) {
	_ = l.setExpiry(ctx, contentKey(id, c), l.now().Add(l.ContentKept)) // kept for ever otherwise, which harms nobody
}

// eachContent sets one expiry on content and filled content; at 0 keeps them.
func (l *Ledger) eachContent(ctx context.Context, pk string, at operation.Time) error {
	its, err := l.list(ctx, pk, "pk = :pk AND sk BETWEEN :sk_first AND :sk_last", item{":sk_first": str("content#"), ":sk_last": str("filled#~")}, "pk, sk, "+TTLAttribute)
	if err != nil {
		return err
	}
	for _, it := range its {
		if (it[TTLAttribute] != nil) == (at != 0) {
			continue
		}
		if err := l.setExpiry(ctx, key{textOf(it, "pk"), textOf(it, "sk")}, at); err != nil {
			return err
		}
	}
	return nil
}

// under lists the items of one partition whose sort key starts with prefix, in order, consistently.
func (l *Ledger) under(ctx context.Context, pk, prefix, attributes string) ([]item, error) {
	return l.list(ctx, pk, "pk = :pk AND begins_with(sk, :prefix)", item{":prefix": str(prefix)}, attributes)
}

// list is a part of one partition, in order, consistently.
func (l *Ledger) list(ctx context.Context, pk, which string, values item, attributes string) ([]item, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	values[":pk"] = str(pk)
	in := &dynamodb.QueryInput{TableName: &l.Table, ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: l.capacity(),
		KeyConditionExpression: &which, ExpressionAttributeValues: values}
	if attributes != "" {
		in.ProjectionExpression = &attributes
	}
	var all []item
	for {
		out, err := l.Client.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", pk, meaning(err))
		}
		l.count("Query", out.ConsumedCapacity)
		all = append(all, out.Items...)
		if len(out.LastEvaluatedKey) == 0 {
			return all, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// PutPayload keeps the body of an event in parts. It is safe to repeat, and comes before the event.
func (l *Ledger) PutPayload(ctx context.Context, id operation.EventID, d operation.Digest, body []byte) error {
	if len(body) > PayloadBytesMax {
		return fmt.Errorf("payload of %s: %w: %d bytes of at most %d", id, ErrTooLarge, len(body), PayloadBytesMax)
	}
	if DigestOf(body) != d {
		return fmt.Errorf("payload of %s: %w", id, ErrDigest)
	}
	if l.EpochNow() == 0 {
		return ErrUnchecked
	}
	parts := max(1, (len(body)+ContentBytesMax-1)/ContentBytesMax)
	for part := range parts {
		it := payloadKey(id, d, part).attributes()
		it["v"], it["parts"] = num(schemaVersion), num(int64(parts))
		it["bytes"] = blob(body[part*ContentBytesMax : min(len(body), (part+1)*ContentBytesMax)])
		var refused *refusal
		if err := l.put(ctx, it, slotFree, nil, nil); err != nil && !errors.As(err, &refused) {
			return fmt.Errorf("payload of %s: %w", id, err)
		}
	}
	return nil
}

// Payload reads a body back and compares it with its digest.
func (l *Ledger) Payload(ctx context.Context, id operation.EventID, d operation.Digest) ([]byte, error) {
	its, err := l.under(ctx, eventKey(id).pk, payloadPrefix(d), "")
	if err != nil {
		return nil, err
	}
	if len(its) == 0 {
		return nil, fmt.Errorf("payload of %s: %w", id, ErrNotFound)
	}
	var body []byte
	for n, it := range its {
		if textOf(it, "sk") != payloadPrefix(d)+strconv.Itoa(n) {
			return nil, fmt.Errorf("payload of %s: %w: part %d is missing", id, ErrCorrupt, n)
		}
		if err := l.kept(it); err != nil {
			return nil, fmt.Errorf("payload of %s: %w", id, err)
		}
		body = append(body, bytesOf(it, "bytes")...)
	}
	if DigestOf(body) != d {
		return nil, fmt.Errorf("payload of %s: %w", id, ErrDigest)
	}
	return body, nil
}

// ExpirePayloads sets the expiry on all bodies of an event that needs them no more: when each of its runs is over.
func (l *Ledger) ExpirePayloads(ctx context.Context, id operation.EventID, kept time.Duration) error {
	its, err := l.under(ctx, eventKey(id).pk, "payload#", "pk, sk")
	if err != nil {
		return err
	}
	for _, it := range its {
		if err := l.setExpiry(ctx, key{textOf(it, "pk"), textOf(it, "sk")}, l.now().Add(kept)); err != nil {
			return err
		}
	}
	return nil
}
