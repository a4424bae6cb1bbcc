//go:build browser

package web_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"holdfast/flows"
	"holdfast/internal/local"
	"holdfast/internal/local/simtarget"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

// patience bounds one test; nothing in it waits for a fixed time.
const patience = 90 * time.Second

// browser is a laptop and a browser in front of it, as a reviewer has them.
type browser struct {
	t     *testing.T
	ctx   context.Context
	local *local.Local
	shots string
}

func newBrowser(t *testing.T, o local.Options) *browser {
	t.Helper()
	o.Targets, o.Sims, o.Sources, o.SweepEvery = targets.FS, sim.FS, sources.Files(), -1
	l, err := local.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	options := []chromedp.ExecAllocatorOption{chromedp.NoFirstRun, chromedp.NoSandbox, chromedp.Headless,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true)}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	tab, closeTab := chromedp.NewContext(allocator)
	if err := chromedp.Run(tab); err != nil { // the browser lives as long as this context
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tab, patience)
	t.Cleanup(func() { // the allocator removes the browser's folder, and nobody minds what a late child process leaves in it
		cancel()
		closeTab()
		stop()
		chromedp.FromContext(tab).Allocator.Wait()
	})
	b := &browser{t: t, ctx: ctx, local: l, shots: os.Getenv("HOLDFAST_SCREENSHOTS")}
	if b.shots == "" {
		b.shots = t.TempDir()
	}
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// text is what a person reads. It is asked of the page in one call: a node looked up first can be gone before it is read.
func (b *browser) text() string {
	b.t.Helper()
	var out string
	b.run(chromedp.Evaluate(`document.body.innerText`, &out))
	return out
}

// until opens an address again and again until its text has what is waited for.
func (b *browser) until(url, has string) string {
	b.t.Helper()
	for b.ctx.Err() == nil {
		b.run(chromedp.Navigate(url))
		if text := b.text(); strings.Contains(text, has) {
			return text
		}
	}
	b.t.Fatalf("%s never showed %q", url, has)
	return ""
}

