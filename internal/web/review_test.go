package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func TestCaseB023_MangledLinkIsFriendlyAndChangesNothing(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	before := b.Op("op_email")
	for _, id := range []string{"", "x", "AAAA+/x==", "AAAA%2B/x%3D%3D", "AAAA%252B", string(i.Link)[:8] + "zz", string(i.Link) + string(i.Link), strings.Repeat("a", 5000), "l00000001\x00", "../../etc", "🙂🙂🙂🙂🙂🙂🙂🙂"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			status, page := b.visit(method, id, url.Values{"code": {i.Code}, "do": {"decide"}, "answer": {"approve"}})
			if status != http.StatusNotFound || !strings.Contains(page, "ask the flow's owner for a new one") {
				t.Errorf("%s %.20q: %d", method, id, status)
			}
		}
	}
	if diff := cmp.Diff(before, b.Op("op_email")); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}

func TestCaseB025_LinkSurvivesMailPrograms(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	id := string(i.Link)
	unescaped, err := url.PathUnescape(id)
	if err != nil || unescaped != id || url.PathEscape(id) != id || url.QueryEscape(id) != id {
		t.Fatalf("%q needs encoding", id)
	}
	wrapper := "https://safe.example.net/?url=" + url.QueryEscape("https://review.example.com/review/"+id) + "&data=1"
	u, err := url.Parse(wrapper)
	if err != nil {
		t.Fatal(err)
	}
	_, unwrapped, _ := strings.Cut(u.Query().Get("url"), "/review/")
	for _, given := range []string{id, id + ">", id + ".", id + ">.", "<" + id + ">", id + ")", id + ",", strings.ToUpper(id), " " + id, unwrapped} {
		if status, _ := b.visit(http.MethodGet, given, nil); status != http.StatusOK {
			t.Errorf("%q: %d", given, status)
		}
	}
}

// Scanners fetch everything, in any order, at once, and press what they find; a person decides afterwards.
func TestCaseB029_ScannersDecideNothing(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	before := b.Op("op_email")
	f := form(t, b.get(i), "answer")
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodPut, http.MethodDelete} {
				b.visit(method, string(i.Link), nil)
			}
			for _, answer := range []string{"approve", "decline"} {
				f := url.Values{"do": f["do"], "for": f["for"], "answer": {answer}, "form": {"all"}}
				if n%2 == 0 {
					f.Set("code", "")
				}
				b.visit(http.MethodPost, string(i.Link), f)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(before, b.Op("op_email")); diff != "" {
		t.Errorf("a scanner changed something:\n%s", diff)
	}
	b.Clock.Move(5 * time.Minute)
	if status, told := b.post(i, form(t, b.get(i), "answer"), "answer", "approve", "code", i.Code); status != http.StatusOK {
		t.Errorf("the person's own decision: %d %s", status, told)
	}
	if b.Op("op_email").Approval == nil {
		t.Error("not approved")
	}
}

func TestCaseB031_OpeningIsNoDecision(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	for range 20 {
		b.get(i)
		b.Clock.Move(5 * time.Second)
	}
	for _, id := range []operation.ID{"op_crm_task", "op_email"} {
		if op := b.Op(id); op.Approval != nil || op.Question == nil || op.Rev != 2 {
			t.Errorf("%s: %+v", id, op)
		}
	}
	if len(b.resumed) > 0 {
		t.Error("something was woken")
	}
}

func TestCaseB035_SecondClickAndOpposite(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	other := b.Of(approvaltest.Other)
	f := form(t, b.get(i), "answer")
	if status, told := b.post(i, f, "answer", "approve", "code", i.Code); status != http.StatusOK || !strings.Contains(told, "recorded") {
		t.Fatalf("%d %s", status, told)
	}
	if page := b.get(i); strings.Contains(page, `name="answer"`) || !strings.Contains(page, "approved by reviewer@example.com") {
		t.Error("after the decision the page still asks, or does not show it")
	}
	if status, told := b.post(i, f, "answer", "approve", "code", i.Code); status != http.StatusOK || !strings.Contains(told, "Already approved by reviewer@example.com on 20") {
		t.Errorf("second click: %d %s", status, told)
	}
	if status, told := b.post(other, f, "answer", "decline", "code", other.Code); status != http.StatusConflict || !strings.Contains(told, "approved by reviewer@example.com on 20") {
		t.Errorf("the opposite: %d %s", status, told)
	}
	if n := len(b.Op("op_email").Answered); n != 1 {
		t.Errorf("%d decisions; want 1", n)
	}
}

