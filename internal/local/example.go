package local

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"holdfast/internal/source"
)

// Example is a ready call that starts a flow.
type Example struct {
	Flow string
	Curl string
}

// exampleBody starts the shipped flow campaign-follow-up; its ids are made anew for each start.
const exampleBody = `{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"%s","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":"%s","first_name":"Ada","email":"ada@example.com","due":"2026-12-24T09:00:00Z"}}`

// Example makes a signed call for the shipped flow; false when other flows run.
func (l *Local) Example() (Example, bool) {
	const name = "campaign-follow-up"
	if _, ok := l.App.Flows[name]; !ok {
		return Example{}, false
	}
	body := fmt.Sprintf(exampleBody, l.newID("run"), l.newID("c"))
	header, err := l.Sign("shopify-flow", l.newID("msg"), []byte(body))
	if err != nil {
		return Example{}, false
	}
	return Example{Flow: name, Curl: Curl(l.Hooks+"/shopify-flow", header, []byte(body))}, true
}

// Curl is the call of a POSIX shell that posts a body with these headers.
func Curl(url string, header http.Header, body []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS %s", url)
	for _, h := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, " \\\n  -H %s", quoted(h+": "+header.Get(h)))
	}
	fmt.Fprintf(&b, " \\\n  --data-binary %s", quoted(string(body)))
	return b.String()
}

// quoted is one word for a POSIX shell, whatever it holds.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Sign makes the headers that a source's sender would send with a body now.
func (l *Local) Sign(name, id string, body []byte) (http.Header, error) {
	for _, c := range l.sources {
		if c.Name == name {
			return source.Sign(c, source.NewSecret(l.Secrets["sources/"+name]), id, l.Clock.Now(), body)
		}
	}
	return nil, fmt.Errorf("no source is named %q", name)
}
