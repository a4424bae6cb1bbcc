package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/app"
	"holdfast/internal/ledger"
	"holdfast/internal/local"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/operation"
)

func (w *world) client() *dynamodb.Client {
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.HTTPClient, o.BaseEndpoint = w.db.Transport(), aws.String("http://ledger.local")
	})
}

// items are all items of the table, by their key.
func (w *world) items() map[string]map[string]types.AttributeValue {
	w.t.Helper()
	out := map[string]map[string]types.AttributeValue{}
	pages := dynamodb.NewScanPaginator(w.client(), &dynamodb.ScanInput{TableName: aws.String("holdfast")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(observing())
		must(w.t, err)
		for _, it := range page.Items {
			out[text(it["pk"])+"/"+text(it["sk"])] = it
		}
	}
	return out
}

func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// dump is the whole table as text, to compare two of them.
func (w *world) dump() string {
	var lines []string
	for key, it := range w.items() {
		raw, err := json.Marshal(it)
		must(w.t, err)
		lines = append(lines, key+" "+string(raw))
	}
	return sorted(lines)
}

// swapContent puts other bytes under the approved content of a stage.
func (w *world) swapContent(stage string) {
	w.t.Helper()
	op, ok := w.table().stage(stage)
	if !ok {
		w.t.Fatal("no such stage")
	}
	for key, it := range w.items() {
		if !strings.HasPrefix(key, "op#"+string(op.ID)+"/content#") {
			continue
		}
		for name, v := range it {
			b, isBytes := v.(*types.AttributeValueMemberB)
			if !isBytes {
				continue
			}
			other := bytes.Replace(b.Value, []byte("Ada"), []byte("Eve"), 1)
			if bytes.Equal(other, b.Value) {
				w.t.Fatalf("the content does not hold the name: %s", b.Value)
			}
			it[name] = &types.AttributeValueMemberB{Value: other}
			_, err := w.client().PutItem(observing(), &dynamodb.PutItemInput{TableName: aws.String("holdfast"), Item: it})
			must(w.t, err)
			return
		}
	}
	w.t.Fatal("no content found")
}

func TestR05_ContentSwappedAfterApproval(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	w.probe.mu.Lock()
	w.probe.refuse = func(name string) bool { return name == "states SendTaskSuccess" }
	w.probe.mu.Unlock()
	form, _ := w.form(inv)
	approve(form)
	w.post(inv, form)
	w.swapContent("crm_task")
	w.probe.mu.Lock()
	w.probe.refuse = nil
	w.probe.mu.Unlock()
	s := w.settle()
	w.wantEffects(0, 0)
	if op, _ := s.stage("crm_task"); op.Reason != operation.ReasonDigestMismatch || op.Question == nil {
		t.Errorf("%s %s, want a question about digest_mismatch\n%s", op.Status, op.Reason, s)
	}
}

func TestCaseB032_ContentSwappedBeforeThePost(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	form, _ := w.form(inv)
	approve(form)
	w.swapContent("crm_task")
	if a := w.post(inv, form); a.status == 200 {
		t.Errorf("swapped content was approved: %s", notice(a.body))
	}
	w.sweep()
	w.quiesce()
	w.wantEffects(0, 0)
}

func TestCaseB032_APostForAnotherDigestIsRefused(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	form, _ := w.form(inv)
	approve(form)
	for name := range form {
		if strings.HasPrefix(name, "digest.") {
			form.Set(name, strings.Repeat("0", 64))
		}
	}
	if a := w.post(inv, form); a.status == 200 {
		t.Errorf("an approval of other content was taken: %s", notice(a.body))
	}
	w.wantEffects(0, 0)
}

// TestR10_RestoredLedgerSendsNothing: a copy of the table under another id refuses to work until a person accepts it;
// then nobody knows what happened after the copy, and nothing is sent on trust.
func TestR10_RestoredLedgerSendsNothing(t *testing.T) {
	t.Parallel()
	w, _ := asked(t)
	copied := w.snapshot()
	w.settle() // what the copy does not know: both effects happened
	w.wantEffects(1, 1)
	w.stop()

	w.useCopy(copied)
	_, err := local.Start(context.Background(), w.options)
	if !errors.Is(err, ledger.ErrRestored) {
		t.Fatalf("a copied table: %v, want %v", err, ledger.ErrRestored)
	}
	w.acceptCopy()
	w.start()
	s := w.settle()
	w.wantEffects(1, 1)
	for _, op := range s.ops {
		if op.Status == operation.StatusConfirmed {
			continue // found at the target by our id
		}
		if op.Status != operation.StatusHeld && op.Status != operation.StatusProposed {
			t.Errorf("%s is %s, want confirmed or held\n%s", op.Stage, op.Status, s)
		}
	}
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.settle()
	w.wantEffects(1, 1)
	t.Log(w.table())
}

// useCopy puts the snapshot under a table with another id, as a restore of DynamoDB does.
func (w *world) useCopy(snapshot string) {
	w.t.Helper()
	old, err := dynamo.Open(dynamo.Options{Clock: w.clock})
	must(w.t, err)
	defer old.Close()
	must(w.t, old.Restore(strings.NewReader(snapshot)))
	next, err := dynamo.Open(dynamo.Options{Clock: w.clock, Around: w.probe.around})
	must(w.t, err)
	w.t.Cleanup(func() { _ = next.Close() })
	w.db = old
	all := w.items()
	w.db = next
	_, err = w.client().CreateTable(context.Background(), ledger.TableInput("holdfast"))
	must(w.t, err)
	for _, it := range all {
		_, err := w.client().PutItem(observing(), &dynamodb.PutItemInput{TableName: aws.String("holdfast"), Item: it})
		must(w.t, err)
	}
	w.options.Outside.Dynamo = next
}

func TestR10_WrongIdentityKeyRefusesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	w.quiesce()
	w.stop()
	was := w.dump()
	right := w.options.Outside.Secrets
	w.options.Outside.Secrets = maps.Clone(right)
	w.options.Outside.Secrets["identity-key"] = "another key that is long enough to be taken"
	if _, err := local.Start(context.Background(), w.options); !errors.Is(err, ledger.ErrWrongKey) {
		t.Fatalf("another key: %v, want %v", err, ledger.ErrWrongKey)
	}
	if now := w.dump(); now != was {
		t.Error("a start under another key changed the ledger")
	}
	w.options.Outside.Secrets = right
	w.start()
	w.settle()
	w.wantEffects(1, 1)
}

