package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/local"
	"holdfast/internal/operation"
)

// home keeps a test apart from this user's laptops; such a test is not parallel.
func home(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	for _, name := range []string{"HOLDFAST_TABLE", "HOLDFAST_LAPTOP", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SFN"} {
		t.Setenv(name, "")
	}
}

// told is what a command left behind.
type told struct {
	code     int
	out, err string
}

func holdfast(t *testing.T, args ...string) told {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), args, &streams{strings.NewReader(""), &out, &errOut})
	return told{code, out.String(), errOut.String()}
}

// laptop is a `holdfast local` that runs beside the test.
type laptop struct {
	local.Addresses
	stop func() told
	out  *lines
}

// lines passes on each line as it is written.
type lines struct {
	mu   sync.Mutex
	all  bytes.Buffer
	line chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.all.Write(p)
	select {
	case l.line <- struct{}{}:
	default:
	}
	return n, err
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// begin starts a laptop and waits for its words.
func begin(t *testing.T, args ...string) *laptop {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, errOut := &lines{line: make(chan struct{}, 1)}, &lines{line: make(chan struct{}, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"local", "--port", "0", "--json"}, args...), &streams{strings.NewReader(""), out, errOut})
	}()
	stop := sync.OnceValue(func() told {
		cancel()
		return told{<-ended, out.String(), errOut.String()}
	})
	t.Cleanup(func() { stop() })
	select {
	case <-out.line:
	case code := <-ended:
		t.Fatalf("ended with %d: %s", code, errOut)
	}
	l := &laptop{stop: stop, out: out}
	if err := json.Unmarshal([]byte(out.String()), &l.Addresses); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return l
}

// running is the announced laptop with what is needed to sign for it.
func running(t *testing.T, console string) local.Announced {
	t.Helper()
	all, err := local.Laptops()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Addresses.Console == console {
			return a
		}
	}
	t.Fatalf("%s is not announced", console)
	return local.Announced{}
}

func fetch(t *testing.T, method, url string, header http.Header, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// value reads the one JSON value of a command.
func value[T any](t *testing.T, got told) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(got.out))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q (%s)", err, got.out, got.err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one value: %q", got.out)
	}
	return v
}

// seen is the part of a story that tests look at.
type seen struct {
	Events     []operation.Event     `json:"events"`
	Runs       []operation.Run       `json:"runs"`
	Operations []operation.Operation `json:"operations"`
}

// until inspects a run until it is as wanted; the wait is bounded and never asserted.
func until(t *testing.T, id string, is func(seen) bool) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		got := holdfast(t, "inspect", id, "--json")
		if got.code != exitDone {
			t.Fatalf("inspect %s: %d %s", id, got.code, got.err)
		}
		s := value[seen](t, got)
		if is(s) {
			return s
		}
		if ctx.Err() != nil {
			t.Fatalf("never became so: %s", got.out)
		}
	}
}

const patience = 20 * time.Second
