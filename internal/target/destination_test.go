package target_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

func TestDestinationsAreHTTPSOrThisMachine(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-key"]
	for base, ok := range map[string]bool{
		"https://shop.example.com":   true,
		"https://shop.example.com/":  true,
		"https://shop.example.com/a": true,
		"http://127.0.0.1:8080/sim":  true,
		"http://[::1]:8080":          true,
		"http://localhost:1":         true,
		"http://shop.example.com":    false,
		"http://169.254.169.254":     false,
		"http://10.0.0.1":            false,
		"http://127.0.0.1.nip.io":    false,
		"https://user:pw@host":       false,
		"https://host?x=1":           false,
		"https://host#x":             false,
		"https://":                   false,
		"ftp://host":                 false,
		"file:///etc/passwd":         false,
		"host":                       false,
		"":                           false,
	} {
		if _, err := p.To(target.Destination{Base: base}); (err == nil) != ok {
			t.Errorf("%q: %v, want allowed %t", base, err, ok)
		}
	}
}

func TestConfigurationOverridesTheDestination(t *testing.T) {
	t.Parallel()
	p := parse(t, smallProfile)
	got, err := p.To(target.Destination{Base: "http://127.0.0.1:9/x/", APIVersion: "v2"})
	want := target.Destination{Base: "http://127.0.0.1:9/x", Account: "acc-1", APIVersion: "v2"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := shipped(t)["shopify-discount-code"].To(target.Destination{}); err == nil || !strings.Contains(err.Error(), "--target shopify-discount-code=https://") {
		t.Errorf("got %v, want what to configure", err)
	}
}

func TestParseOverrides(t *testing.T) {
	t.Parallel()
	got, err := target.ParseOverrides([]string{"a=http://127.0.0.1:1/", "b=https://x.example.com/y"})
	want := map[string]target.Destination{"a": {Base: "http://127.0.0.1:1"}, "b": {Base: "https://x.example.com/y"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range [][]string{{"a"}, {"A=https://x"}, {"a=http://x"}, {"a=https://x", "a=https://y"}} {
		if _, err := target.ParseOverrides(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// A name that says this machine and resolves to another gets no plain-text byte.
func TestR02_PlainHTTPNeverLeavesThisMachine(t *testing.T) {
	t.Parallel()
	p := shipped(t)["generic-none"]
	engine := newEngine(clock.New())
	here, there := net.Pipe()
	defer there.Close()
	engine.Dial = func(context.Context, string, string) (net.Conn, error) { return elsewhere{here}, nil }
	sent := engine.Send(t.Context(), p, filledFor(t, p, "http://localhost:80"), open)
	if sent.Outcome != operation.OutcomeNotExecuted || sent.Detail != "nothing sent: plain http was answered from outside of this machine" {
		t.Errorf("got %+v, want nothing sent", sent)
	}
}

type elsewhere struct{ net.Conn }

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 80} }
