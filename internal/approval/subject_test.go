package approval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/operation"
)

// Both mails of a question name its stages and the end of its run's id, so that two runs are told apart in a mailbox.
func TestSubjectsTellRunsApart(t *testing.T) {
	t.Parallel()
	b := approvaltest.New(t)
	b.Propose("crm_task", body)
	b.Propose("email", body)
	b.Ask("op_crm_task", "op_email")
	if _, err := b.Desk.AskRun(t.Context(), b.Run, operation.ReasonSameKey); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range b.Mails() {
		if len(got) == 0 || got[len(got)-1] != m.Subject {
			got = append(got, m.Subject)
		}
	}
	about := "campaign-follow-up, crm_task and email (run …un_one)"
	want := []string{"Your decision is needed: " + about, "Your code for " + about}
	if diff := cmp.Diff(append(append(append([]string{}, want...), want...), want...), got); diff != "" {
		t.Error(diff)
	}
}
