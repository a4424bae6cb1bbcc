package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/operation"
)

// badHook is a notification that is not taken in.
type badHook struct {
	name   string
	source string
	header func(http.Header)
	body   []byte
	status int
	says   string // part of the message
}

const secretText = "very-private-value"

func badHooks() []badHook {
	good := followUp("r1", "c1")
	deep := append(append([]byte(`{"shop_id":7,"a":`), bytes.Repeat([]byte("["), 5000)...), append(bytes.Repeat([]byte("]"), 5000), '}')...)
	none := func(http.Header) {}
	drop := func(h http.Header) {
		for k := range h {
			if strings.Contains(strings.ToLower(k), "hmac") || strings.Contains(strings.ToLower(k), "signature") {
				h.Del(k)
				delete(h, k)
			}
		}
	}
	wrong := func(h http.Header) {
		for k := range h {
			if strings.Contains(strings.ToLower(k), "hmac") {
				h[k] = []string{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
			}
		}
	}
	return []badHook{
		{"unsigned", "shopify-flow", drop, good, 401, "signature"},
		{"wrongly signed", "shopify-flow", wrong, good, 401, "signature"},
		{"not JSON", "shopify-flow", none, []byte(`{"shop_id":` + secretText), 400, "JSON"},
		{"an empty body", "shopify-flow", none, nil, 400, ""},
		{"JSON too deep", "shopify-flow", none, deep, 400, "deep"},
		{"an unknown source", "nobody", none, good, 404, "source"},
	}
}

// TestR13_BadNotificationsChangeNothing: a precise message, a status, and an unchanged table.
func TestR13_BadNotificationsChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliver("shopify-flow", "m0", followUp("r0", "c0"))
	w.quiesce()
	was := w.dump()
	for _, bad := range badHooks() {
		source := bad.source
		if source == "nobody" {
			source = "shopify-flow"
		}
		header, err := w.local.Sign(source, "m1", bad.body)
		must(t, err)
		bad.header(header)
		w.wantRefused(bad.name, w.do(http.MethodPost, w.local.Hooks+"/"+bad.source, header, bad.body), bad.status, bad.says, was)
	}
	header, err := w.local.Sign("standard", "s1", oneEvent("1"))
	must(t, err)
	w.clock.Move(10 * time.Minute)
	w.wantRefused("a stale signature", w.do(http.MethodPost, w.local.Hooks+"/standard", header, oneEvent("1")), 401, "", was)
}

func (w *world) wantRefused(name string, a answered, status int, says, was string) {
	w.t.Helper()
	if a.status != status || !strings.Contains(a.body, says) || a.body == "" {
		w.t.Errorf("%s: %d %s; want %d and words about %q", name, a.status, a.body, status, says)
	}
	w.t.Logf("%-24s %d %s", name, a.status, strings.TrimSpace(a.body))
	w.wantNothingEchoed(name, a)
	if now := w.dump(); now != was {
		w.t.Errorf("%s changed the table", name)
	}
}

func (w *world) wantNothingEchoed(name string, a answered) {
	w.t.Helper()
	for _, secret := range w.local.Secrets {
		if strings.Contains(a.body, secret) {
			w.t.Errorf("%s: the answer shows a secret", name)
		}
	}
	if strings.Contains(a.body, secretText) || strings.Contains(a.body, "ada@example.com") {
		w.t.Errorf("%s: the answer shows what was sent: %s", name, a.body)
	}
}

// TestR13_WhatCannotBeNamedIsRecordedAndHeld: a genuine notification that is too large, or whose identity is blank, is
// kept and waits for its owner.
func TestR13_WhatCannotBeNamedIsRecordedAndHeld(t *testing.T) {
	t.Parallel()
	large := append(followUp("r1", "c1"), bytes.Repeat([]byte(" "), 2<<20)...)
	for name, body := range map[string][]byte{
		"oversize":       large,
		"blank identity": bytes.Replace(followUp("r1", "c1"), []byte(`"r1"`), []byte(`"  "`), 1),
		"no account":     bytes.Replace(followUp("r1", "c1"), []byte(`"shop_id":7,"shopify_domain":"demo.myshopify.com",`), nil, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.send("shopify-flow", "m1", body)
			w.wantNothingEchoed(name, a)
			s := w.table()
			t.Logf("%d %s", a.status, a.body)
			if len(s.events) != 1 || len(s.runs) != 0 {
				t.Fatalf("%d %s: %d events, %d runs; want the event held", a.status, a.body, len(s.events), len(s.runs))
			}
			for _, e := range s.events {
				if e.Status != operation.EventHeld || a.status/100 != 2 {
					t.Errorf("%d, event %s %s; want 2xx and held", a.status, e.Status, e.Reason)
				}
			}
			must(t, s.nobodyWaits())
		})
	}
}

