package target_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/clock"
	"holdfast/internal/fuzztest"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// A profile file never breaks the parser, and each fault has its place.
//
//fuzz:slower
func FuzzParseProfile(f *testing.F) {
	f.Add(smallProfile)
	names, _ := filepath.Glob("../../targets/*.yaml")
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := target.Parse("small.yaml", []byte(src))
		if (p == nil) == (err == nil) {
			t.Fatalf("profile %v with error %v", p, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "small.yaml:") {
			t.Fatalf("fault without its place: %v", err)
		}
		if err == nil {
			target.Catalogue([]*target.Profile{p})
		}
	})
}

// R3: whatever the answer is, executed has a reference that can be kept, nothing else has one, and an answer that
// is not JSON never proves anything.
//
//fuzz:slow
func FuzzClassify(f *testing.F) {
	for _, tc := range answerCases() {
		f.Add(tc.status, []byte(tc.body))
	}
	for _, tc := range lookCases() {
		f.Add(tc.status, []byte(tc.body))
	}
	all := shipped(f)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for name, p := range all {
			a := target.Answer{Status: status, Body: body, Complete: true}
			v := target.Classify(p, testOp, a)
			if (v.Outcome == operation.OutcomeExecuted) != (v.Reference != "") || v.Reference != "" && target.CheckReference(v.Reference) != nil {
				t.Fatalf("%s: %+v", name, v)
			}
			if v.Outcome != operation.OutcomeUnknown && (status >= 500 && status != 503 || len(body) == 0) {
				t.Fatalf("%s: status %d with %q proves %v", name, status, body, v.Outcome)
			}
			if p.Lookup == nil {
				continue
			}
			l := target.ReadLookup(p, testOp, a)
			if (l.Result == target.LookFound) != (l.Reference != "") || l.Result == target.LookFound && !strings.Contains(string(body), "op_") {
				t.Fatalf("%s: %+v", name, l)
			}
		}
	})
}

// R5: what is decoded encodes to the same bytes; everything else is refused.
func FuzzDecodeRequest(f *testing.F) {
	for name, content := range contents() {
		p := shipped(f)[name]
		r, err := target.Render(p, testOp, content, to(f, p))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(r.Encode())
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r, err := target.Decode(encoded)
		if err == nil && string(r.Encode()) != string(encoded) {
			t.Fatalf("decoded %q, encoded again %q", encoded, r.Encode())
		}
	})
}

// canary stands in answers; no text for people may show it.
const canary = "zebra-canary-77"

// answerBound is what one attempt may allocate for an answer, in bytes.
var answerBound = fuzztest.Bound{Base: 16 << 20, PerByte: 4 << 10}

// wires is a target made of bytes: each connection has its answer ready, and what was written to it is kept.
type wires struct {
	answers [][]byte
	written []*bytes.Buffer
}

func (w *wires) dial(context.Context, string, string) (net.Conn, error) {
	got := &bytes.Buffer{}
	w.written = append(w.written, got)
	return &wired{answer: bytes.NewReader(w.answers[min(len(w.written), len(w.answers))-1]), got: got}, nil
}

type wired struct {
	net.Conn
	answer *bytes.Reader
	got    *bytes.Buffer
}

func (c *wired) Write(p []byte) (int, error) { return c.got.Write(p) }
func (c *wired) Read(p []byte) (int, error)  { return c.answer.Read(p) }
func (c *wired) Close() error                { return nil }
func (c *wired) SetDeadline(time.Time) error { return nil }
func (c *wired) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func rawAnswers(f *testing.F) {
	for _, tc := range answerCases() {
		f.Add([]byte(answer(tc.status, tc.body)))
	}
	for _, tc := range lookCases() {
		f.Add([]byte(answer(tc.status, tc.body)))
	}
	for _, seed := range []string{
		"", "HTTP/1.1 201 Created\r\n\r\n{\"id\":\"" + canary + "\"}", "HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{\"id\":\"1\"}", "HTTP/1.1 403 Forbidden\r\nServer: " + canary + "\r\nContent-Length: 15\r\n\r\n" + canary,
		"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 99999999999999\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 429 x\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 503 x\r\nRetry-After: -1\r\n\r\n", "HTTP/1.1 201 Created\r\nContent-Length: 17\r\n\r\n{\"id\":\"1\",\"id\":2}", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}",
	} {
		f.Add([]byte(seed))
	}
}

// R2, R3: whatever bytes a target answers with, one request left for each attempt; executed has a reference, nothing else
// has one, and only an answer that was read whole proves anything. A lookup has the same bounds and sends no effect.
//
//fuzz:slow
func FuzzAnswerOnTheWire(f *testing.F) {
	rawAnswers(f)
	all, requests := shipped(f), map[string]target.Request{}
	for name, p := range all {
		r, err := target.Render(p, testOp, contents()[name], to(f, p))
		if err != nil {
			f.Fatal(err)
		}
		r.URL, r.Base = "http://127.0.0.1:1"+strings.TrimPrefix(r.URL, r.Base), "http://127.0.0.1:1"
		if requests[name], err = target.Fill(r, testOp, map[string]operation.Reference{"crm_task": "7714"}); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		fuzztest.Bounded(t, answerBound, len(raw)*len(all), func() {
			for name, p := range all {
				attempt(t, p, requests[name], raw)
				ask(t, p, requests[name], raw)
			}
		})
	})
}

