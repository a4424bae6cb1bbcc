package web_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/flows"
	"holdfast/internal/local"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

// laptop is the whole product, used through its pages only.
type laptop struct {
	t   *testing.T
	ctx context.Context
	*local.Local
}

func newLaptop(t *testing.T) *laptop {
	t.Helper()
	l, err := local.Start(t.Context(), local.Options{Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(), SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return &laptop{t, ctx, l}
}

func (l *laptop) call(method, address string, header http.Header, body string) (int, string) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.ctx, method, address, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func (l *laptop) post(address string, f url.Values, set ...string) string {
	l.t.Helper()
	for n := 0; n+1 < len(set); n += 2 {
		f.Set(set[n], set[n+1])
	}
	status, page := l.call(http.MethodPost, address, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, f.Encode())
	if status != http.StatusOK {
		l.t.Fatalf("%v: %d %s", f, status, noticeText.FindString(page))
	}
	return page
}

// until reads a page again and again until it has what is waited for.
func (l *laptop) until(address, has string) string {
	l.t.Helper()
	for l.ctx.Err() == nil {
		if _, page := l.call(http.MethodGet, address, nil, ""); strings.Contains(page, has) {
			return page
		}
	}
	l.t.Fatalf("%s never showed %q", address, has)
	return ""
}

// invited is the n-th link and code that were mailed, from 1.
func (l *laptop) invited(n int) (link, code string) {
	l.t.Helper()
	for l.ctx.Err() == nil {
		var links, codes []string
		for _, m := range l.Outbox.Messages() {
			links = append(links, m.Links...)
			if _, after, ok := strings.Cut(m.Text, "Code: "); ok {
				codes = append(codes, strings.Fields(after)[0])
			}
		}
		if len(codes) >= n && len(links) >= n {
			return links[n-1], codes[n-1]
		}
	}
	l.t.Fatalf("invitation %d never came", n)
	return "", ""
}

func (l *laptop) start() (link, code string) {
	l.t.Helper()
	body := strings.ReplaceAll(`{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"r1","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":"c1","first_name":"Ada","email":"ada@example.com","due":"2026-12-24T09:00:00Z"}}`, "\n", "")
	header, err := l.Sign("shopify-flow", "m1", []byte(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if status, page := l.call(http.MethodPost, l.Hooks+"/shopify-flow", header, body); status/100 != 2 {
		l.t.Fatalf("%d %s", status, page)
	}
	return l.invited(1)
}

func (l *laptop) effects(name string) int { return l.Sim.Effects()[name].Effects }

// bothAsked is on the page once both questions are written; the mails go out before them.
const bothAsked = "One answer for <strong>crm_task</strong>, <strong>email</strong>."

// The page's run again, deliberate second and their approvals, on the real product.
func TestR08_AgainReusesAndSecondIsOne(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	link, code := l.start()
	page := l.until(link, bothAsked)
	l.post(link, form(t, page, "answer"), "answer", "approve", "code", code)
	page = l.until(link, "The run: Done")

	l.post(link, form(t, page, `value="again"`), "code", code)
	page = l.until(link, "The run: Done")
	if a, b := l.effects("hubspot"), l.effects("resend"); a != 1 || b != 1 {
		t.Fatalf("after run again: %d tasks and %d e-mails", a, b)
	}

	second := form(t, page, `value="second"`)
	if second.Get("stage") != "crm_task" {
		t.Fatalf("the first second is of %q", second.Get("stage"))
	}
	first := l.post(link, second, "code", code)
	if again := l.post(link, second, "code", code); noticeText.FindString(first) != noticeText.FindString(again) {
		t.Errorf("a double click made another: %s", noticeText.FindString(again))
	}
	link2, code2 := l.invited(2)
	page = l.until(link2, `name="answer"`)
	if !strings.Contains(page, "(a deliberate second)") || l.effects("hubspot") != 1 {
		t.Fatal("the second is not called so, or was sent before its approval")
	}
	l.post(link2, form(t, page, "answer"), "answer", "approve", "code", code2)
	l.until(link2, "The run: Done")
	if a, b := l.effects("hubspot"), l.effects("resend"); a != 2 || b != 1 {
		t.Errorf("after the deliberate second: %d tasks and %d e-mails; want 2 and 1", a, b)
	}
}

func TestR07_StopWithdrawsOnThePage(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	link, code := l.start()
	page := l.until(link, bothAsked)
	approve := form(t, page, "answer")
	told := l.post(link, form(t, page, `value="stop"`), "how", "wrong campaign", "code", code)
	if !strings.Contains(told, "Stopped: 2 withdrawn") || !strings.Contains(told, "The run: Stopped") || strings.Contains(told, `name="answer"`) {
		t.Errorf("after stop: %s", noticeText.FindString(told))
	}
	approve.Set("answer", "approve")
	approve.Set("code", code)
	status, page := l.call(http.MethodPost, link, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, approve.Encode())
	if status != http.StatusConflict || l.effects("hubspot") != 0 {
		t.Errorf("approved after stop: %d, %s", status, noticeText.FindString(page))
	}
}
