package simtarget_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/local/simtarget"
)

func (w *world) control(method, path, contentType, body string, headers ...string) (int, string) {
	w.t.Helper()
	req := httptest.NewRequest(method, "http://127.0.0.1:9000"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.sim.Control().ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

func TestEffectsReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("generic-key", "POST", "/effects", post, "Idempotency-Key", "op_a.1")
	w.call("generic-key", "POST", "/effects", post, "Idempotency-Key", "op_a.1")
	status, body := w.control("GET", "/_sim/effects", "", "")
	var got struct{ Targets map[string]simtarget.Report }
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
		t.Fatalf("%d, %v", status, err)
	}
	r := got.Targets["generic-key"]
	want := simtarget.Report{Effects: 1, Requests: 2, Replays: 1, ByOperation: map[string]int{"op_a": 1}, ByRoute: map[string]int{"create": 1},
		List: []simtarget.Effect{{Route: "create", Operation: "op_a", Key: "op_a.1", Connection: 1, Method: "POST", Path: "/effects",
			BodyDigest: fmt.Sprintf("%x", sha256.Sum256([]byte(post))), BodyBytes: len(post)}}}
	r.List[0].Time, r.List[0].Reference, r.Connections = "", "", nil
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if len(got.Targets) != len(w.sim.Names()) {
		t.Errorf("%d targets in the report, want all %d", len(got.Targets), len(w.sim.Names()))
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	status, body := w.control("POST", "/_sim/faults", "application/json", `{"target":"resend","kind":"late-commit","count":2,"delay":"25h","match":"send"}`)
	if status != 201 || !strings.Contains(body, `"id": "f1"`) {
		t.Fatalf("%d %s", status, body)
	}
	w.control("POST", "/_sim/faults", "application/x-www-form-urlencoded", "target=hubspot&kind=429&count=1&delay=5s")
	if diff := cmp.Diff([]simtarget.Fault{
		{ID: "f1", Target: "resend", Kind: simtarget.KindLateCommit, Count: 2, Delay: 25 * hour, Match: "send"},
		{ID: "f2", Target: "hubspot", Kind: simtarget.KindLimited, Count: 1, Delay: hour / 720},
	}, w.sim.Faults()); diff != "" {
		t.Errorf("switches (-want +got):\n%s", diff)
	}
	if _, body = w.control("DELETE", "/_sim/faults?target=hubspot", "", ""); !strings.Contains(body, `"removed": 1`) {
		t.Error(body)
	}
	w.call("hubspot", "GET", tasks+"/1", "")
	if status, _ = w.control("POST", "/_sim/reset", "", ""); status != 200 || len(w.sim.Faults()) != 0 || w.sim.Effects()["hubspot"].Requests != 0 {
		t.Error("the reset left something")
	}
}

func TestFaultsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	cases := []struct{ body, want string }{
		{`{"target":"nobody","kind":"429","count":1}`, "known: generic-key, generic-lookup"},
		{`{"target":"resend","kind":"meteor","count":1}`, "known: reset-before-first-byte"},
		{`{"target":"resend","kind":"429"}`, "give count, or probability"},
		{`{"target":"resend","kind":"429","probability":1.5}`, "between 0 and 1"},
		{`{"target":"resend","kind":"late-commit","count":1}`, "needs a delay"},
		{`{"target":"resend","kind":"429","count":1,"delay":"99999h"}`, "delay has to be between"},
		{`{"target":"resend","kind":"429","count":1,"delay":"soon"}`, "soon"},
		{`{"target":"resend","kind":"429","count":1,"match":"nowhere"}`, "routes: send, read, list"},
		{`{"target":"generic-none","kind":"several-matches","count":1}`, "has no route for several-matches"},
		{`{"target":"generic-none","kind":"reset-before-first-byte","count":1,"match":"create"}`, "match has to be empty"},
		{`{"target":"resend","kind":"429","count":1,"often":1}`, "often"},
		{`{"target":"resend","kind":"429","count":1} {}`, "one switch"},
		{`null and void`, "JSON object"},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			status, body := w.control("POST", "/_sim/faults", "application/json", c.body)
			if status != 400 || !strings.Contains(body, c.want) {
				t.Errorf("%d %s\nwant 400 and %q", status, body, c.want)
			}
			if n := len(w.sim.Faults()); n != 0 {
				t.Errorf("%d switches are set", n)
			}
		})
	}
}

func TestSwitchesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var err error
	for range 101 {
		_, err = w.sim.SetFault(simtarget.Fault{Target: "resend", Kind: simtarget.KindLimited, Count: 1})
	}
	if err == nil || len(w.sim.Faults()) != 100 {
		t.Errorf("%d switches, error %v", len(w.sim.Faults()), err)
	}
}

func TestControlAnswersOnlyThisMachineAndItsOwnPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req := httptest.NewRequest("GET", "http://rebound.example.com/_sim/effects", nil)
	rec := httptest.NewRecorder()
	w.sim.Control().ServeHTTP(rec, req)
	if rec.Code != http.StatusForbidden {
		t.Errorf("a foreign host name got %d", rec.Code)
	}
	if status, _ := w.control("POST", "/_sim/reset", "", "", "Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("another site's page got %d", status)
	}
}

func TestPageEscapesWhatTargetsWereSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("generic-none", "POST", "/effects", post, "X-Operation-Id", "<script>alert(1)</script>")
	w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindLimited, Delay: hour})
	status, page := w.control("GET", "/_sim/", "", "")
	if status != 200 || strings.Contains(page, "<script>") || !strings.Contains(page, "&lt;script&gt;") || !strings.Contains(page, "<td>1h0m0s</td>") {
		t.Errorf("%d\n%s", status, page)
	}
}

func TestThePageShowsWhatIsUsedHere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, page := w.control("GET", "/_sim/", "", ""); !strings.Contains(page, "No target is simulated here") {
		t.Errorf("nothing is used, and the page says:\n%s", page)
	}
	if _, err := w.sim.Listen("resend", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.sim.Named(map[string]string{"my-crm": "http://127.0.0.1:9000"})
	_, page := w.control("GET", "/_sim/", "", "")
	for text, want := range map[string]bool{"<h2>resend</h2>": true, "<h2>hubspot</h2>": false, "my-crm is a real server, http://127.0.0.1:9000": true, "No target is simulated": false} {
		if strings.Contains(page, text) != want {
			t.Errorf("%q on the page: want %v", text, want)
		}
	}
}

func TestListenRefusesOtherAddressesAndTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range [][2]string{{"resend", "0.0.0.0:0"}, {"resend", ":0"}, {"resend", "example.com:80"}, {"nobody", "127.0.0.1:0"}} {
		if _, err := w.sim.Listen(c[0], c[1]); err == nil {
			t.Errorf("listened for %v", c)
		}
	}
}

func TestClosedSimulationRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sim.Close()
	if _, err := w.sim.Dial(context.Background(), "resend"); err == nil {
		t.Error("dialled after Close")
	}
	if _, err := w.sim.Listen("resend", "127.0.0.1:0"); err == nil {
		t.Error("listened after Close")
	}
}

func TestWhatIsTooLargeOrNotHTTPIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn := w.pipe("generic-none")
	go write(conn, "POST", "/effects", strings.Repeat("x", 1<<20+1))
	g, err := read(conn)
	if err != nil {
		t.Fatal(err)
	}
	w.wantStatus(g, 413)
	conn = w.pipe("generic-none")
	go conn.Write(bytes.Repeat([]byte("hello there\r\n"), 3))
	raw, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(raw, []byte("HTTP/1.1 400")) {
		t.Errorf("%q, %v", raw, err)
	}
	w.wantEffects("generic-none", 0)
}

func TestSimulationWithoutSpecsKnowsNothing(t *testing.T) {
	t.Parallel()
	other := simtarget.New(simtarget.Options{Clock: clock.New(), Seed: 7})
	defer other.Close()
	if _, err := other.Dial(context.Background(), "resend"); err == nil {
		t.Error("a simulation without specs knows resend")
	}
}
