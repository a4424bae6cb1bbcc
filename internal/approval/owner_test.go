package approval_test

import (
	"slices"
	"testing"

	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/operation"
)

// Somebody is always asked: where a flow names no reviewer it is the owner, and what happened is asked of the owner too.
func TestR07_TheOwnerIsAskedWhereNobodyElseIs(t *testing.T) {
	t.Parallel()
	for name, reviewers := range map[string][]operation.Person{"no reviewer": nil, "a reviewer": {approvaltest.Reviewer}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := approvaltest.New(t)
			b.Plan.Reviewers = reviewers
			b.Propose("crm_task", `{"a":1}`)
			b.Ask("op_crm_task")
			approver := b.Invitations()[0]
			if want := slices.Concat(reviewers, []operation.Person{approvaltest.Owner})[0]; approver.Person != want {
				t.Fatalf("%s is asked to approve, want %s", approver.Person, want)
			}
			b.Decide(approver, b.Input(approver, operation.AnswerApprove))
			b.Lose("op_crm_task")
			b.Policy.Lookup = false
			b.Ask("op_crm_task")
			if q := b.Op("op_crm_task").Question; q == nil || !slices.Contains(q.Reviewers, approvaltest.Owner) {
				t.Errorf("what happened is asked as %+v, want the owner among those asked", q)
			}
		})
	}
}
