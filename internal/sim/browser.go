package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// press sends a form. It answers the page's status; 0 when no page came.
func (p *person) press(inv invitation, link ledger.Link, form url.Values) int {
	return p.request(inv, link, http.MethodPost, form)
}

// request sends a form in the body, or, where nothing may come of it, in the address. What has a wrong code is in
// nobody's name.
func (p *person) request(inv invitation, link ledger.Link, method string, form url.Values) int {
	req := events.APIGatewayV2HTTPRequest{Version: "2.0", PathParameters: map[string]string{"link": inv.link}, Headers: map[string]string{}}
	req.RequestContext.HTTP.Method = method
	if method == http.MethodPost {
		req.Headers["content-type"] = "application/x-www-form-urlencoded"
		req.Body = form.Encode()
	} else {
		req.RawQueryString = form.Encode()
	}
	raw, err := json.Marshal(req)
	if err != nil {
		panic(err)
	}
	p.w.reach("R11")
	out, err := p.w.invoke("ReviewFunction", raw, func(c *invocation) {
		c.get, c.form, c.question, c.other = method == http.MethodGet, form, link.Question, form.Has(otherContent)
		if form.Get("code") == inv.code {
			c.person = string(p.name)
		}
	})
	p.w.tellPage(method, form, out, err)
	var page events.APIGatewayV2HTTPResponse
	if err != nil || json.Unmarshal(out, &page) != nil {
		return 0
	}
	return page.StatusCode
}

// with is a form with one other value.
func with(f url.Values, name, value string) url.Values {
	out := maps.Clone(f)
	out.Set(name, value)
	return out
}

// wrong is a code that nobody was sent.
func (p *person) wrong() string { return fmt.Sprintf("WRONG%03d", p.w.tape.draw(p.w.current(), 1000)) }

// otherContent marks a form whose page showed other content. The product knows no such field.
const otherContent = "other-content"

// fromOtherPage answers as from a page that showed other content.
func (p *person) fromOtherPage(inv invitation, link ledger.Link, f url.Values) {
	other := with(f, otherContent, "1")
	found := false
	for name := range f {
		if strings.HasPrefix(name, "digest.") {
			other.Set(name, string(ledger.DigestOf([]byte("other content"))))
			found = true
		}
	}
	if found {
		p.press(inv, link, other)
	}
}

// throughOldLinks answers the present question through the links of the run's other questions.
func (p *person) throughOldLinks(inv invitation, f url.Values) {
	for _, old := range p.invited {
		if old.link == inv.link || old.run != inv.run {
			continue
		}
		if link, err := p.w.peek.Link(context.Background(), ledger.LinkID(old.link)); err == nil {
			p.press(old, link, with(f, "code", old.code))
		}
	}
}

// guess has somebody else try out codes, more than a link takes.
func (p *person) guess(inv invitation, link ledger.Link) {
	forms := p.forms(link)
	if len(forms) == 0 {
		return
	}
	taken := 0
	for range 2 * ledger.LinkTriesMax {
		if p.press(inv, link, with(forms[0], "code", p.wrong()))/100 == 4 {
			taken++
		}
	}
	if taken <= ledger.LinkTriesMax {
		return // faults kept some from being counted
	}
	// Now even the right code, which a longer search would have found, is worth nothing.
	stranger := inv
	stranger.code = ""
	for _, f := range p.forms(link) {
		p.press(stranger, link, with(f, "code", inv.code))
	}
}

// remind asks for new links and codes where the old ones are spent, as `holdfast remind` does.
func (p *person) remind(run operation.RunID) {
	process, err := p.w.boot()
	if err == nil {
		_, err = process.app.Desk.Remind(context.Background(), run)
	}
	p.w.tell("reminded: %v", err)
}
