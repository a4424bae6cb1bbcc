package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"holdfast/internal/approval"
	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// failing is a ledger whose decisions are never written.
type failing struct{ *ledger.Ledger }

var errDown = errors.New("the table is not reached")

func (failing) Update(context.Context, operation.Operation, operation.Operation) (ledger.Result[operation.Operation], error) {
	return ledger.Result[operation.Operation]{}, errDown
}

func (failing) TransactDecisions(context.Context, []ledger.Change) (ledger.Decisions, error) {
	return ledger.Decisions{}, errDown
}

func TestR11_TriesAreSpentByWrongCodesOnly(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	for n := range 3 * ledger.LinkTriesMax {
		if why, err := b.Desk.Prove(t.Context(), b.Link(i), i.Code); err != nil || why != "" {
			t.Fatalf("right code, time %d: %q, %v", n, why, err)
		}
	}
	for n := range ledger.LinkTriesMax {
		if why, _ := b.Desk.Prove(t.Context(), b.Link(i), "WRONGONE"); why != approval.ReasonWrongCode {
			t.Fatalf("wrong code, time %d: %q", n, why)
		}
	}
	if got := b.Decide(i, b.Input(i, operation.AnswerApprove)); got.Reason != approval.ReasonTriesSpent {
		t.Errorf("the right code after too many wrong ones: %+v; want spent", got)
	}
	if b.Op("op_email").Approval != nil {
		t.Error("it is approved")
	}
}

// Guesses in parallel, with the person's own right codes among them, are bounded as well.
func TestR11_GuessesAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	link := b.Link(i)
	var compared atomic.Int64
	var all sync.WaitGroup
	for n := range 60 {
		all.Go(func() {
			code := "WRONGONE"
			if n%6 == 0 {
				code = i.Code
			}
			why, err := b.Desk.Prove(context.Background(), link, code)
			if err != nil {
				t.Error(err)
			}
			if why == approval.ReasonWrongCode {
				compared.Add(1)
			}
		})
	}
	all.Wait()
	if n := compared.Load(); n > ledger.LinkTriesMax {
		t.Errorf("%d wrong codes were compared; at most %d may be", n, ledger.LinkTriesMax)
	}
}

func TestR11_CodesAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	for _, typed := range []string{strings.ToLower(i.Code), " " + i.Code + "\n", i.Code[:4] + " " + i.Code[4:]} {
		if why, err := b.Desk.Prove(t.Context(), b.Link(i), typed); err != nil || why != "" {
			t.Errorf("%q: %q, %v", typed, why, err)
		}
	}
	other := b.Of(approvaltest.Other)
	if why, _ := b.Desk.Prove(t.Context(), b.Link(i), other.Code); why != approval.ReasonWrongCode {
		t.Errorf("another person's code: %q", why)
	}
}

// Links and codes travel apart, and neither mail shows content.
func TestR11_MailsCarryNoContentTokenOrPair(t *testing.T) {
	t.Parallel()
	b := approvaltest.New(t)
	run := b.Run
	run.Token = "task-token-AAAA+/x=="
	b.Run = run
	b.Propose("crm_task", `{"subject":"Call Ada Lovelace"}`)
	b.Ask("op_crm_task")
	b.Run.Stages = nil
	for _, i := range b.Invitations() {
		for _, m := range b.Mails() {
			text := m.Subject + m.Text
			for _, no := range []string{"Ada", "Lovelace", "subject\"", "task-token", b.Link(i).CodeHash} {
				if strings.Contains(text, no) {
					t.Errorf("a mail to %s has %q", m.To, no)
				}
			}
			if strings.Contains(text, string(i.Link)) && strings.Contains(text, i.Code) {
				t.Errorf("link and code travel together to %s", m.To)
			}
		}
	}
	if n := len(b.Invitations()); n != 2 {
		t.Errorf("%d people were invited; want 2", n)
	}
}

// No link, no question: a mail server that takes nothing leaves the question unasked, so that it is asked again.
func TestR07_NoQuestionWithoutItsMail(t *testing.T) {
	t.Parallel()
	b := approvaltest.New(t)
	op := b.Propose("crm_task", body)
	b.Desk.Notifier = deaf{}
	if _, err := b.Desk.AskOperations(t.Context(), b.Run, b.Plan, []operation.Operation{op}); err == nil {
		t.Error("no error")
	}
	if q := b.Op(op.ID).Question; q != nil {
		t.Errorf("a question that nobody was told of: %+v", q)
	}
	b.Desk.Notifier = b
	b.Ask(op.ID)
	if b.Op(op.ID).Question == nil {
		t.Error("not asked afterwards")
	}
}