// TestCaseB001_KilledAfterTheClaim: never stuck, never sent on trust.
func TestCaseB001_KilledAfterTheClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneStage("generic-lookup"))
	w.probe.onHit = w.killOnce("wire write", after)
	w.deliver("standard", "e1", oneEvent("1"))
	w.quiesce()
	op, _ := w.table().stage("only")
	if op.Status != operation.StatusInFlight {
		t.Fatalf("%s right after the end of its worker, want in_flight", op.Status)
	}
	w.clock.Move(5 * time.Second)
	w.deliver("standard", "e1", oneEvent("1"))
	if op, _ := w.table().stage("only"); len(op.Attempts) != 1 || w.count() != 1 {
		t.Errorf("a repeat within the lease: %d attempts, %d effects; want 1, 1", len(op.Attempts), w.count())
	}
	s := w.settle()
	op, _ = s.stage("only")
	if op.Status != operation.StatusConfirmed || len(op.Attempts) != 1 || w.count() != 1 {
		t.Errorf("%s, %d attempts, %d effects; want confirmed by a lookup, 1, 1\n%s", op.Status, len(op.Attempts), w.count(), s)
	}
}

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// acceptCopy lets a named person accept the copied table.
func (w *world) acceptCopy() {
	w.t.Helper()
	b, err := app.Unchecked(context.Background(), w.config, app.Parts{Clock: w.clock, Dynamo: w.client(), Secrets: w.options.Outside.Secrets})
	must(w.t, err)
	n, err := b.Ledger.Accept(context.Background(), b.Identity(), "ops-lead@example.com", app.Doubt(b))
	must(w.t, err)
	if n != 2 {
		w.t.Errorf("%d operations were marked, want the 2 that were open in the copy", n)
	}
}