func attempt(t *testing.T, p *target.Profile, r target.Request, raw []byte) {
	t.Helper()
	w := &wires{answers: [][]byte{raw}}
	e := newEngine(clock.New())
	e.Dial = w.dial
	sent := e.Send(t.Context(), p, r, open)
	if len(w.written) != 1 || int64(w.written[0].Len()) != sent.BytesWritten || sent.BytesWritten == 0 {
		t.Fatalf("%s: %d connections, %d bytes said to be written", p.Name, len(w.written), sent.BytesWritten)
	}
	if (sent.Outcome == operation.OutcomeExecuted) != (sent.Reference != "") || sent.Reference != "" && target.CheckReference(sent.Reference) != nil {
		t.Fatalf("%s: %+v", p.Name, sent)
	}
	if sent.Outcome != operation.OutcomeUnknown && (sent.Evidence != operation.EvidenceAnswer || sent.Status == 0 || !whole(r.Method, raw)) {
		t.Fatalf("%s: %v is proven by %q: %+v", p.Name, sent.Outcome, raw, sent)
	}
	quiet(t, p, raw, sent.Detail)
	if far := operation.TimeOf(e.Clock.Now()).Add(48 * time.Hour); sent.RetryAfter > far {
		t.Fatalf("%s: asked again at %s", p.Name, sent.RetryAfter)
	}
}

// whole says that the bytes are one final answer, read by the standard library to its end.
func whole(method string, raw []byte) bool {
	r := bufio.NewReader(bytes.NewReader(raw))
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return false
		}
		if resp.StatusCode < 200 {
			continue
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return err == nil
	}
}

func quiet(t *testing.T, p *target.Profile, raw []byte, detail string) {
	t.Helper()
	if bytes.Contains(raw, []byte(canary)) && strings.Contains(detail, canary) || len(detail) > 1<<10 || strings.Contains(detail, "secret-of-") {
		t.Fatalf("%s says %q", p.Name, detail)
	}
}

func ask(t *testing.T, p *target.Profile, r target.Request, raw []byte) {
	t.Helper()
	if p.Lookup == nil {
		return
	}
	w := &wires{answers: [][]byte{raw}}
	e := newEngine(clock.New())
	e.Dial = w.dial
	looked := e.LookUp(t.Context(), p, r)
	if len(w.written) != 1 || bytes.Contains(w.written[0].Bytes(), r.Body) && len(r.Body) > 2 {
		t.Fatalf("%s: %d connections for a lookup: %s", p.Name, len(w.written), w.written[0])
	}
	if found := looked.Result == target.LookFound; found != (looked.Reference != "") || found && target.CheckReference(looked.Reference) != nil {
		t.Fatalf("%s: %+v", p.Name, looked)
	}
	if looked.Result != target.LookFailed && !whole("GET", raw) && !whole("POST", raw) {
		t.Fatalf("%s: %v out of %q", p.Name, looked.Result, raw)
	}
	quiet(t, p, raw, looked.Detail)
}

