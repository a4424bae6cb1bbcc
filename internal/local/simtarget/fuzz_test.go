package simtarget_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/internal/clock"
	"holdfast/internal/fuzztest"
	"holdfast/internal/local/simtarget"
	"holdfast/targets/sim"
)

// What reading a file, answering a request and setting a switch may allocate, in bytes. A file that is not YAML is read
// again from the start for each line, up to the bound of package syntax.
var (
	specBound    = fuzztest.Bound{Base: 512 << 20, PerByte: 8 << 10}
	requestBound = fuzztest.Bound{Base: 32 << 20, PerByte: 2 << 10}
)

var inLine = regexp.MustCompile(`^hubspot\.yaml(:[1-9][0-9]*)?: `)

// Any bytes as the file of a simulated target: loaded, or refused with the file's name in every fault; twice the same.
//
//fuzz:slow
func FuzzLoad(f *testing.F) {
	names, err := fs.Glob(sim.FS, "*.yaml")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(sim.FS, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(strings.Replace(string(data), "target: "+strings.TrimSuffix(name, ".yaml"), "target: hubspot", 1)))
	}
	for _, seed := range []string{
		"a: &a [x,x]\nb: &b [*a,*a]\nroutes: *b\n", "routes: &r [*r]\n", "collections: &c { a: *c }\n", "unrouted: { status: 1, body: &b { a: *b } }\n", "<<: &x { <<: *x }\n", "target: hubspot\nabout: ''\n", "unrouted: { status: 404, body: '${body:/a' }\n",
		"x: &a {a: b}\nunrouted: { status: 404, body: &b [*a, *a, *a] }\nfailures: { limited: { status: 1, body: &c [*b, *b, *b] }, broken: { status: 1, body: &d [*c, *c, *c] }, refused: { status: 1, body: [*d, *d, *d] } }\n",
		strings.Repeat("[", 2000), "a: [\n" + strings.Repeat("[a],\n", 200), "--- 1\n--- 2\n", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		load := func() (specs []simtarget.Spec, err error) {
			fuzztest.Bounded(t, specBound, len(data), func() { specs, err = simtarget.Load(fstest.MapFS{"hubspot.yaml": {Data: data}}) })
			return specs, err
		}
		specs, err := load()
		if _, again := load(); (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("%v and then %v", err, again)
		}
		if err == nil {
			if len(specs) != 1 || specs[0].Target != "hubspot" {
				t.Fatalf("%+v", specs)
			}
			s := simtarget.New(simtarget.Options{Clock: clock.New(), Specs: specs, Seed: 1})
			answered(t, s, "hubspot", []byte("POST /crm/v3/objects/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: y\r\nContent-Length: 2\r\n\r\n{}"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !inLine.MatchString(line) && len(line) > 0 {
				t.Fatalf("a fault without its file: %q in\n%v", line, err)
			}
		}
	})
}

// answered writes bytes to a target, ends the sending side, and reads answers until the target ends the connection.
func answered(t *testing.T, s *simtarget.Sim, name string, raw []byte) (statuses []int) {
	t.Helper()
	c, err := s.Dial(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = c.Write(append(raw, "\r\n\r\nGET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"...)) // the target may have hung up
	}()
	r := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			break
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatalf("%s answers with a broken body: %v", name, err)
		}
		statuses = append(statuses, resp.StatusCode)
		if resp.Close {
			break
		}
	}
	_ = c.Close()
	<-written
	return statuses
}

