// Package approvaltest is a bench for tests of asking and deciding: the real desk on the real ledger, over the embedded
// DynamoDB server, with a clock that moves and mails that are kept.
//
// It never decides anything by itself.
package approvaltest

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/approval"
	"holdfast/internal/clock"
	"holdfast/internal/flow"
	"holdfast/internal/ledger"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// The people of the bench.
const (
	Reviewer operation.Person = "reviewer@example.com"
	Other    operation.Person = "second-reviewer@example.com"
	Owner    operation.Person = "ops-lead@example.com"
)

const table = "approval"

// Bench is one desk on one ledger with one run.
type Bench struct {
	T      testing.TB
	Clock  *clock.Movable
	Ledger *ledger.Ledger
	Client *dynamodb.Client
	Desk   *approval.Desk
	Plan   flow.PinnedPlan
	Run    operation.Run
	Policy operation.Policy

	mu    sync.Mutex
	made  int
	mails []notify.Mail
}

// Invitation is a link and the code that came apart from it.
type Invitation struct {
	Person operation.Person
	Link   ledger.LinkID
	Code   string
}

// New makes a bench.
func New(t testing.TB) *Bench {
	t.Helper()
	b := &Bench{T: t, Clock: clock.New()}
	server, err := dynamo.Open(dynamo.Options{Clock: b.Clock})
	b.must(err)
	t.Cleanup(func() { b.must(server.Close()) })
	b.Client = dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		BaseEndpoint: aws.String("http://in-process.invalid"), HTTPClient: server.Transport()}, ledger.Bounded)
	_, err = b.Client.CreateTable(t.Context(), ledger.TableInput(table))
	b.must(err)
	b.Ledger = ledger.New(ledger.Options{Client: b.Client, Table: table, Clock: b.Clock, WriteID: func() string { return b.NewID("w") }})
	_, err = b.Ledger.Check(t.Context(), ledger.Identity{Stack: "stack", Fingerprint: "fp"})
	b.must(err)
	b.Policy = operation.Policy{Lookup: true, LookupEvery: time.Second, LookupsMax: 1, Quiet: time.Minute, AttemptsMax: 3,
		Timeout: time.Second, Lease: time.Minute, Skew: time.Second}
	b.Desk = &approval.Desk{
		Store: b.Ledger, Notifier: b, Clock: b.Clock, Policy: func(*operation.Operation) operation.Policy { return b.Policy }, NewID: b.NewID,
		NewCode: func() string { return strings.ToUpper(b.NewID("C")) }, CodeKey: []byte("a key for codes"),
		Review: "https://review.example.com/review", Log: slog.New(slog.DiscardHandler),
	}
	b.Plan = flow.PinnedPlan{Flow: "campaign-follow-up", Version: 1, Owner: Owner, Reviewers: []operation.Person{Reviewer, Other},
		Expires: flow.Duration(20 * time.Hour), Valid: flow.Duration(48 * time.Hour)}
	b.Run = b.newRun("run_one")
	return b
}

func (b *Bench) newRun(id operation.RunID) operation.Run {
	run := operation.Run{ID: id, Flow: "campaign-follow-up", Version: 1, Event: "ev_1", Source: "shopify-flow", Owner: Owner, Created: b.Now(), Generation: 1}
	run.Launch(b.Now())
	res, err := b.Ledger.CreateRun(b.T.Context(), run)
	b.must(err)
	return res.Current
}

func (b *Bench) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// Now is the ledger's time.
func (b *Bench) Now() operation.Time { return operation.TimeOf(b.Clock.Now()) }

// NewID counts up, in the alphabet of ids.
func (b *Bench) NewID(prefix string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	return fmt.Sprintf("%s%08d", prefix, b.made)
}

// Notify implements notify.Notifier.
func (b *Bench) Notify(_ context.Context, m notify.Mail) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = append(b.mails, m)
	return nil
}

// Mails are all that were sent.
func (b *Bench) Mails() []notify.Mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]notify.Mail(nil), b.mails...)
}

var (
	linkText = regexp.MustCompile(`/review/(\S+)`)
	codeText = regexp.MustCompile(`Code: (\S+)`)
)

// Invitations pairs links and codes as a person does, by who they were sent to, the oldest first.
func (b *Bench) Invitations() []Invitation {
	var out []Invitation
	last := map[string]ledger.LinkID{}
	for _, m := range b.Mails() {
		if f := linkText.FindStringSubmatch(m.Text); f != nil {
			last[m.To] = ledger.LinkID(f[1])
		}
		if f := codeText.FindStringSubmatch(m.Text); f != nil {
			out = append(out, Invitation{operation.Person(m.To), last[m.To], f[1]})
		}
	}
	return out
}

// Of is the newest invitation of a person.
func (b *Bench) Of(p operation.Person) Invitation {
	b.T.Helper()
	all := b.Invitations()
	for i := range all {
		if one := all[len(all)-1-i]; one.Person == p {
			return one
		}
	}
	b.T.Fatalf("%s was not invited", p)
	return Invitation{}
}