// The answer of a token endpoint: a token that a header can carry is used and kept, or nothing is sent to the target.
//
//fuzz:slow
func FuzzTokenAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"tok-1","token_type":"Bearer","expires_in":3600}`, `{"access_token":"tok-1","token_type":"bearer"}`, `{"access_token":"a b","token_type":"Bearer","expires_in":-5}`,
		`{"access_token":"a\r\nX: y","token_type":"Bearer"}`, `{"access_token":"` + canary + `\u0000","token_type":"Bearer"}`, `{"access_token":"x","token_type":"mac"}`, `{"error":"` + canary + `"}`,
		`{"access_token":"x","access_token":"y","token_type":"Bearer","expires_in":9223372036854775807}`, `{"access_token":"x","token_type":"Bearer","expires_in":1e3}`, `[]`, ``,
	} {
		f.Add([]byte(answer(200, seed)))
		f.Add([]byte(answer(400, seed)))
	}
	profiles := []*target.Profile{oauthProfile(f, "oauth_client_credentials"), oauthProfile(f, "oauth_refresh_token")}
	requests := make([]target.Request, len(profiles))
	for i, p := range profiles {
		r, err := target.Render(p, testOp, map[string]any{"note": "x"}, target.Destination{Base: "http://127.0.0.1:1", Account: "acc-1", APIVersion: "v1"})
		if err != nil {
			f.Fatal(err)
		}
		requests[i] = r
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for i, p := range profiles {
			fuzztest.Bounded(t, answerBound, len(raw), func() { token(t, p, requests[i], raw) })
		}
	})
}

func token(t *testing.T, p *target.Profile, r target.Request, raw []byte) {
	t.Helper()
	w := &wires{answers: [][]byte{raw, []byte(answer(201, `{"id":"eff-1"}`))}}
	e := newEngine(clock.New())
	e.Dial = w.dial
	sent := e.Send(t.Context(), p, r, open)
	quiet(t, p, raw, sent.Detail)
	if sent.Outcome != operation.OutcomeExecuted {
		if len(w.written) != 1 || sent.BytesWritten != 0 || sent.Outcome != operation.OutcomeNotExecuted {
			t.Fatalf("without a token: %d connections, %+v", len(w.written), sent)
		}
		return
	}
	req, err := http.ReadRequest(bufio.NewReader(w.written[1]))
	if err != nil || !strings.HasPrefix(req.Header.Get("Authorization"), "Bearer ") || !whole("POST", raw) {
		t.Fatalf("sent %v: %v", req, err)
	}
	if e.Send(t.Context(), p, r, open); len(w.written) > 3 {
		t.Fatalf("%d connections for two attempts", len(w.written))
	}
}

// An address on the command line is refused, or leads to https or to this machine, without a password in it.
//
//fuzz:slow
func FuzzOverrides(f *testing.F) {
	for _, seed := range []string{
		"generic-key=http://127.0.0.1:8080", "generic-key=https://example.com/base/", "a=http://localhost", "a=http://[::1]:1/x", "a=http://example.com", "a=https://u:p@example.com", "a=https://example.com?x", "a=https://exa mple.com",
		"a=http://127.0.0.1.example.com", "a=http://0x7f.1", "a=HTTP://LOCALHOST", "a=https:///x", "=", "a", "a=https://example.com/%zz", "a=https://example.com/../..", "a=http://[::1%25lo]:1",
	} {
		f.Add(seed)
	}
	p := parse(f, smallProfile)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := target.ParseOverrides([]string{text})
		if err != nil {
			return
		}
		for name, d := range all {
			u, err := url.Parse(d.Base)
			if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Host == "" {
				t.Fatalf("%s leads to %q: %v", name, d.Base, err)
			}
			if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())) {
				t.Fatalf("%s leads in the clear to %q", name, d.Base)
			}
			if r, err := target.Render(p, testOp, map[string]any{"note": "x"}, target.Destination{Base: d.Base, Account: "a", APIVersion: "v1"}); err == nil && !strings.HasPrefix(r.URL, d.Base) {
				t.Fatalf("%q does not begin with %q", r.URL, d.Base)
			}
		}
	})
}

// R5: any content renders to a request that is read back as it was written, twice the same, whose holes can be filled
// without changing where it goes; or it is refused.
//
//fuzz:slow
func FuzzRender(f *testing.F) {
	for _, c := range contents() {
		raw, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, "7714")
	}
	for _, seed := range []string{
		`{"note":"x","place":"a&b=c#d/../e"}`, `{"effect":{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}`, `{"effect":{"n":1e400,"m":-0.0}}`, `{"task":"` + target.HoleReference("x") + `","contact_id":"../.."}`,
		`{"contact_id":"1?x=y","task":"%2e%2e"}`, `{"effect":{"\u0000":"\u2028"}}`, `{"from":"a\r\nBcc: x","to":"y","subject":"z"}`,
	} {
		f.Add([]byte(seed), "..")
	}
	all := shipped(f)
	f.Fuzz(func(t *testing.T, raw []byte, ref string) {
		var content map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&content) != nil {
			return
		}
		for name, p := range all {
			fuzztest.Bounded(t, answerBound, len(raw), func() { rendered(t, name, p, content, operation.Reference(ref)) })
		}
	})
}

func rendered(t *testing.T, name string, p *target.Profile, content map[string]any, ref operation.Reference) {
	t.Helper()
	r, err := target.Render(p, testOp, content, to(t, p))
	if err != nil {
		return
	}
	if again, err := target.Render(p, testOp, content, to(t, p)); err != nil || again.Digest() != r.Digest() {
		t.Fatalf("%s: rendered again it is another request: %v", name, err)
	}
	if back, err := target.Decode(r.Encode()); err != nil || cmp.Diff(r, back, cmpopts.EquateEmpty()) != "" {
		t.Fatalf("%s: %v\n%s", name, err, cmp.Diff(r, back))
	}
	refs := map[string]operation.Reference{}
	for _, h := range target.Holes(r) {
		refs[h.Stage] = ref
	}
	filled, err := target.Fill(r, testOp, refs)
	if err != nil {
		return
	}
	before, _ := url.Parse(r.URL)
	after, err := url.Parse(filled.URL)
	if err != nil || after.Host != before.Host || strings.Count(after.EscapedPath(), "/") != strings.Count(before.EscapedPath(), "/") || len(after.Query()) != len(before.Query()) {
		t.Fatalf("%s: %q becomes %q: %v", name, r.URL, filled.URL, err)
	}
	if len(target.Holes(filled)) > 0 || len(filled.Headers) != len(r.Headers) || json.Valid(r.Body) != json.Valid(filled.Body) {
		t.Fatalf("%s: filled %+v", name, filled)
	}
}