// shot keeps a picture of the whole page, wide and light or narrow and dark.
func (b *browser) shot(name string, width int64, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	var png []byte
	var wide bool
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, 900), chromedp.FullScreenshot(&png, 100),
		chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &wide))
	if wide {
		b.t.Errorf("%s is wider than a screen of %d pixels", name, width)
	}
	if err := os.WriteFile(filepath.Join(b.shots, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) shotBoth(name string) {
	b.t.Helper()
	b.shot(name+"-wide", 1000, false)
	b.shot(name+"-phone-dark", 380, true)
}

var (
	codeShown = regexp.MustCompile(`Code: (\S+)`)
	linkShown = regexp.MustCompile(`http://\S+/review/\S+`)
)

// mails waits for the newest link and code for a person. They come in two mails, and the second may be on its way.
func (b *browser) mails(person string) (link, code string) {
	b.t.Helper()
	for b.ctx.Err() == nil {
		b.until(b.local.Addresses.Outbox, person)
		if link, code = b.read(person); link != "" && code != "" {
			return link, code
		}
	}
	b.t.Fatalf("no link and code for %s", person)
	return "", ""
}

// read goes through a person's mails on the outbox page as a person does: the list, then each mail.
func (b *browser) read(person string) (link, code string) {
	b.t.Helper()
	var hrefs []string
	b.run(chromedp.Evaluate(`[...document.querySelectorAll("tr")].filter(r => r.innerText.includes("`+person+`")).map(r => r.querySelector("a").href)`, &hrefs))
	for _, href := range hrefs {
		b.run(chromedp.Navigate(href))
		text := b.text()
		if f := codeShown.FindStringSubmatch(text); f != nil && code == "" {
			code = f[1]
		}
		if f := linkShown.FindString(text); f != "" && link == "" {
			link = f
		}
	}
	return link, code
}

// tabTo presses Tab until the field is reached; without a mouse there is no other way.
func (b *browser) tabTo(selector string) {
	b.t.Helper()
	for range 100 {
		var there bool
		b.run(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(`document.activeElement.matches('`+selector+`')`, &there))
		if there {
			return
		}
	}
	b.t.Fatalf("%s is not reached by keyboard", selector)
}

// press types and waits for the page that the form leads to.
func (b *browser) press(keys string) {
	b.t.Helper()
	loaded := make(chan struct{})
	listen, cancel := context.WithCancel(b.ctx)
	defer cancel()
	chromedp.ListenTarget(listen, func(ev any) {
		if _, ok := ev.(*page.EventLoadEventFired); ok {
			cancel()
			close(loaded)
		}
	})
	b.run(chromedp.KeyEvent(keys))
	select {
	case <-loaded:
	case <-b.ctx.Done():
		b.t.Fatal("the form led nowhere")
	}
}

func (b *browser) send(source, id, body string) {
	b.t.Helper()
	header, err := b.local.Sign(source, id, []byte(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.ctx, http.MethodPost, b.local.Hooks+"/"+source, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		b.t.Fatalf("the notification was answered %d", resp.StatusCode)
	}
}

const followUp = `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"r1","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":"c1","first_name":"Ada \u2028 </pre><script>document.title='run'</script> 👩‍👩‍👧","email":"ada@example.com","due":"2026-12-24T09:00:00Z"}}`

func TestBrowser_ApproveByKeyboard(t *testing.T) {
	b := newBrowser(t, local.Options{Flows: flows.FS})
	b.run(chromedp.Navigate(b.local.Console))
	b.shotBoth("home")
	b.send("shopify-flow", "m1", followUp)
	link, code := b.mails("reviewer@example.com")
	b.shotBoth("mail")
	b.run(chromedp.Navigate(b.local.Addresses.Outbox))
	b.shotBoth("outbox")
	b.until(link, "One answer for crm_task, email.")
	b.shotBoth("approve")
	var title string
	b.run(chromedp.Title(&title))
	if title != "Review · Holdfast" {
		t.Errorf("content ran in the page: title %q", title)
	}
	b.tabTo(`input[name="answer"]`)
	b.run(chromedp.KeyEvent(" "))
	b.tabTo(`input[name="code"]`)
	b.run(chromedp.KeyEvent(strings.ToLower(code)))
	b.press(kb.Enter)
	if text := b.text(); !strings.Contains(text, "Your decision is recorded") || strings.Contains(text, "Your decision is needed") {
		t.Fatalf("after Enter: %.300s", text)
	}
	b.shotBoth("approved")
	text := b.until(link, "The run: Done")
	if strings.Count(text, "Confirmed") < 2 {
		t.Errorf("not every stage is confirmed: %.400s", text)
	}
	b.shotBoth("done")
	for _, name := range []string{"hubspot", "resend"} {
		if text := b.until(b.local.Targets, "1 effects"); !strings.Contains(text, name) {
			t.Errorf("%s is not on the page", name)
		}
	}
	b.shotBoth("targets")
	b.oneEffectEach("hubspot", "resend")
}

// oneEffectEach reads the numbers beside each target's heading on its page.
func (b *browser) oneEffectEach(names ...string) {
	b.t.Helper()
	for _, name := range names {
		var first string
		b.run(chromedp.Evaluate(`[...document.querySelectorAll("section")].filter(s => s.querySelector("h2").innerText == "`+name+`").map(s => s.innerText.match(/(\d+) effects?,/)[1]).join()`, &first))
		if first != "1" {
			b.t.Errorf("%s shows %q effects; want 1", name, first)
		}
	}
}

// alone is a flow whose only target has no protection and cannot be asked.
var alone = fstest.MapFS{"alone.yaml": {Data: []byte(`flow: alone
version: 1
owner: ops-lead@example.com
trigger: { source: standard, topic: alone.requested }
approval: { reviewers: [reviewer@example.com], expires: 20h, valid: 48h }
send_within: 72h
stages:
  - name: effect
    key: [body.data.request_id]
    target: generic-none
    content:
      effect: { kind: gift, request: '${body.data.request_id}' }
`)}}

func TestBrowser_HeldThenResolvedWithReference(t *testing.T) {
	b := newBrowser(t, local.Options{Flows: alone})
	if _, err := b.local.Sim.SetFault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindLostAfterCommit, Count: 1}); err != nil {
		t.Fatal(err)
	}
	b.send("standard", "m2", `{"type":"alone.requested","timestamp":"`+b.local.Clock.Now().Format(time.RFC3339)+`","data":{"request_id":"g1"}}`)
	link, code := b.mails("reviewer@example.com")
	b.until(link, "May this be sent?")
	b.run(chromedp.Click(`input[value="approve"]`, chromedp.ByQuery))
	b.tabTo(`input[name="code"]`)
	b.run(chromedp.KeyEvent(code))
	b.press(kb.Enter)
	link, code = b.mails("ops-lead@example.com")
	b.local.Clock.Move(15 * time.Minute)
	b.until(link, "What happened?")
	b.shotBoth("held")
	b.run(chromedp.Navigate(b.local.Targets))
	var reference string
	b.run(chromedp.Evaluate(`[...document.querySelectorAll("section")].filter(s => s.querySelector("h2").innerText == "generic-none").map(s => s.querySelector("details td:nth-child(4)").textContent).join()`, &reference))
	if reference == "" {
		t.Fatal("the target shows no effect")
	}
	b.run(chromedp.Navigate(link), chromedp.Click(`input[value="exists"]`, chromedp.ByQuery))
	b.tabTo(`input[name="reference"]`)
	b.run(chromedp.KeyEvent(reference))
	b.tabTo(`textarea[name="how"]`)
	b.run(chromedp.KeyEvent("searched by request id"))
	b.shotBoth("resolving")
	b.tabTo(`input[name="code"]`)
	b.run(chromedp.KeyEvent(code))
	b.press(kb.Enter)
	if text := b.text(); !strings.Contains(text, "Your decision is recorded") {
		t.Fatalf("after Enter: %.300s", text)
	}
	text := b.until(link, "The run: Done")
	if !strings.Contains(text, reference) {
		t.Error("the reference is not shown")
	}
	b.run(chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
	b.shotBoth("resolved")
	b.run(chromedp.Navigate(b.local.Targets))
	b.oneEffectEach("generic-none")
}
