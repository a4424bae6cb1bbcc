package approval_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/approval"
	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

const body = `{"subject":"Call Ada"}`

// asked is a bench with two operations of one run under one question.
func asked(t *testing.T) (*approvaltest.Bench, approvaltest.Invitation) {
	t.Helper()
	b := approvaltest.New(t)
	b.Propose("crm_task", body)
	b.Propose("email", body)
	b.Ask("op_crm_task", "op_email")
	return b, b.Of(approvaltest.Reviewer)
}

// held is a bench with one operation whose answer was lost, and that is asked about.
func held(t *testing.T) (*approvaltest.Bench, approvaltest.Invitation) {
	t.Helper()
	b := approvaltest.New(t)
	b.Policy.Lookup = false
	b.Propose("crm_task", body)
	b.Ask("op_crm_task")
	i := b.Of(approvaltest.Reviewer)
	if got := b.Decide(i, b.Input(i, operation.AnswerApprove)); got.Verdict != approval.Decided {
		t.Fatalf("approve: %+v", got)
	}
	b.Lose("op_crm_task")
	b.Ask("op_crm_task")
	return b, b.Of(approvaltest.Owner)
}

func TestR05_OneReadingApprovesAll(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	if got := b.Decide(i, b.Input(i, operation.AnswerApprove)); got.Verdict != approval.Decided || len(got.Runs) != 1 {
		t.Fatalf("got %+v; want one decision that resumes one run", got)
	}
	for _, id := range []operation.ID{"op_crm_task", "op_email"} {
		op := b.Op(id)
		if op.Approval == nil || op.Approval.By != approvaltest.Reviewer || op.Approval.Digest != op.Content.Digest || op.Question != nil {
			t.Errorf("%s: approval %+v, question %+v", id, op.Approval, op.Question)
		}
	}
}

// Each part of the condition alone refuses, and nothing changes.
func TestR11_DecisionNamesWhoWhatAndWhen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*approvaltest.Bench, *ledger.Link, *approval.Input)
		want   operation.Reason
	}{
		"assignee":      {func(_ *approvaltest.Bench, l *ledger.Link, _ *approval.Input) { l.Person = "somebody@example.com" }, operation.ReasonNotReviewer},
		"nobody":        {func(_ *approvaltest.Bench, l *ledger.Link, _ *approval.Input) { l.Person = "" }, operation.ReasonNotReviewer},
		"question":      {func(_ *approvaltest.Bench, l *ledger.Link, _ *approval.Input) { l.Question = "q_other" }, operation.ReasonNoQuestion},
		"digest":        {func(_ *approvaltest.Bench, _ *ledger.Link, in *approval.Input) { see(in, "0000", 0) }, operation.ReasonOtherContent},
		"no digest":     {func(_ *approvaltest.Bench, _ *ledger.Link, in *approval.Input) { in.Seen = nil }, operation.ReasonOtherContent},
		"expiry":        {func(b *approvaltest.Bench, _ *ledger.Link, _ *approval.Input) { b.Clock.Move(20 * time.Hour) }, operation.ReasonExpired},
		"no answer":     {func(_ *approvaltest.Bench, _ *ledger.Link, in *approval.Input) { in.Answer = "" }, operation.ReasonNotLegal},
		"other answer":  {func(_ *approvaltest.Bench, _ *ledger.Link, in *approval.Input) { in.Answer = "yes" }, operation.ReasonNotLegal},
		"not possible":  {func(_ *approvaltest.Bench, _ *ledger.Link, in *approval.Input) { in.Answer = operation.AnswerClose }, operation.ReasonNothingOpen},
		"wrong code":    {func(_ *approvaltest.Bench, _ *ledger.Link, in *approval.Input) { in.Code = "WRONGONE" }, approval.ReasonWrongCode},
		"no code":       {func(_ *approvaltest.Bench, _ *ledger.Link, in *approval.Input) { in.Code = "" }, approval.ReasonWrongCode},
		"link's hash":   {func(_ *approvaltest.Bench, l *ledger.Link, _ *approval.Input) { l.CodeHash = "" }, approval.ReasonNoCodes},
		"no code key":   {func(b *approvaltest.Bench, _ *ledger.Link, _ *approval.Input) { b.Desk.CodeKey = nil }, approval.ReasonNoCodes},
		"bytes swapped": {func(b *approvaltest.Bench, _ *ledger.Link, _ *approval.Input) { swap(b, "op_email") }, operation.ReasonDigestMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, i := asked(t)
			in, link := b.Input(i, operation.AnswerApprove), b.Link(i)
			c.change(b, &link, &in)
			before := []operation.Operation{b.Op("op_crm_task"), b.Op("op_email")}
			got, err := b.Desk.Decide(t.Context(), link, in)
			if err != nil || got.Verdict != approval.Refused || got.Reason != c.want {
				t.Errorf("got %+v, %v; want refused: %s", got, err, c.want)
			}
			if diff := cmp.Diff(before, []operation.Operation{b.Op("op_crm_task"), b.Op("op_email")}); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
		})
	}
}

