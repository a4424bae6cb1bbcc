package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/app/apptest"
	"holdfast/internal/execution"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
)

// A run whose event, or whose event's body, is not in the ledger (a restored table lost it) is put to its owner.
func TestR07_ARunWithoutItsEventIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, sk := range map[string]string{"the event": "ev", "the body": "payload"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ev, run := b.event(goodBody)
			if sk == "payload" {
				sk = "payload#" + string(ev.Payload) + "#0"
			}
			_, err := b.Dynamo.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.Ledger.Table, Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "ev#" + string(ev.ID)}, "sk": &types.AttributeValueMemberS{Value: sk},
			}})
			apptest.Must(t, err)
			b.plan(run.ID)
			if got := b.runIs(run.ID, operation.RunHeld, operation.ReasonEventMissing); got.Question == nil {
				t.Error("nobody is asked")
			}
		})
	}
}

// A run that is stopped before Plan has come to its end keeps nothing that nobody looks after: what was made so far is
// its own, and is withdrawn.
func TestR07_WhatAStoppedPlanHadMadeIsWithdrawn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, run := b.event(goodBody)
	b.Faults.Set(func(op string, req []byte) apptest.Fault {
		if op == "UpdateItem" && strings.Contains(string(req), `"sk":{"S":"run"}`) {
			return apptest.Fault{Code: "InternalServerError"}
		}
		return apptest.Fault{}
	})
	if _, err := b.Plan(t.Context(), execution.Travel{Run: run.ID}); err == nil {
		t.Fatal("planned; want the stages not written")
	}
	b.Faults.Set(nil)
	_, err := b.Stop(t.Context(), run.ID, owner, "not wanted")
	apptest.Must(t, err)
	got := b.runIs(run.ID, operation.RunStopped, operation.ReasonWithdrawn)
	if len(got.Stages) != 2 {
		t.Fatalf("%d stages are its own; want 2", len(got.Stages))
	}
	for _, s := range got.Stages {
		b.is(b.op(s.Operation), operation.StatusDeclined, operation.ReasonWithdrawn)
	}
}

// A run whose plan is not in the ledger (a restored table lost it) goes on as far as it can: whatever has to be asked is
// asked of its owner, and no second is made of what nobody knows.
func TestR07_ARunWithoutItsPlanIsAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.planned(goodBody)
	_, err := b.Dynamo.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.Ledger.Table, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "run#" + string(run.ID)}, "sk": &types.AttributeValueMemberS{Value: "plan"},
	}})
	apptest.Must(t, err)
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: run.ID, Token: "token-1"}))
	q := b.stage(run.ID, "first").Question
	if q == nil || !slices.Equal(q.Reviewers, []operation.Person{owner}) {
		t.Errorf("asked: %+v; want the owner", q)
	}
	if _, err := b.Second(t.Context(), run.ID, "first", "n1", owner); !errors.Is(err, runner.ErrNotAgain) {
		t.Errorf("a second of it: %v; want it refused", err)
	}
}
