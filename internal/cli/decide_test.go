package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/operation"
)

// send sends a body as the shipped flow's event, signed, and answers the run.
func send(t *testing.T, l *laptop, body string) string {
	t.Helper()
	status, answer := fetch(t, http.MethodPost, l.Hooks+"/shopify-flow", signed(t, l, body), body)
	if status/100 != 2 {
		t.Fatalf("%d %s", status, answer)
	}
	return value[struct {
		ID string `json:"id"`
	}](t, told{out: answer}).ID
}

func runAsked(s seen) bool { return len(s.Runs) > 0 && s.Runs[0].Question != nil }

// Another event for the same customer and campaign, with other content: a person sees both before they choose.
func TestResolveShowsBothContents(t *testing.T) {
	home(t)
	l := begin(t)
	first := `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"one","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":"c1","first_name":"Ada","email":"ada@example.com","due":"2026-12-24T09:00:00Z"}}`
	until(t, send(t, l, first), asked)
	id := send(t, l, strings.NewReplacer(`"one"`, `"two"`, "Ada", "Grace").Replace(first))
	s := until(t, id, runAsked)
	owner := string(s.Runs[0].Owner)

	got := expect(t, exitDone, "another event already asked for this with other content", "resolve", id)
	for _, want := range []string{
		"Call Ada about campaign", "Call Grace about campaign", "what exists: " + string(s.Runs[0].Stages[0].Operation) + ", proposed",
		"The first one is still to be sent after crm_task. Unless it is stopped, both will be sent.",
		"holdfast resolve " + id + " --answer reuse --as " + owner + ` --how "`, "Asked: " + owner,
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "waits for a decision:") {
		t.Errorf("another event's approval is offered as this run's:\n%s", got.out)
	}
	expect(t, exitDone, "made for another event with other content; `holdfast resolve "+id+"` shows both", "inspect", id)
	if got := expect(t, exitDone, "", "inspect", id); strings.Contains(got.out, "not the one you saw") || strings.Contains(got.out, "Grace") {
		t.Errorf("%s", got.out)
	}
	expect(t, exitDone, "Decided: reuse", "resolve", id, "--answer", "reuse", "--as", owner, "--how", "same task")
}

func TestMissingDataIsNamed(t *testing.T) {
	home(t)
	l := begin(t)
	id := send(t, l, `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"one","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":"c1","first_name":"Ada","due":"2026-12-24T09:00:00Z"}}`)
	until(t, id, runAsked)
	for _, command := range []string{"inspect", "resolve"} {
		got := expect(t, exitDone, "body.properties.email", command, id)
		if !strings.Contains(got.out, "sent again complete") || strings.Contains(got.out, "version 0") {
			t.Errorf("%s", got.out)
		}
	}
}

// A held run whose event was not for the flow, or that no flow takes, is told in words.
func TestInspectHasNoCodes(t *testing.T) {
	home(t)
	l := begin(t)
	id := send(t, l, `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"one","handle":"follow-up","properties":{"kind":"other"}}`)
	until(t, id, func(s seen) bool { return s.Runs[0].Ended() })
	expect(t, exitDone, "not applicable: the flow is not meant for this event.", "inspect", id)
}

// What is not possible yet says from when it is.
func TestChoicesSayFromWhen(t *testing.T) {
	t.Parallel()
	const now = operation.Time(1795780800000)
	over := now.Add(-time.Second)
	op := operation.Operation{
		Status: operation.StatusHeld, Attempts: []operation.Attempt{{ID: "at_1", Claimed: over, Recorded: over, Ended: over}},
		Question: &operation.Question{Kind: operation.QuestionResolve},
	}
	p := operation.Policy{Lookup: true, Quiet: time.Hour}
	for _, ch := range operationChoices(&op, p, now) {
		if ch.Answer != operation.AnswerNothingHappened {
			continue
		}
		if want := operation.QuietUntil(&op, p); ch.Legal || ch.From != want || want <= now {
			t.Errorf("%+v; want it from %s", ch, want)
		}
		if got := from(ch.From); !strings.Contains(got, ch.From.String()) {
			t.Errorf("%q", got)
		}
		return
	}
	t.Error("the answer is not listed")
}
