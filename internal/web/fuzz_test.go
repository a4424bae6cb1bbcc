package web_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/approval"
	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/web"
)

// pageBytesMax is the largest page, in bytes: the frozen contents, shown in three ways, and what a person typed.
const pageBytesMax = 1 << 20

// still is a clock that stands.
type still struct {
	clock.Clock
	at time.Time
}

func (s still) Now() time.Time { return s.at }

// counted is a ledger in memory, copied from a real one, that counts what is written to it, and what a run is asked to do.
type counted struct {
	links    map[ledger.LinkID]ledger.Link
	ops      map[operation.ID]operation.Operation
	run      operation.Run
	contents map[operation.ID][]byte
	tries    map[ledger.LinkID]int
	writes   int
	acts     int
}

func (c *counted) Link(_ context.Context, id ledger.LinkID) (ledger.Link, error) {
	link, there := c.links[id]
	if !there {
		return link, ledger.ErrNotFound
	}
	return link, nil
}

func (c *counted) Operation(_ context.Context, id operation.ID) (operation.Operation, error) {
	op, there := c.ops[id]
	if !there {
		return op, ledger.ErrNotFound
	}
	return op, nil
}

func (c *counted) Content(_ context.Context, id operation.ID, _ operation.Content) ([]byte, error) {
	return c.contents[id], nil
}

func (c *counted) Run(_ context.Context, id operation.RunID) (operation.Run, error) {
	if id != c.run.ID {
		return operation.Run{}, ledger.ErrNotFound
	}
	return c.run, nil
}

func (c *counted) Plan(context.Context, operation.RunID) ([]byte, error) {
	return nil, ledger.ErrNotFound
}

func (c *counted) Update(_ context.Context, seen, next operation.Operation) (ledger.Result[operation.Operation], error) {
	stands := c.ops[seen.ID]
	if stands.Rev != seen.Rev {
		return ledger.Result[operation.Operation]{Verdict: ledger.Lost, Current: stands}, nil
	}
	c.writes++
	next.Rev++
	c.ops[seen.ID] = next
	return ledger.Result[operation.Operation]{Verdict: ledger.Written, Current: next}, nil
}

func (c *counted) TransactDecisions(ctx context.Context, changes []ledger.Change) (ledger.Decisions, error) {
	out := ledger.Decisions{Verdict: ledger.Written}
	for _, one := range changes {
		res, _ := c.Update(ctx, one.Seen, one.Next) // it has no errors
		out.Current = append(out.Current, res.Current)
	}
	return out, nil
}

func (c *counted) UpdateRun(_ context.Context, _, next operation.Run) (ledger.Result[operation.Run], error) {
	c.writes++
	next.Rev++
	c.run = next
	return ledger.Result[operation.Run]{Verdict: ledger.Written, Current: next}, nil
}

func (c *counted) CreateLink(_ context.Context, link ledger.Link) (ledger.Result[ledger.Link], error) {
	c.writes++
	return ledger.Result[ledger.Link]{Verdict: ledger.Created, Current: link}, nil
}

func (c *counted) CountTry(_ context.Context, id ledger.LinkID) (bool, error) {
	if c.tries[id] == ledger.LinkTriesMax {
		return false, nil
	}
	c.tries[id]++
	return true, nil
}

func (c *counted) GiveTryBack(_ context.Context, id ledger.LinkID) error {
	c.tries[id]--
	return nil
}

// Resume and what follows are the runner, which counts only.
func (c *counted) Resume(context.Context, operation.RunID, operation.Reason) error { return nil }
func (c *counted) CarryOut(context.Context, operation.RunID) error                 { return nil }

func (c *counted) PreviewAgain(context.Context, operation.RunID) (operation.Run, []runner.Preview, error) {
	return c.run, []runner.Preview{{Stage: "crm_task", Operation: "op_crm_task", Does: runner.DoReuse}}, nil
}

func (c *counted) Again(context.Context, operation.RunID, operation.Person) (operation.Run, error) {
	c.acts++
	return c.run, nil
}

func (c *counted) Second(context.Context, operation.RunID, string, string, operation.Person) (operation.Run, error) {
	c.acts++
	return c.run, nil
}

func (c *counted) Stop(context.Context, operation.RunID, operation.Person, string) ([]operation.ID, error) {
	c.acts++
	return nil, nil
}

// desk is one state of one run with everybody's links, which every input meets anew.
type desk struct {
	*approvaltest.Bench
	from  counted
	codes map[ledger.LinkID]string
}