// Any bytes on the wire of a simulated target: whole HTTP answers, and an effect only with an answer that says so.
//
//fuzz:slow
func FuzzWire(f *testing.F) {
	specs, err := shipped()
	if err != nil {
		f.Fatal(err)
	}
	post := func(path, head, body string) []byte {
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nX-Shopify-Access-Token: x\r\n%sContent-Length: %d\r\n\r\n%s", path, head, len(body), body)
	}
	for i := range specs {
		f.Add(uint8(i), post("/emails", "Idempotency-Key: k1\r\n", mail))
		f.Add(uint8(i), post("/effects", "Idempotency-Key: k1\r\n", `{"operation_id":"op_1","effect":{}}`))
		f.Add(uint8(i), post("/crm/objects/2026-03/tasks/batch/upsert", "", `{"inputs":[{"idProperty":"holdfast_operation_id","id":"op_1","properties":{"hs_timestamp":"x"}}]}`))
		f.Add(uint8(i), post("/admin/api/2026-10/graphql.json", "", `{"query":"mutation M($c: X!) { discountCodeBasicCreate(basicCodeDiscount: $c) { codeDiscountNode { id } userErrors { message } } }","operationName":"M","variables":{"c":{"code":"A"}}}`))
		f.Add(uint8(i), post("/admin/api/2026-10/graphql.json", "", `{"query":"{ a { ...f } } fragment f on T { ...f }"}`))
		f.Add(uint8(i), []byte("GET /effects?operation_id=op_1&limit=-1&cursor=x HTTP/1.1\r\nHost: x\r\n\r\n"))
		f.Add(uint8(i), []byte("POST /effects HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	}
	f.Add(uint8(0), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	f.Add(uint8(0), []byte("\x16\x03\x01"))
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		name := specs[int(which)%len(specs)].Target
		s := simtarget.New(simtarget.Options{Clock: clock.New(), Specs: specs, Seed: 1})
		var statuses []int
		fuzztest.Bounded(t, requestBound, len(raw), func() { statuses = answered(t, s, name, raw) })
		done, good := s.Effects()[name].Effects, 0
		for _, status := range statuses {
			if status < 300 {
				good++
			}
			if status < 200 || status > 599 {
				t.Fatalf("%s answers %v", name, statuses)
			}
		}
		if done > 0 && good == 0 {
			t.Fatalf("%d effects, and the answers were %v to %q", done, statuses, raw)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Any request to the switches: answered, and a refused one sets nothing.
//
//fuzz:slow
func FuzzSwitches(f *testing.F) {
	specs, err := shipped()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []struct{ method, path, kind, body string }{
		{"POST", "/_sim/faults", "application/json", `{"target":"hubspot","kind":"lost_after_commit","count":1}`}, {"POST", "/_sim/faults", "application/x-www-form-urlencoded", "target=hubspot&kind=late_answer&count=1&delay=30s"},
		{"POST", "/_sim/faults", "application/json", `{"target":"hubspot","kind":"late_answer","count":-1,"delay":"-9223372036854775808ns","probability":1e999}`}, {"POST", "/_sim/faults", "", "{}{}"}, {"DELETE", "/_sim/faults?target=x&id=%zz", "", ""},
		{"GET", "/_sim/effects", "", ""}, {"POST", "/_sim/reset", "", ""}, {"GET", "/_sim/", "", ""}, {"PUT", "/_sim/../_sim/faults", "a/b; c", "x"}, {"POST", "/_sim/faults", "application/x-www-form-urlencoded; =", "count=1;%"},
	} {
		f.Add(seed.method, seed.path, seed.kind, []byte(seed.body))
	}
	method := regexp.MustCompile(`^[A-Z]{1,10}$`)
	f.Fuzz(func(t *testing.T, m, path, kind string, body []byte) {
		req, err := http.NewRequest(m, "http://127.0.0.1", bytes.NewReader(body))
		if err != nil || !method.MatchString(m) {
			return
		}
		req.URL.Path, req.URL.RawQuery, _ = strings.Cut(path, "?")
		req.Header.Set("Content-Type", kind)
		s := simtarget.New(simtarget.Options{Clock: clock.New(), Specs: specs, Seed: 1})
		defer s.Close()
		w := httptest.NewRecorder()
		fuzztest.Bounded(t, requestBound, len(body)+len(path), func() { s.Control().ServeHTTP(w, req) })
		if w.Code >= 500 || w.Code >= 400 && len(s.Faults()) > 0 {
			t.Fatalf("%d %s, and the switches are %v", w.Code, w.Body, s.Faults())
		}
	})
}
