package web_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/flow"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/web"
)

// inConflict is a run whose event asks for other content than what exists, with its owner asked.
func inConflict(t *testing.T) (*bench, approvaltest.Invitation) {
	t.Helper()
	b := newBench(t)
	b.Propose("crm_task", body)
	other := approvaltest.Request("op_crm_task", `{"subject":"Call Grace"}`)
	if err := b.Ledger.PutContent(t.Context(), "op_crm_task", operation.Content{Version: 1, Digest: other.Digest()}, other.Encode()); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"content": map[string]operation.Digest{"crm_task": other.Digest()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Ledger.PutPlan(t.Context(), b.Run.ID, raw); err != nil {
		t.Fatal(err)
	}
	next := b.Run
	next.Stages = append([]operation.StageRef(nil), next.Stages...)
	next.Stages[0].Conflict = true
	b.update(next)
	run, err := b.Desk.AskRun(t.Context(), b.Run, operation.ReasonSameKey)
	if err != nil {
		t.Fatal(err)
	}
	return b, b.Of(run.Owner)
}

func (b *bench) update(next operation.Run) {
	b.T.Helper()
	res, err := b.Ledger.UpdateRun(b.T.Context(), b.Run, next)
	if err != nil || res.Verdict != ledger.Written {
		b.T.Fatalf("%v %v", res.Verdict, err)
	}
	b.Run = res.Current
}

func wants(t *testing.T, page string, parts ...string) {
	t.Helper()
	page = html.UnescapeString(page)
	for _, want := range parts {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestR07_ConflictShowsBothContents(t *testing.T) {
	t.Parallel()
	b, i := inConflict(t)
	page := b.get(i)
	wants(t, page, "Call Ada", "Call Grace", "What exists already", "What this event asks for instead", "Another event already asked for this with other content",
		"The first one is still to be sent. Unless it is stopped, both will be sent.", "asked: "+string(approvaltest.Owner))
	if strings.Contains(page, "not the one you saw") {
		t.Error("the page speaks of a content that nobody saw")
	}
}

func TestR13_MissingDataIsNamedWithWhatCanBeDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run, err := b.Desk.AskMissing(t.Context(), b.Run, flow.ReasonMissing, []string{"body.email"}, "data@example.com")
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []operation.Person{"data@example.com", run.Owner} {
		page := b.get(b.Of(who))
		wants(t, page, "body.email", "sent again complete", "start again after the flow was changed", "or stop", `value="retry"`, "data@example.com, "+string(run.Owner))
	}
}

func TestPageSaysThatItWaitsAndForWhat(t *testing.T) {
	t.Parallel()
	b, i := asked(t)
	wants(t, b.get(i), "The run: Waits for a decision", "asked: ")
	next := b.Run
	next.Stages = append([]operation.StageRef(nil), next.Stages...)
	next.Stages[1].After = "crm_task"
	b.update(next)
	if status, told := b.post(i, form(t, b.get(i), "answer"), "answer", "approve", "code", i.Code); status != 200 {
		t.Fatal(told)
	}
	wants(t, b.get(i), "The run: At work", "Waits for stage crm_task.")
}

// Whoever makes a second one reads how the first one stands; what was never sent is not said to have perhaps happened.
func TestStands(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]runner.Preview{
		"is still to be sent after crm_task. Unless it is stopped, both will be sent.": {Status: operation.StatusProposed, After: "crm_task"},
		"is unknown: it may have happened.":                                            {Status: operation.StatusUnknown, Open: true},
		"is confirmed with reference 7714.":                                            {Status: operation.StatusConfirmed, Reference: "7714"},
		"is held: it was never sent":                                                   {Status: operation.StatusHeld},
		"nobody knows whether it happened":                                             {Status: operation.StatusHeld, Open: true},
		"declined and never sent":                                                      {Status: operation.StatusDeclined},
		"proven not executed":                                                          {Status: operation.StatusFailed},
		"closed without proof":                                                         {Status: operation.StatusAbandoned},
	} {
		got := web.Stands(p)
		if !strings.Contains(got, want) || (p.Status == operation.StatusProposed && strings.Contains(got, "happened")) {
			t.Errorf("%s: %q, want %q", p.Status, got, want)
		}
	}
}

// Every reason that can be stored has words of its own: nobody reads a code.
func TestEveryReasonHasWords(t *testing.T) {
	t.Parallel()
	n := 0
	for _, path := range []string{"../operation/reason.go", "../operation/runfact.go", "../flow/plan.go", "../intake/event.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			v, ok := node.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(v.Names[0].Name, "Reason") || len(v.Values) != 1 {
				return true
			}
			code, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if n++; web.Sentence(operation.Reason(code)) == code {
				t.Errorf("%s has no words", code)
			}
			return true
		})
	}
	if n < 80 {
		t.Errorf("only %d reasons were looked at", n)
	}
}

func TestContentTextHidesNothing(t *testing.T) {
	t.Parallel()
	lines, err := web.ContentText(approvaltest.Request("op_x", `{"subject":"Call\u001b[31m Ada"}`).Encode())
	if err != nil || len(lines) != 2 || strings.Contains(lines[1], "\x1b") || !strings.Contains(lines[1], "U+001B") {
		t.Errorf("%q, %v", lines, err)
	}
}
