package web_test

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/approval"
	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/web"
)

// bench is the real page on the real desk and ledger. What a run does beside its questions is written down only.
type bench struct {
	*approvaltest.Bench
	page    *web.Review
	resumed []operation.RunID
	done    []string
	preview []runner.Preview
	refuse  error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: approvaltest.New(t)}
	b.page = &web.Review{Store: b.Ledger, Desk: b.Desk, Resumer: b, Runs: b, Clock: b.Clock, NewID: b.NewID, Log: slog.New(slog.DiscardHandler),
		Policy: b.Desk.Policy, Targets: func(string) web.TargetText {
			return web.TargetText{Title: "CRM", Summary: "Makes one task.", Ask: "GET /effects?operation_id=${operation}", Protected: "protected by nothing", Lost: "it is held"}
		}}
	return b
}

func (b *bench) Resume(_ context.Context, id operation.RunID, _ operation.Reason) error {
	b.resumed = append(b.resumed, id)
	return nil
}

func (b *bench) CarryOut(_ context.Context, id operation.RunID) error {
	b.done = append(b.done, "carry out")
	return nil
}

func (b *bench) PreviewAgain(ctx context.Context, id operation.RunID) (operation.Run, []runner.Preview, error) {
	run, err := b.Ledger.Run(ctx, id)
	return run, b.preview, err
}

func (b *bench) Again(ctx context.Context, id operation.RunID, by operation.Person) (operation.Run, error) {
	if b.refuse != nil {
		return operation.Run{}, b.refuse
	}
	b.done = append(b.done, "again by "+string(by))
	run, err := b.Ledger.Run(ctx, id)
	if err != nil {
		return run, err
	}
	next := run
	next.Again(by, b.Now())
	res, err := b.Ledger.UpdateRun(ctx, run, next)
	return res.Current, err
}

func (b *bench) Second(_ context.Context, _ operation.RunID, stage, nonce string, by operation.Person) (operation.Run, error) {
	b.done = append(b.done, fmt.Sprintf("second %s %s by %s", stage, nonce, by))
	return operation.Run{ID: "run_second"}, b.refuse
}

func (b *bench) Stop(_ context.Context, _ operation.RunID, by operation.Person, how string) ([]operation.ID, error) {
	b.done = append(b.done, "stop by "+string(by)+": "+how)
	return nil, b.refuse
}

// visit is one request to the page.
func (b *bench) visit(method, link string, form url.Values) (int, string) {
	b.T.Helper()
	req := events.APIGatewayV2HTTPRequest{PathParameters: map[string]string{"link": link}, Body: form.Encode()}
	req.RequestContext.HTTP.Method = method
	out, err := b.page.Handle(b.T.Context(), req)
	if err != nil {
		b.T.Fatal(err)
	}
	csp := out.Headers["Content-Security-Policy"]
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src") || out.Headers["Cache-Control"] != "no-store" {
		b.T.Errorf("headers: %v", out.Headers)
	}
	if strings.Contains(strings.ToLower(out.Body), "<script") {
		b.T.Error("the page has a script")
	}
	return out.StatusCode, out.Body
}

func (b *bench) get(i approvaltest.Invitation) string {
	b.T.Helper()
	status, body := b.visit(http.MethodGet, string(i.Link), nil)
	if status != http.StatusOK {
		b.T.Fatalf("the page answered %d", status)
	}
	return body
}

var (
	formText   = regexp.MustCompile(`(?s)<form method="post".*?</form>`)
	hiddenText = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	noticeText = regexp.MustCompile(`role="status">([^<]*)<`)
)

// forms are the page's forms with their hidden fields, by what each has in it.
func form(t testing.TB, body, has string) url.Values {
	t.Helper()
	for _, text := range formText.FindAllString(body, -1) {
		if !strings.Contains(text, has) {
			continue
		}
		out := url.Values{}
		for _, f := range hiddenText.FindAllStringSubmatch(text, -1) {
			out.Add(f[1], html.UnescapeString(f[2]))
		}
		return out
	}
	t.Fatalf("no form has %q", has)
	return nil
}

func (b *bench) post(i approvaltest.Invitation, f url.Values, set ...string) (int, string) {
	b.T.Helper()
	sent := url.Values{}
	for k, v := range f {
		sent[k] = v
	}
	for n := 0; n+1 < len(set); n += 2 {
		sent.Set(set[n], set[n+1])
	}
	status, body := b.visit(http.MethodPost, string(i.Link), sent)
	told := body
	if n := noticeText.FindStringSubmatch(body); n != nil {
		told = html.UnescapeString(n[1])
	}
	return status, told
}

const body = `{"subject":"Call Ada"}`

// asked has two operations of one run under one question.
func asked(t *testing.T) (*bench, approvaltest.Invitation) {
	t.Helper()
	b := newBench(t)
	b.Propose("crm_task", body)
	b.Propose("email", body)
	b.Ask("op_crm_task", "op_email")
	return b, b.Of(approvaltest.Reviewer)
}

// held has one operation whose answer was lost; its owner is asked.
func held(t *testing.T) (*bench, approvaltest.Invitation) {
	t.Helper()
	b := newBench(t)
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
