package local_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/flows"
	"holdfast/internal/local"
	"holdfast/internal/target"
	"holdfast/targets/sim"
)

func TestExampleStartsItsFlow(t *testing.T) {
	t.Parallel()
	l := start(t, options(""))
	example, ok := l.Example()
	if !ok || example.Flow != "campaign-follow-up" {
		t.Fatalf("%+v", example)
	}
	l.Clock.Move(10 * time.Minute) // it may be pasted late
	for range 2 {
		if a := curl(t, example.Curl); a.status/100 != 2 || !strings.Contains(a.body, `"id":"run_`) {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	other, _ := l.Example()
	if other == example {
		t.Error("a second example is the same event")
	}
}

func TestNoExampleForOtherFlows(t *testing.T) {
	t.Parallel()
	raw, err := fs.ReadFile(flows.FS, "standing-follow-up.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := options("")
	o.Flows = fstest.MapFS{"standing-follow-up.yaml": {Data: raw}}
	if example, ok := start(t, o).Example(); ok {
		t.Errorf("%+v", example)
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	t.Parallel()
	l := start(t, options(""))
	all := []string{l.Hooks, l.Console, l.Addresses.Outbox, l.Targets, l.DynamoDB, l.Addresses.States, l.Review, l.Addresses.Clock, "smtp://" + l.Config.SMTP}
	for _, d := range l.Destinations {
		all = append(all, d.Base)
	}
	for _, address := range all {
		u, err := url.Parse(address)
		if err != nil || u.Port() == "" || u.Port() == "0" {
			t.Fatalf("%s: %v", address, err)
		}
		if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
			t.Errorf("%s is not loopback", address)
		}
	}
	if len(l.Destinations) < 5 {
		t.Errorf("only %d targets are simulated", len(l.Destinations))
	}
}

func TestWhoIsAnswered(t *testing.T) {
	t.Parallel()
	l := start(t, options(""))
	base := strings.TrimSuffix(l.Console, "/")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	tests := []struct {
		name, method, path string
		header             http.Header
		body               string
		status             int
	}{
		{"home", "GET", "/", nil, "", 200},
		{"home as localhost", "GET", "/", http.Header{"Host": {"localhost:" + port}}, "", 200},
		{"home as ::1", "GET", "/", http.Header{"Host": {"[::1]:" + port}}, "", 200},
		{"foreign name", "GET", "/", http.Header{"Host": {"evil.example"}}, "", 403},
		{"name that ends like ours", "GET", "/", http.Header{"Host": {"localhost.evil.example"}}, "", 403},
		{"foreign address", "POST", "/hooks/standard", http.Header{"Host": {"192.0.2.1"}}, "{}", 403},
		{"foreign page moves the clock", "POST", "/_local/clock", http.Header{"Origin": {"https://evil.example"}}, `{"by":"1h"}`, 403},
		{"foreign page by fetch metadata", "POST", "/_local/sweep", http.Header{"Sec-Fetch-Site": {"cross-site"}}, "", 403},
		{"foreign page decides", "POST", "/review/x", http.Header{"Origin": {"https://evil.example"}}, "", 403},
		{"foreign page sets a fault", "POST", "/_sim/faults", http.Header{"Origin": {"https://evil.example"}, "Content-Type": {"application/json"}}, "{}", 403},
		{"unsigned notification", "POST", "/hooks/standard", nil, "{}", 401},
		{"unknown source", "POST", "/hooks/nobody", nil, "{}", 404},
		{"HEAD is no route", "HEAD", "/review/linkofnobody", nil, "", 404},
		{"unknown link", "GET", "/review/linkofnobody", nil, "", 404},
		{"method that is no route", "PUT", "/review/linkofnobody", nil, "", 404},
		{"unknown page", "GET", "/nothing", nil, "", 404},
		{"clock back", "POST", "/_local/clock", nil, `{"by":"-1h"}`, 400},
		{"clock too far", "POST", "/_local/clock", nil, `{"by":"100000h"}`, 400},
		{"clock without words", "POST", "/_local/clock", nil, `tomorrow`, 400},
		{"sweep", "POST", "/_local/sweep", nil, "", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := ask(t, tt.method, base+tt.path, tt.header, tt.body)
			if a.status != tt.status {
				t.Errorf("%d %s", a.status, a.body)
			}
			if a.status >= 400 && tt.method != http.MethodHead && strings.TrimSpace(a.body) == "" {
				t.Error("refused without a word")
			}
		})
	}
	if moved := l.Clock.Offset(); moved != 0 {
		t.Errorf("the clock was moved by %s", moved)
	}
	foreign := http.Header{"Host": {"evil.example"}, "X-Amz-Target": {"DynamoDB_20120810.ListTables"}}
	for name, url := range map[string]string{"DynamoDB": l.DynamoDB, "Step Functions": l.Addresses.States} {
		if a := ask(t, "POST", url+"/", foreign, "{}"); a.status != http.StatusForbidden {
			t.Errorf("%s answers a page of a foreign name: %d", name, a.status)
		}
	}
}

// What is frozen with an address, or dated by a moved clock, is right again after a restart.
func TestDataDirectoryKeepsWhatTheLedgerReliesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first, err := local.Start(t.Context(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t, "POST", first.Addresses.Clock, nil, `{"by":"25h"}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	secrets, destinations := first.Secrets, first.Destinations
	closed(t, first)
	for _, name := range []string{"secrets.json", "laptop.json", "dynamodb/dynamo.db"} {
		private(t, filepath.Join(dir, name), 0o600)
	}
	if err := os.Chmod(filepath.Join(dir, "secrets.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	again := start(t, options(dir))
	if d := cmp.Diff(secrets, again.Secrets); d != "" {
		t.Error("other secrets")
	}
	if d := cmp.Diff(destinations, again.Destinations); d != "" {
		t.Error(d)
	}
	if got := again.Clock.Offset(); got != 25*time.Hour {
		t.Errorf("the clock is moved by %s", got)
	}
	private(t, filepath.Join(dir, "secrets.json"), 0o600)
}

func TestDataDirectoryRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "laptop.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	start(t, options(used))
	taken := t.TempDir()
	first, err := local.Start(t.Context(), options(taken))
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimPrefix(first.Destinations["hubspot-task"].Base, "http://")
	closed(t, first)
	other, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for dir, want := range map[string]string{
		filepath.Join(file, "x"): "name one that you may write with --data", broken: "laptop.json", used: "stop the `holdfast local` that uses it", taken: addr,
	} {
		l, err := local.Start(t.Context(), options(dir))
		if err == nil {
			closed(t, l)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	l := start(t, options(""))
	u, _ := url.Parse(l.Console)
	port := 0
	for _, c := range u.Port() {
		port = port*10 + int(c-'0')
	}
	onlyKey, err := fs.ReadFile(sim.FS, "generic-key.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*local.Options)
		want   string
	}{
		{"port in use", func(o *local.Options) { o.Port = port }, "--port 0"},
		{"flow file", func(o *local.Options) { o.Flows = fstest.MapFS{"bad.yaml": {Data: []byte("flow: bad\nwhat: 1\n")}} }, "bad.yaml:2"},
		{"flow to nowhere", func(o *local.Options) { o.Sims = fstest.MapFS{"generic-key.yaml": {Data: onlyKey}} }, "name a real server with --target"},
		{"unknown target", func(o *local.Options) {
			o.Destinations = map[string]target.Destination{"nobody": {Base: "http://127.0.0.1:1"}}
		}, "--target nobody: there is no such profile"},
		{"flow for no source", func(o *local.Options) {
			raw, _ := fs.ReadFile(flows.FS, "standing-follow-up.yaml")
			o.Flows = fstest.MapFS{"standing-follow-up.yaml": {Data: []byte(strings.Replace(string(raw), "source: standard", "source: nobody", 1))}}
		}, "there is no source nobody, so nothing would ever start this flow (allowed: shopify, shopify-flow, standard)"},
		{"source file", func(o *local.Options) { o.Sources = fstest.MapFS{"bad.yaml": {Data: []byte("x: 1\n")}} }, "bad.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := options("")
			tt.change(&o)
			l, err := local.Start(t.Context(), o)
			if err == nil {
				closed(t, l)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	l := start(t, options(""))
	var pages strings.Builder
	for _, url := range []string{l.Console, l.Addresses.Outbox, l.Addresses.Outbox + ".json", l.Targets, l.Addresses.Clock} {
		pages.WriteString(ask(t, "GET", url, nil, "").body)
	}
	raw, err := json.Marshal(l.Addresses)
	if err != nil {
		t.Fatal(err)
	}
	example, _ := l.Example()
	text := pages.String() + string(raw) + example.Curl
	for name, secret := range l.Secrets {
		if strings.Contains(text, secret) {
			t.Errorf("the secret %s is shown", name)
		}
	}
	if len(l.Secrets) < 4 {
		t.Errorf("only %d secrets", len(l.Secrets))
	}
}

func TestInvokeSaysWhatAFunctionReported(t *testing.T) {
	t.Parallel()
	l := start(t, options(""))
	if _, err := l.Invoke(t.Context(), "NoFunction", nil); err == nil || !strings.Contains(err.Error(), "NoFunction") {
		t.Errorf("%v", err)
	}
	if _, err := l.Invoke(t.Context(), "PlanFunction", []byte("[")); err == nil || !strings.Contains(err.Error(), "PlanFunction") {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Invoke(ended, "SweepFunction", []byte("{}")); err == nil {
		t.Error("called although the caller was gone")
	}
}