// TestCaseB025_MangledLinks: a link that a mail client or a scanner changed shows a friendly page and changes nothing.
func TestCaseB025_MangledLinks(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	if strings.ContainsAny(inv.link, "%+/= ") || url.PathEscape(inv.link) != inv.link || strings.ToLower(inv.link) != inv.link {
		t.Fatalf("the link %q needs encoding", inv.link)
	}
	was := w.dump()
	for _, mangled := range []string{
		inv.link + "=x", inv.link[1:], inv.link + inv.link, "l", "..%2f..%2fstack",
		"%00", strings.Repeat("a", 3000), "%F0%9F%98%80", "op%23x", "' OR 1=1",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			a := w.do(method, w.local.Review+"/"+strings.ReplaceAll(mangled, " ", "%20"), nil, nil)
			if a.status/100 != 4 {
				t.Errorf("%s %.40q: %d, want 4xx", method, mangled, a.status)
			}
		}
	}
	if now := w.dump(); now != was {
		t.Error("a mangled link changed the table")
	}
	for _, add := range []string{"?utm_source=x", "%3E", ".", ">"} {
		if a := w.do(http.MethodGet, w.page(inv)+add, nil, nil); a.status != http.StatusOK || !strings.Contains(a.body, `<form method="post"`) {
			t.Errorf("a link to which a mail client added %q: %d", add, a.status)
		}
	}
}

// TestR13_BadFormsChangeNothing: what is missing is said before the code is counted.
func TestR13_BadFormsChangeNothing(t *testing.T) {
	t.Parallel()
	w, inv := asked(t)
	good, _ := w.form(inv)
	approve(good)
	was := w.dump()
	for name, change := range map[string]func(url.Values){
		"no answer":        func(v url.Values) { v.Del("answer") },
		"no code":          func(v url.Values) { v.Del("code") },
		"no revision":      func(v url.Values) { dropPrefix(v, "rev.") },
		"odd minutes":      func(v url.Values) { v.Set("minutes", "-3") },
		"huge minutes":     func(v url.Values) { v.Set("minutes", "99999999999999999999") },
		"a huge form":      func(v url.Values) { v.Set("how", strings.Repeat("x", 1<<20)) },
		"a long word":      func(v url.Values) { v.Set("how", strings.Repeat("x", 5000)) },
		"many more fields": func(v url.Values) { manyFields(v) },
		"exists, no ref":   func(v url.Values) { v.Set("answer", "exists") },
	} {
		form := url.Values{}
		for k, v := range good {
			form[k] = append([]string(nil), v...)
		}
		change(form)
		a := w.post(inv, form)
		if a.status/100 != 4 {
			t.Errorf("%s: %d %s, want 4xx", name, a.status, notice(a.body))
		}
		t.Logf("%-18s %d %s", name, a.status, notice(a.body))
		if now := w.dump(); now != was {
			t.Errorf("%s changed the table", name)
		}
	}
	if a := w.do(http.MethodPost, w.page(inv), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte("%zz=%")); a.status/100 != 4 {
		t.Errorf("a form that does not read: %d", a.status)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		if a := w.do(method, w.page(inv), nil, nil); a.status/100 != 4 {
			t.Errorf("%s: %d, want 4xx", method, a.status)
		}
	}
	unknown := url.Values{}
	for k, v := range good {
		unknown[k] = v
	}
	unknown.Set("answer", "do_it_all")
	if a := w.post(inv, unknown); a.status == http.StatusOK {
		t.Errorf("an unknown answer was taken: %s", notice(a.body))
	}
	w.wantEffects(0, 0)
	if a := w.post(inv, good); a.status != http.StatusOK {
		t.Errorf("after all that the person's own form: %d %s", a.status, notice(a.body))
	}
	w.settle()
	w.wantEffects(1, 1)
}

func dropPrefix(v url.Values, prefix string) {
	for k := range v {
		if strings.HasPrefix(k, prefix) {
			v.Del(k)
		}
	}
}

func manyFields(v url.Values) {
	for i := range 30000 {
		v.Set(fmt.Sprint("field-number-", i), "x")
	}
}