// newDesk makes a question about two operations, one about what happened, or one about the run.
func newDesk(f *testing.F, about string) desk {
	f.Helper()
	b := approvaltest.New(f)
	b.Policy.Lookup = false
	b.Propose("crm_task", body)
	b.Propose("email", `{"html":"<b>Hi</b><script>alert(1)</script>","n":9007199254740993}`)
	b.Ask("op_crm_task", "op_email")
	switch about {
	case "happened":
		i := b.Of(approvaltest.Reviewer)
		b.Decide(i, b.Input(i, operation.AnswerApprove))
		b.Lose("op_crm_task")
		b.Ask("op_crm_task")
	case "run":
		if _, err := b.Desk.AskRun(f.Context(), b.Run, operation.ReasonSameKey); err != nil {
			f.Fatal(err)
		}
	}
	return snapshot(f, b)
}

func snapshot(f *testing.F, b *approvaltest.Bench) desk {
	f.Helper()
	d := desk{Bench: b, codes: map[ledger.LinkID]string{}, from: counted{links: map[ledger.LinkID]ledger.Link{}, ops: map[operation.ID]operation.Operation{}, contents: map[operation.ID][]byte{}}}
	for _, i := range b.Invitations() {
		d.codes[i.Link], d.from.links[i.Link] = i.Code, b.Link(i)
	}
	for _, id := range []operation.ID{"op_crm_task", "op_email"} {
		op := b.Op(id)
		raw, err := b.Ledger.Content(f.Context(), id, op.Content)
		if err != nil {
			f.Fatal(err)
		}
		d.from.ops[id], d.from.contents[id] = op, raw
	}
	run, err := b.Ledger.Run(f.Context(), b.Run.ID)
	if err != nil {
		f.Fatal(err)
	}
	d.from.run = run
	return d
}

// page is the review page over a fresh copy of the desk's state.
func (d desk) page() (*web.Review, *counted) {
	c := d.from
	c.ops, c.tries = maps.Clone(d.from.ops), map[ledger.LinkID]int{}
	at := still{at: d.Clock.Now()}
	asking := *d.Desk
	asking.Store, asking.Clock = &c, at
	return &web.Review{Store: &c, Desk: &asking, Resumer: &c, Runs: &c, Clock: at, NewID: func(p string) string { return p + "00000000" }, Log: slog.New(slog.DiscardHandler),
		Policy: asking.Policy, Targets: func(string) web.TargetText {
			return web.TargetText{Title: "CRM", Ask: "GET /effects?operation_id=${operation}"}
		}}, &c
}