// Request is content with a JSON body.
func Request(id operation.ID, body string) target.Request {
	return target.Request{Target: "generic-none", Operation: string(id), Method: "POST", Base: "https://crm.example.com",
		URL: "https://crm.example.com/effects", Account: "demo", APIVersion: "2026-03",
		Headers: []target.Header{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(body)}
}

// Propose puts a new operation with a JSON body into the run.
func (b *Bench) Propose(stage, body string) operation.Operation {
	b.T.Helper()
	id := operation.ID("op_" + stage)
	r := Request(id, body)
	op := operation.Operation{ID: id, Flow: b.Run.Flow, Stage: stage, Target: "generic-none", Profile: 1, Policy: b.Policy, Owner: Owner,
		Created: b.Now(), Runs: []operation.RunID{b.Run.ID}, Content: operation.Content{Version: 1, Digest: r.Digest()},
		Evidence: []operation.Evidence{{Kind: operation.EvidencePlanned, At: b.Now()}},
		Step:     operation.Step{Action: operation.ActionAsk, Due: b.Now(), Owner: Owner}}
	res, err := b.Ledger.CreateOperation(b.T.Context(), op, r.Encode())
	b.must(err)
	run := b.Run
	run.Stages = append(run.Stages[:len(run.Stages):len(run.Stages)], operation.StageRef{Name: stage, Operation: id, OnFailed: operation.OnFailedStop})
	saved, err := b.Ledger.UpdateRun(b.T.Context(), b.Run, run)
	b.must(err)
	b.Run = saved.Current
	return res.Current
}

// Ask puts the question that the operations need.
func (b *Bench) Ask(ids ...operation.ID) {
	b.T.Helper()
	var ops []operation.Operation
	for _, id := range ids {
		ops = append(ops, b.Op(id))
	}
	_, err := b.Desk.AskOperations(b.T.Context(), b.Run, b.Plan, ops)
	b.must(err)
}

// Op reads an operation.
func (b *Bench) Op(id operation.ID) operation.Operation {
	b.T.Helper()
	op, err := b.Ledger.Operation(b.T.Context(), id)
	b.must(err)
	return op
}

// Apply writes one fact.
func (b *Bench) Apply(id operation.ID, f operation.Fact) operation.Operation {
	b.T.Helper()
	op := b.Op(id)
	next, refused := operation.Apply(&op, f, b.Policy)
	if refused != nil {
		b.T.Fatalf("%s: %T refused: %s", id, f, refused.Reason)
	}
	return b.Write(op, *next)
}

// Write writes one change.
func (b *Bench) Write(op, next operation.Operation) operation.Operation {
	b.T.Helper()
	res, err := b.Ledger.Update(b.T.Context(), op, next)
	b.must(err)
	if res.Verdict != ledger.Written {
		b.T.Fatalf("%s: %v", op.ID, res.Verdict)
	}
	return res.Current
}

// Link reads a link.
func (b *Bench) Link(i Invitation) ledger.Link {
	b.T.Helper()
	link, err := b.Ledger.Link(b.T.Context(), i.Link)
	b.must(err)
	return link
}

// Input is what the page would send for an answer on what stands now.
func (b *Bench) Input(i Invitation, a operation.Answer) approval.Input {
	b.T.Helper()
	in := approval.Input{Code: i.Code, Answer: a, How: "looked at it", Seen: map[string]approval.Seen{}}
	for _, id := range b.Link(i).Operations {
		op := b.Op(id)
		in.Seen[string(id)] = approval.Seen{Digest: op.Content.Digest, Rev: op.Rev}
	}
	if run, err := b.Ledger.Run(b.T.Context(), b.Run.ID); err == nil {
		in.Seen[string(run.ID)] = approval.Seen{Rev: run.Rev}
	}
	return in
}

// Decide sends an answer.
func (b *Bench) Decide(i Invitation, in approval.Input) approval.Result {
	b.T.Helper()
	res, err := b.Desk.Decide(b.T.Context(), b.Link(i), in)
	b.must(err)
	return res
}

// Lose makes an approved operation's only attempt end without a result, late enough that a person may say what happened.
func (b *Bench) Lose(id operation.ID) operation.Operation {
	b.T.Helper()
	now := b.Now()
	op := b.Op(id)
	b.Apply(id, operation.Claim{At: now, Attempt: operation.AttemptID("at_" + string(id)), LeaseUntil: now.Add(b.Policy.Lease),
		Filled: operation.Filled{Version: op.Content.Version, Digest: op.Content.Digest}})
	b.Clock.Move(10 * time.Minute)
	return b.Apply(id, operation.LeaseOver{At: b.Now()})
}

// Text reads a string attribute of a raw item.
func Text(v types.AttributeValue, into *string) {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		*into = s.Value
	}
}

// Bytes makes a binary attribute of a raw item.
func Bytes(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
