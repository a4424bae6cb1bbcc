package source_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast/internal/source"
)

func TestFieldsReadAndWriteTheSameForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"header.X-Shopify-Topic", "signed.id", "signed.timestamp", "body.a", "body.a.b-c.d", "value.main", "value.a.b"} {
		f, err := source.ParseField(text)
		if err != nil || f.String() != text {
			t.Errorf("%q is read as %q, error %v", text, f, err)
		}
	}
	for _, text := range []string{"", "body", "body.", "body.a..b", "signed.body", "header. X", "value. ", "topic.x", strings.Repeat("body.a", source.FieldBytesMax)} {
		if _, err := source.ParseField(text); err == nil || !strings.Contains(err.Error(), "write header.NAME") || len(err.Error()) > 2*source.FieldBytesMax {
			t.Errorf("%.20q: error %v, want one that says what to write", text, err)
		}
	}
}

func TestR13_ConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*source.Config){
		"lower-case letters":            func(c *source.Config) { c.Name = "CRM" },
		`kind "magic" is unknown`:       func(c *source.Config) { c.Kind = "magic" },
		"no account":                    func(c *source.Config) { c.Account = nil },
		"no topic":                      func(c *source.Config) { c.Topic = nil },
		"tolerance must be":             func(c *source.Config) { c.Tolerance = 2 * time.Hour },
		"retry horizon must be":         func(c *source.Config) { c.RetryHorizon = 0 },
		`answer "" is unknown`:          func(c *source.Config) { c.Answer = "" },
		"no documentation page":         func(c *source.Config) { c.Facts = nil },
		"documentation needs a page":    func(c *source.Config) { c.Facts[0].Checked = "lately" },
		"the hmac section belongs":      func(c *source.Config) { c.HMAC = nil },
		"encoding \"rot13\" is unknown": func(c *source.Config) { c.HMAC.Encoding = "rot13" },
		"no signature header":           func(c *source.Config) { c.HMAC.Header = "" },
		"{id} belong together":          func(c *source.Config) { c.HMAC.ID = "" },
		"{timestamp} belong together":   func(c *source.Config) { c.HMAC.Timestamp = "" },
		"event_id has 9 fields":         func(c *source.Config) { c.EventID = fields(strings.Split(strings.Repeat("body.a ", 9), " ")[:9]...) },
		`"nowhere.x" is no field`:       func(c *source.Config) { c.Topic = []source.Field{{From: "nowhere", Name: "x"}} },
	} {
		c := genericConfig()
		change(&c)
		_, err := source.NewSet([]source.Config{c}, func(context.Context, string) ([]source.Secret, error) { return nil, nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	twice := []source.Config{genericConfig(), genericConfig()}
	if _, err := source.NewSet(twice, func(context.Context, string) ([]source.Secret, error) { return nil, nil }); err == nil {
		t.Error("two sources of one name were accepted")
	}
	if _, err := source.NewSet(nil, nil); err == nil {
		t.Error("a set without a way to secrets was accepted")
	}
}

// The webhook function links this package and must start fast: no YAML, no expressions, no AWS client.
func TestTheWebhookLinksNothingHeavy(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "holdfast/internal/source").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path := strings.TrimSpace(line)
		allowed := path == "" || path == "holdfast/internal/source" || path == "holdfast/internal/identity" || strings.HasPrefix(path, "github.com/go-json-experiment/json")
		if !allowed {
			t.Errorf("internal/source links %s", path)
		}
	}
}
