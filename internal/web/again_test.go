package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
)

// other is a ledger whose stored contents do not have their digests.
type other struct{ *ledger.Ledger }

func (other) Content(context.Context, operation.ID, operation.Content) ([]byte, error) {
	return nil, ledger.ErrDigest
}

func (b *bench) endRun() {
	b.T.Helper()
	run, err := b.Ledger.Run(b.T.Context(), b.Run.ID)
	if err != nil {
		b.T.Fatal(err)
	}
	next := run
	next.Finish(operation.RunDone, operation.ReasonConfirmed, b.Now())
	res, err := b.Ledger.UpdateRun(b.T.Context(), run, next)
	if err != nil {
		b.T.Fatal(err)
	}
	b.Run = res.Current
}

func TestR08_RunAgainShowsFirstThenDoesItOnce(t *testing.T) {
	t.Parallel()
	b, i := held(t)
	if page := b.get(i); strings.Contains(page, `value="again"`) || !strings.Contains(page, `value="stop"`) {
		t.Error("a run at work is offered to run again, or not to be stopped")
	}
	b.preview = []runner.Preview{{Stage: "crm_task", Operation: "op_crm_task", Status: operation.StatusConfirmed, Does: runner.DoReuse, Reason: operation.ReasonConfirmed, Reference: "7714", Owner: "ops-lead@example.com"}}
	b.endRun()
	page := b.get(i)
	if !strings.Contains(page, "Reuse: nothing is sent") || strings.Contains(page, `value="stop"`) {
		t.Error("the preview is missing, or an ended run can be stopped")
	}
	f := form(t, page, `value="again"`)
	if status, _ := b.post(i, f, "code", "WRONGONE"); status != http.StatusForbidden {
		t.Errorf("wrong code: %d", status)
	}
	if status, _ := b.post(i, f); status != http.StatusBadRequest {
		t.Errorf("no code: %d", status)
	}
	if len(b.done) > 0 {
		t.Fatalf("done without the code: %v", b.done)
	}
	if status, told := b.post(i, f, "code", i.Code); status != http.StatusOK {
		t.Errorf("%d %s", status, told)
	}
	if status, told := b.post(i, f, "code", i.Code); status != http.StatusConflict || !strings.Contains(told, "Nothing more was done") {
		t.Errorf("double click: %d %s", status, told)
	}
	if diff := cmp.Diff([]string{"again by ops-lead@example.com"}, b.done); diff != "" {
		t.Error(diff)
	}
}

// A double click on "deliberate second" carries the same nonce; another view of the page carries another one.
func TestR08_DeliberateSecondHasTheNonceOfItsPage(t *testing.T) {
	t.Parallel()
	b, i := held(t)
	b.preview = []runner.Preview{{Stage: "crm_task", Operation: "op_crm_task", Does: runner.DoReuse}}
	b.endRun()
	first, second := form(t, b.get(i), `value="second"`), form(t, b.get(i), `value="second"`)
	if first.Get("nonce") == "" || first.Get("nonce") == second.Get("nonce") {
		t.Fatalf("nonces %q and %q", first.Get("nonce"), second.Get("nonce"))
	}
	for range 2 {
		if status, told := b.post(i, first, "code", i.Code); status != http.StatusOK || !strings.Contains(told, "run_second") {
			t.Errorf("%d %s", status, told)
		}
	}
	want := "second crm_task " + first.Get("nonce") + " by ops-lead@example.com"
	if diff := cmp.Diff([]string{want, want}, b.done); diff != "" {
		t.Error(diff)
	}
	for _, nonce := range []string{"", "x", "UPPER CASE", strings.Repeat("n", 65)} {
		if status, _ := b.post(i, first, "nonce", nonce, "code", i.Code); status != http.StatusBadRequest {
			t.Errorf("nonce %.10q: %d", nonce, status)
		}
	}
	b.refuse = fmt.Errorf("%w: the flow is no longer there", runner.ErrNotAgain)
	if status, told := b.post(i, second, "code", i.Code); status != http.StatusConflict || !strings.Contains(told, "no longer there") {
		t.Errorf("refused: %d %s", status, told)
	}
}

func TestR07_StopNeedsItsReasonAndCode(t *testing.T) {
	t.Parallel()
	b, i := held(t)
	f := form(t, b.get(i), `value="stop"`)
	for _, set := range [][]string{{"code", i.Code}, {"how", "wrong campaign"}, {"how", "wrong campaign", "code", "WRONGONE"}, {"how", "wrong campaign", "code", i.Code, "rev", "0"}} {
		if status, told := b.post(i, f, set...); status < 400 {
			t.Errorf("%v: %d %s", set, status, told)
		}
	}
	if status, told := b.post(i, f, "how", "wrong campaign", "code", i.Code); status != http.StatusOK {
		t.Errorf("%d %s", status, told)
	}
	if diff := cmp.Diff([]string{"stop by ops-lead@example.com: wrong campaign"}, b.done); diff != "" {
		t.Error(diff)
	}
}

func TestR07_RunQuestionIsAnsweredOnItsPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Propose("crm_task", body)
	run, err := b.Desk.AskRun(t.Context(), b.Run, operation.ReasonOtherContent)
	if err != nil {
		t.Fatal(err)
	}
	i := b.Of(run.Owner)
	page := b.get(i)
	for _, want := range []string{`value="reuse"`, `value="second"`, `value="stop"`, "Call Ada", "Its answer comes first"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	f := form(t, page, `value="reuse"`)
	if status, told := b.post(i, f, "answer", "reuse", "code", i.Code); status != http.StatusBadRequest {
		t.Errorf("without a word: %d %s", status, told)
	}
	if status, told := b.post(i, f, "answer", "reuse", "how", "same task", "code", i.Code); status != http.StatusOK {
		t.Fatalf("%d %s", status, told)
	}
	if diff := cmp.Diff([]string{"carry out"}, b.done); diff != "" || len(b.resumed) != 1 {
		t.Errorf("resumed %v\n%s", b.resumed, diff)
	}
	if strings.Contains(b.get(i), `name="answer"`) {
		t.Error("the page still asks")
	}
}