func stands(t *testing.T, c *counted) string {
	t.Helper()
	text, err := json.Marshal([]any{c.ops, c.run, c.links})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// filled are the forms of a link's page with a code and the usual answers, as seeds.
func (d desk) filled(f *testing.F, i approvaltest.Invitation) []string {
	f.Helper()
	page, _ := d.page()
	req := events.APIGatewayV2HTTPRequest{PathParameters: map[string]string{"link": string(i.Link)}}
	req.RequestContext.HTTP.Method = http.MethodGet
	out, err := page.Handle(f.Context(), req)
	if err != nil || out.StatusCode != http.StatusOK {
		f.Fatal(out.StatusCode, err)
	}
	var all []string
	for _, text := range formText.FindAllString(out.Body, -1) {
		form := form(f, text, "")
		form.Set("code", i.Code)
		form.Set("how", "looked at it")
		form.Set("reference", "7714")
		for _, answer := range []operation.Answer{operation.AnswerApprove, operation.AnswerDecline, operation.AnswerExists, "nothing_happened", ""} {
			form.Set("answer", string(answer))
			all = append(all, form.Encode())
		}
	}
	return all
}

// R11, R13: whatever is sent to the review page, it answers with a page; only a POST with the link's own code changes
// anything; a refusal has changed nothing; and nothing of what was sent is run.
//
//fuzz:slow
func FuzzReview(f *testing.F) {
	desks := map[string]desk{}
	for _, about := range []string{"approval", "happened", "run"} {
		d := newDesk(f, about)
		desks[about] = d
		for _, i := range d.Invitations() {
			f.Add(about, string(i.Link), "GET", "", false)
			f.Add(about, "<"+strings.ToUpper(string(i.Link))+">.", "HEAD", "", false)
			f.Add(about, string(i.Link)[1:], "POST", "do=decide", false)
			for _, form := range d.filled(f, i) {
				f.Add(about, string(i.Link), "POST", form, false)
				f.Add(about, string(i.Link), "POST", base64.StdEncoding.EncodeToString([]byte(strings.Replace(form, "code=", "code=X", 1))), true)
			}
			f.Add(about, string(i.Link), "POST", "do=stop&how=%3Cscript%3Ealert(1)%3C%2Fscript%3E&rev=1&code="+i.Code, false)
			f.Add(about, string(i.Link), "POST", "do=second&stage=crm_task&nonce=00000000&rev=1&code="+i.Code, false)
			f.Add(about, string(i.Link), "POST", "do=decide&answer=approve&code="+i.Code+"&minutes=-1;a=b&%zz", false)
			f.Add(about, string(i.Link), "DELETE", "%%%", true)
		}
	}
	f.Fuzz(func(t *testing.T, about, link, method, body string, encoded bool) {
		d, known := desks[about]
		if !known {
			return
		}
		page, c := d.page()
		before := stands(t, c)
		req := events.APIGatewayV2HTTPRequest{PathParameters: map[string]string{"link": link}, Body: body, IsBase64Encoded: encoded, Cookies: []string{body}}
		req.RequestContext.HTTP.Method = method
		out, err := page.Handle(t.Context(), req)
		if err != nil {
			t.Fatalf("the function failed instead of answering: %v", err)
		}
		shown(t, out)
		d.changed(t, c, out, method, given(body, encoded))
		if diff := cmp.Diff(before, stands(t, c)); (c.writes == 0) != (diff == "") {
			t.Fatalf("%d writes, and\n%s", c.writes, diff)
		}
	})
}

func given(body string, encoded bool) url.Values {
	if encoded {
		raw, _ := base64.StdEncoding.DecodeString(body)
		body = string(raw)
	}
	form, _ := url.ParseQuery(body)
	return form
}

func shown(t *testing.T, out events.APIGatewayV2HTTPResponse) {
	t.Helper()
	if !slices.Contains([]int{200, 400, 403, 404, 405, 409, 503}, out.StatusCode) || len(out.Body) > pageBytesMax {
		t.Fatalf("%d with %d bytes", out.StatusCode, len(out.Body))
	}
	if strings.Contains(strings.ToLower(out.Body), "<script") || !strings.Contains(out.Headers["Content-Security-Policy"], "default-src 'none'") {
		t.Fatalf("a page with a script, or without its headers:\n%s", out.Body)
	}
}

// changed holds what was written against what was sent.
func (d desk) changed(t *testing.T, c *counted, out events.APIGatewayV2HTTPResponse, method string, form url.Values) {
	t.Helper()
	tried := 0
	for _, n := range c.tries {
		tried += n
	}
	typed, right := strings.ToUpper(strings.Join(strings.Fields(form.Get("code")), "")), false
	for _, code := range d.codes {
		right = right || typed == code
	}
	switch did := c.writes + c.acts; {
	case method != http.MethodPost && did+tried > 0:
		t.Fatalf("%s changed something", method)
	case out.StatusCode >= 400 && did > 0:
		t.Fatalf("%d, and %d writes and %d acts", out.StatusCode, c.writes, c.acts)
	case did > 0 && !right, tried > 0 && typed == "":
		t.Fatalf("%d writes, %d acts and %d tries with the code %q", c.writes, c.acts, tried, typed)
	case method == http.MethodPost && out.StatusCode == 200 && did == 0 && !strings.Contains(out.Body, "It stands; nothing was done twice"):
		t.Fatal("a yes that did nothing")
	}
}

// Any bytes as the function's event: a page, or an error and nothing changed.
//
//fuzz:slow
func FuzzReviewEvent(f *testing.F) {
	d := newDesk(f, "approval")
	for _, i := range d.Invitations() {
		for _, form := range d.filled(f, i) {
			raw, err := json.Marshal(map[string]any{"version": "2.0", "rawPath": "/review/" + string(i.Link), "pathParameters": map[string]string{"link": string(i.Link)}, "cookies": []string{"a=b"},
				"requestContext": map[string]any{"http": map[string]string{"method": "POST"}}, "body": form, "isBase64Encoded": false})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	for _, seed := range []string{``, `null`, `{}`, `{"pathParameters":null}`, `{"pathParameters":{"link":""},"body":1}`, `{"requestContext":{"http":{"method":"POST"}},"isBase64Encoded":"x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		page, c := d.page()
		answer, err := lambda.NewHandler(page.Handle).Invoke(t.Context(), raw)
		var out events.APIGatewayV2HTTPResponse
		if err != nil {
			if c.writes+c.acts+len(c.tries) > 0 {
				t.Fatalf("%v, and something changed", err)
			}
			return
		}
		if err := json.Unmarshal(answer, &out); err != nil {
			t.Fatal(err)
		}
		shown(t, out)
		if out.StatusCode >= 400 && c.writes+c.acts > 0 {
			t.Fatalf("%d, and %d writes", out.StatusCode, c.writes)
		}
	})
}

var _ approval.Store = (*counted)(nil)