func see(in *approval.Input, digest operation.Digest, rev int64) {
	for id, s := range in.Seen {
		if digest != "" {
			s.Digest = digest
		}
		s.Rev += rev
		in.Seen[id] = s
	}
}

// swap puts other bytes into the place of an operation's content, as somebody with rights on the table could.
func swap(b *approvaltest.Bench, id operation.ID) {
	b.T.Helper()
	out, err := b.Client.Scan(b.T.Context(), &dynamodb.ScanInput{TableName: aws.String("approval")})
	if err != nil {
		b.T.Fatal(err)
	}
	swapped := 0
	for _, it := range out.Items {
		var pk, sk string
		approvaltest.Text(it["pk"], &pk)
		approvaltest.Text(it["sk"], &sk)
		if !strings.Contains(pk, string(id)) || it["bytes"] == nil {
			continue
		}
		it["bytes"] = approvaltest.Bytes(approvaltest.Request(id, `{"subject":"Call Mallory"}`).Encode())
		if _, err := b.Client.PutItem(b.T.Context(), &dynamodb.PutItemInput{TableName: aws.String("approval"), Item: it}); err != nil {
			b.T.Fatal(err)
		}
		swapped++
	}
	if swapped != 1 {
		b.T.Fatalf("%d contents swapped; want 1", swapped)
	}
}

// What happened may only be told on the evidence that was seen; a yes to content only on that content.
func TestR04_RevisionPinsWhatWasSeen(t *testing.T) {
	t.Parallel()
	b, i := held(t)
	in := b.Input(i, operation.AnswerNothingHappened)
	b.Apply("op_crm_task", operation.Related{At: b.Now(), Run: "run_two"})
	if got := b.Decide(i, in); got.Reason != operation.ReasonOtherRevision {
		t.Errorf("got %+v; want refused for the revision", got)
	}
	if got := b.Decide(i, b.Input(i, operation.AnswerNothingHappened)); got.Verdict != approval.Decided {
		t.Errorf("after reading again: %+v", got)
	}
}

func TestR05_SwappedContentIsNotApprovedButMayBeDeclined(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	swap(b, "op_crm_task")
	if got := b.Decide(i, b.Input(i, operation.AnswerDecline)); got.Verdict != approval.Decided {
		t.Errorf("got %+v; want declined", got)
	}
}

func TestCaseB035_SameAnswerTwice(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	in := b.Input(i, operation.AnswerApprove)
	b.Decide(i, in)
	at := b.Op("op_email").Approval.At
	b.Clock.Move(10 * time.Minute)
	got := b.Decide(i, in)
	if got.Verdict != approval.Standing || got.Standing.By != approvaltest.Reviewer || got.Standing.At != at {
		t.Errorf("got %+v; want the standing decision with who and when", got)
	}
	if n := len(b.Op("op_email").Answered); n != 1 {
		t.Errorf("%d decisions are recorded; want 1", n)
	}
}

func TestCaseB035_OppositeAnswersAtOnce(t *testing.T) {
	t.Parallel()
	b, one := asked(t)
	two := b.Of(approvaltest.Other)
	results := make([]approval.Result, 2)
	errs := make([]error, 2)
	ins := []approval.Input{b.Input(one, operation.AnswerApprove), b.Input(two, operation.AnswerDecline)}
	links := []ledger.Link{b.Link(one), b.Link(two)}
	var both sync.WaitGroup
	for n := range 2 {
		both.Go(func() { results[n], errs[n] = b.Desk.Decide(t.Context(), links[n], ins[n]) })
	}
	both.Wait()
	won := map[approval.Verdict]int{}
	for n, r := range results {
		if errs[n] != nil {
			t.Fatal(errs[n])
		}
		won[r.Verdict]++
		if r.Verdict == approval.Opposed && r.Standing.Answer == ins[n].Answer {
			t.Errorf("opposed by the same answer: %+v", r.Standing)
		}
	}
	if won[approval.Decided] != 1 || won[approval.Opposed] != 1 {
		t.Errorf("got %v; want one decision and one that is shown it", won)
	}
	if a, b := b.Op("op_crm_task").Status, b.Op("op_email").Status; a != b {
		t.Errorf("decided apart: %s and %s", a, b)
	}
}