func TestCaseB037_PageOfAHandedOverLink(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	f := form(t, b.get(i), "answer")
	for _, id := range []operation.ID{"op_crm_task", "op_email"} {
		op := b.Op(id)
		next, q := op, *op.Question
		q.Reviewers, next.Question = []operation.Person{approvaltest.Other}, &q
		next.Evidence = append(next.Evidence[:len(next.Evidence):len(next.Evidence)], operation.Evidence{Kind: operation.EvidenceAsked, At: b.Now(), Detail: "handed over"})
		b.Write(op, next)
	}
	page := b.get(i)
	if strings.Contains(page, "<form") || !strings.Contains(page, "handed to second-reviewer@example.com") {
		t.Error("A's page still has a form, or does not say who is asked")
	}
	for _, set := range [][]string{{"answer", "approve"}, {"do", "again", "rev", "2"}, {"do", "stop", "how", "no", "rev", "3"}, {"do", "second", "stage", "email", "nonce", "n00000000"}} {
		if status, told := b.post(i, f, append(set, "code", i.Code)...); status != http.StatusForbidden {
			t.Errorf("%v: %d %s", set, status, told)
		}
	}
	if b.Op("op_email").Approval != nil || len(b.done) > 0 {
		t.Errorf("A's link did something: %v", b.done)
	}
}

func TestCaseB038_AnswerNamesItsOperations(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	f := form(t, b.get(i), "answer")
	for name, ids := range map[string]string{"none": "", "strange": "op_other", "twice": "op_email op_email", "one strange": "op_email op_other"} {
		if status, told := b.post(i, f, "for", ids, "rev.op_other", "2", "digest.op_other", "00", "answer", "approve", "code", i.Code); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, told)
		}
	}
	if status, told := b.post(i, f, "for", "op_email", "answer", "approve", "code", i.Code); status != http.StatusOK {
		t.Fatalf("one of them: %d %s", status, told)
	}
	if b.Op("op_email").Approval == nil || b.Op("op_crm_task").Approval != nil {
		t.Error("the answer touched another operation than the one it names")
	}
}

// The page shows, and takes approval of, only what is stored under the frozen digest.
func TestCaseB032_PageShowsOnlyWhatIsFrozen(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	f := form(t, b.get(i), "answer")
	swapped := approvaltest.Request("op_email", `{"subject":"Call Mallory"}`)
	b.page.Store = other{b.Ledger}
	if page := b.get(i); strings.Contains(page, "Mallory") || strings.Contains(page, `value="approve"`) || !strings.Contains(page, "Nobody can approve it") {
		t.Error("the page shows or lets approve what cannot be read")
	}
	f.Set("digest.op_email", string(swapped.Digest()))
	if status, _ := b.post(i, f, "answer", "approve", "code", i.Code); status != http.StatusConflict {
		t.Errorf("another digest: %d", status)
	}
	if b.Op("op_email").Approval != nil || b.Op("op_crm_task").Approval != nil {
		t.Error("approved")
	}
}

func TestR11_NoCodesNoDecision(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	b.Desk.CodeKey = nil
	if status, told := b.post(i, form(t, b.get(i), "answer"), "answer", "approve", "code", i.Code); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, told)
	}
}

func TestR11_ExpiredQuestionHasNoForm(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	f := form(t, b.get(i), "answer")
	b.Clock.Move(20 * time.Hour)
	if page := b.get(i); strings.Contains(page, `name="answer"`) || !strings.Contains(page, "That is no yes") {
		t.Error("the page still asks after the time is over")
	}
	if status, told := b.post(i, f, "answer", "approve", "code", i.Code); status != http.StatusConflict {
		t.Errorf("%d %s", status, told)
	}
	b.Clock.Move(91 * 24 * time.Hour)
	if status, _ := b.visit(http.MethodGet, string(i.Link), nil); status != http.StatusNotFound {
		t.Errorf("an expired link: %d", status)
	}
}

func TestR13_IncompleteFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b, i := held(t)
	f := form(t, b.get(i), `value="exists"`)
	f.Set("answer", "exists")
	f.Set("how", "searched for <Ada> & found it")
	f.Set("code", i.Code)
	status, page := b.visit(http.MethodPost, string(i.Link), f)
	if status != http.StatusBadRequest || !strings.Contains(page, "searched for &lt;Ada&gt; &amp; found it</textarea>") || !strings.Contains(page, `value="exists" required checked`) {
		t.Errorf("%d: what was typed is gone", status)
	}
	if strings.Contains(page, i.Code) {
		t.Error("the page shows the code")
	}
	for _, ref := range []string{"has a space", "naïve", strings.Repeat("x", 257)} {
		if status, told := b.post(i, f, "reference", ref); status != http.StatusBadRequest {
			t.Errorf("reference %q: %d %s", ref, status, told)
		}
	}
	for range ledger.LinkTriesMax { // none of these was counted
		if status, _ := b.post(i, f, "reference", ""); status != http.StatusBadRequest {
			t.Errorf("%d", status)
		}
	}
	if status, told := b.post(i, f, "reference", "7714"); status != http.StatusOK {
		t.Fatalf("%d %s", status, told)
	}
	if op := b.Op("op_crm_task"); op.Status != operation.StatusConfirmed || op.Reference != "7714" {
		t.Errorf("%s %q", op.Status, op.Reference)
	}
}
