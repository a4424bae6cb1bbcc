package local

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/internal/target"
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
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS %s/shopify-flow", l.Hooks)
	for _, h := range slices.Sorted(keys(header)) {
		fmt.Fprintf(&b, " \\\n  -H '%s: %s'", h, header.Get(h))
	}
	fmt.Fprintf(&b, " \\\n  -d '%s'", body)
	return Example{Flow: name, Curl: b.String()}, true
}

func keys(h http.Header) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range h {
			if !yield(k) {
				return
			}
		}
	}
}

// Sign makes the headers that a source's sender would send with a body now.
func (l *Local) Sign(name, id string, body []byte) (http.Header, error) {
	configs, err := sourcefile.Load(l.options.Sources)
	if err != nil {
		return nil, err
	}
	for _, c := range configs {
		if c.Name == name {
			return source.Sign(c, source.NewSecret(l.Secrets["sources/"+name]), id, l.Clock.Now(), body)
		}
	}
	return nil, fmt.Errorf("no source is named %q", name)
}

// Announced is what a running laptop tells other commands of this user.
type Announced struct {
	Addresses   Addresses         `json:"addresses"`
	Environment map[string]string `json:"environment"`
	Secrets     Secrets           `json:"secrets"`
	// Destinations are where the laptop sends to, so that no other command freezes another address into content.
	Destinations map[string]target.Destination `json:"destinations"`
	FlowsDir     string                        `json:"flows_dir,omitempty"`
	TargetsDir   string                        `json:"targets_dir,omitempty"`
}

// Announcement is where a running laptop is announced to this user's other commands.
func Announcement() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "holdfast", "local.json"), nil
}

// Announce writes the addresses and what the commands need to read the ledger to a file that only this user can read,
// and answers how to take it back.
// The directories are those of the user's own files, or empty.
func (l *Local) Announce(flowsDir, targetsDir string) (func(), error) {
	path, err := Announcement()
	if err != nil {
		return func() {}, nil // without a home the other commands are told by the environment
	}
	raw, err := json.Marshal(Announced{Addresses: l.Addresses, Secrets: l.Secrets, Destinations: l.Destinations, FlowsDir: absolute(flowsDir), TargetsDir: absolute(targetsDir), Environment: map[string]string{
		"HOLDFAST_TABLE": l.Config.Table, "HOLDFAST_STATE_MACHINE": l.Config.Machine, "HOLDFAST_STACK": l.Config.Stack,
		"HOLDFAST_OWNER": string(l.Config.Owner), "HOLDFAST_REVIEW_URL": l.Config.Review, "HOLDFAST_SMTP": l.Config.SMTP,
		"HOLDFAST_MAIL_FROM": l.Config.MailFrom, "HOLDFAST_FUNCTION_TIMEOUT_S": "60",
	}})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, nil
}

func absolute(dir string) string {
	if dir == "" {
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
