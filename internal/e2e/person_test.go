package e2e

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// answered is what came back over HTTP.
type answered struct {
	status int
	body   string
	header http.Header
}

func (w *world) do(method, url string, header http.Header, body []byte) answered {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(string(body)))
	must(w.t, err)
	for k, v := range header {
		r.Header[k] = v
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	must(w.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(w.t, err)
	return answered{resp.StatusCode, string(raw), resp.Header}
}

// followUp is the body of the shipped flow's event.
func followUp(id, customer string) []byte {
	return fmt.Appendf(nil, `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"%s","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":"%s","first_name":"Ada","email":"ada@example.com","due":"2026-12-24T09:00:00Z"}}`, id, customer)
}

// send delivers a signed notification once.
func (w *world) send(source, id string, body []byte) answered {
	w.t.Helper()
	header, err := w.local.Sign(source, id, body)
	must(w.t, err)
	return w.do(http.MethodPost, w.local.Hooks+"/"+source, header, body)
}

// deliver sends until the sender hears 2xx, as senders do.
func (w *world) deliver(source, id string, body []byte) answered {
	w.t.Helper()
	for range 6 {
		w.revive()
		if a := w.send(source, id, body); a.status/100 == 2 {
			return a
		}
	}
	w.t.Fatalf("never accepted: %+v", w.send(source, id, body))
	return answered{}
}

// invitation is a link and the code that was sent apart from it.
type invitation struct{ to, link, code string }

var (
	linkText  = regexp.MustCompile(`/review/([a-z0-9_]+)`)
	codeText  = regexp.MustCompile(`Code: ([A-Z0-9]+)`)
	formText  = regexp.MustCompile(`(?s)<form method="post".*?</form>`)
	fieldText = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
)

// invitations are all that were mailed, the newest first.
func (w *world) invitations() []invitation {
	var out []invitation
	link := map[string]string{}
	for _, m := range w.mails() {
		to := m.To[0]
		if f := linkText.FindStringSubmatch(m.Text); f != nil {
			link[to] = f[1]
		} else if f := codeText.FindStringSubmatch(m.Text); f != nil && link[to] != "" {
			out = append(out, invitation{to, link[to], f[1]})
		}
	}
	slices.Reverse(out)
	return out
}

func (w *world) page(inv invitation) string { return w.local.Review + "/" + inv.link }

// form is the page's first form that asks for an answer, as a browser would send it.
func (w *world) form(inv invitation) (url.Values, bool) {
	w.t.Helper()
	a := w.do(http.MethodGet, w.page(inv), nil, nil)
	text := ""
	for _, f := range formText.FindAllString(a.body, -1) {
		if strings.Contains(f, `name="answer"`) {
			text = f
			break
		}
	}
	if a.status != http.StatusOK || text == "" {
		return nil, false
	}
	out := url.Values{"code": {inv.code}}
	for _, f := range fieldText.FindAllStringSubmatch(text, -1) {
		out.Set(html.UnescapeString(f[1]), html.UnescapeString(f[2]))
	}
	return out, true
}

func (w *world) post(inv invitation, form url.Values) answered {
	w.t.Helper()
	return w.do(http.MethodPost, w.page(inv), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte(form.Encode()))
}

type reply func(url.Values)

func approve(v url.Values) { v.Set("answer", "approve") }
func decline(v url.Values) { v.Set("answer", "decline") }

func exists(reference string) reply {
	return func(v url.Values) {
		v.Set("answer", "exists")
		v.Set("reference", reference)
	}
}

func nothingHappened(v url.Values) {
	v.Set("answer", "nothing_happened")
	v.Set("how", "looked in the target's own list")
}

// answer gives an answer through the newest link whose page asks; false when none asks.
func (w *world) answer(r reply) bool {
	w.t.Helper()
	return w.answerTo("", r)
}

// answerTo gives an answer as one person; "" stands for whoever is asked.
func (w *world) answerTo(person string, r reply) bool {
	w.t.Helper()
	for _, inv := range w.invitations() {
		if person != "" && inv.to != person {
			continue
		}
		form, open := w.form(inv)
		if w.probe.isDead() {
			return true
		}
		if !open {
			continue
		}
		r(form)
		if a := w.post(inv, form); a.status != http.StatusOK && !w.probe.hasFired() {
			w.t.Fatalf("the answer was not taken: %d %s", a.status, notice(a.body))
		}
		return true
	}
	return false
}

var noticeText = regexp.MustCompile(`role="status">([^<]*)<`)

func notice(body string) string {
	if f := noticeText.FindStringSubmatch(body); f != nil {
		return html.UnescapeString(f[1])
	}
	return body
}