func TestCaseB037_HandedOverLink(t *testing.T) {
	t.Parallel()
	b, a := asked(t)
	other := b.Of(approvaltest.Other)
	for _, id := range []operation.ID{"op_crm_task", "op_email"} {
		op := b.Op(id)
		next := op
		q := *op.Question
		q.Reviewers = []operation.Person{approvaltest.Other}
		next.Question = &q
		next.Evidence = append(next.Evidence[:len(next.Evidence):len(next.Evidence)], operation.Evidence{Kind: operation.EvidenceAsked, At: b.Now(), By: approvaltest.Owner, Detail: "handed over"})
		b.Write(op, next)
	}
	if got := b.Decide(a, b.Input(a, operation.AnswerApprove)); got.Reason != operation.ReasonNotReviewer {
		t.Errorf("A's link: %+v; want refused", got)
	}
	in := b.Input(other, operation.AnswerApprove)
	if got := b.Decide(other, in); got.Verdict != approval.Decided {
		t.Errorf("B's link: %+v; want decided", got)
	}
	if got := b.Decide(other, in); got.Verdict != approval.Standing || got.Standing.By != approvaltest.Other {
		t.Errorf("B again: %+v; want B's standing decision", got)
	}
}

// A decision that was not written burns nothing: the same link and code decide later.
func TestCaseB037_FailedWriteBurnsNothing(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	in := b.Input(i, operation.AnswerApprove)
	broken := *b.Desk
	broken.Store = failing{b.Ledger}
	for range 2 * ledger.LinkTriesMax {
		if _, err := broken.Decide(t.Context(), b.Link(i), in); err == nil {
			t.Fatal("the write failed and Decide did not say so")
		}
	}
	if got := b.Decide(i, in); got.Verdict != approval.Decided {
		t.Errorf("got %+v; want decided", got)
	}
}

func TestCaseB038_OldRoundIsNoAnswer(t *testing.T) {
	t.Parallel()
	b, first := asked(t)
	in := b.Input(first, operation.AnswerApprove)
	for _, id := range []operation.ID{"op_crm_task", "op_email"} {
		r := approvaltest.Request(id, `{"subject":"Call Ada tomorrow"}`)
		content := operation.Content{Version: 2, Digest: r.Digest()}
		if err := b.Ledger.PutContent(t.Context(), id, content, r.Encode()); err != nil {
			t.Fatal(err)
		}
		b.Apply(id, operation.Edited{At: b.Now(), Content: content, By: approvaltest.Owner})
	}
	b.Ask("op_crm_task", "op_email")
	if got := b.Decide(first, in); got.Verdict == approval.Decided {
		t.Errorf("round 1 decided round 2: %+v", got)
	}
	if op := b.Op("op_email"); op.Approval != nil || op.Question == nil || op.Question.Round != 2 {
		t.Errorf("approval %+v, question %+v", op.Approval, op.Question)
	}
	second := b.Of(approvaltest.Reviewer)
	if got := b.Decide(second, b.Input(second, operation.AnswerApprove)); got.Verdict != approval.Decided {
		t.Errorf("round 2: %+v", got)
	}
}

// An answer about one operation touches that one only.
func TestCaseB038_AnswersAreApart(t *testing.T) {
	t.Parallel()
	b := approvaltest.New(t)
	b.Propose("crm_task", body)
	b.Propose("email", body)
	b.Ask("op_crm_task")
	one := b.Of(approvaltest.Reviewer)
	b.Ask("op_email")
	b.Decide(one, b.Input(one, operation.AnswerApprove))
	if b.Op("op_crm_task").Approval == nil || b.Op("op_email").Approval != nil {
		t.Errorf("approvals: %+v and %+v", b.Op("op_crm_task").Approval, b.Op("op_email").Approval)
	}
}

// One operation that is not what was read stops the whole reading: the other one is not approved either.
func TestR05_OneReadingIsOneDecision(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	in := b.Input(i, operation.AnswerApprove)
	in.Seen["op_email"] = approval.Seen{Digest: "0000", Rev: in.Seen["op_email"].Rev}
	if got := b.Decide(i, in); got.Reason != operation.ReasonOtherContent {
		t.Errorf("got %+v; want refused for the content", got)
	}
	if a := b.Op("op_crm_task").Approval; a != nil {
		t.Errorf("the other one is approved: %+v", a)
	}
}
