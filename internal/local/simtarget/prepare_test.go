package simtarget_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/internal/local/simtarget"
	"holdfast/targets/sim"
)

func TestDocumentsRememberedAreBounded(t *testing.T) {
	t.Parallel()
	texts := []string{"{ broken", "{ a" + strings.Repeat(" ", 20_000) + "}"}
	if n := simtarget.Remembered(texts); n != 0 {
		t.Errorf("%d of a broken and an overlong document are kept, want none", n)
	}
	for i := range 3 * simtarget.DocumentsMax {
		texts = append(texts, fmt.Sprintf("{ a%d }", i))
	}
	if n := simtarget.Remembered(texts); n < 1 || n > simtarget.DocumentsMax {
		t.Errorf("%d documents are kept, want 1 to %d", n, simtarget.DocumentsMax)
	}
}

// TestStoredRequestIsNotChanged stores the body as it is: the record's id must not appear in the request.
func TestStoredRequestIsNotChanged(t *testing.T) {
	t.Parallel()
	raw, err := sim.FS.ReadFile("generic-none.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), "store: { content: '${body:/}' }", "store: '${body:/}'", 1)
	text = strings.Replace(text, "body: { id: '${id}', created_at: '${created}' }", "body: { id: '${id}', sent: '${body:/}' }", 1)
	specs, err := simtarget.Load(fstest.MapFS{"generic-none.yaml": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	s := simtarget.New(simtarget.Options{Clock: newStill(), Specs: specs, Seed: 7})
	t.Cleanup(func() { s.Close() })
	ex, err := s.Exchange("generic-none", step{"POST", "/effects", post, "op_a", 0}.bytes())
	if err != nil || !strings.HasSuffix(string(ex.Answer), `"sent":{"x":1}}`) {
		t.Errorf("answer %s, %v", ex.Answer, err)
	}
}

func TestParameterInThePathIsNeverEmpty(t *testing.T) {
	t.Parallel()
	s := newDirect(t, newStill(), 7, nil)
	for path, status := range map[string]int{"/effects/op_a": 200, "/effects/": 404, "/effects": 404, "/effects/op_a/": 404, "/effects/op_a/b": 404, "//op_a": 404} {
		ex, err := s.Exchange("generic-natural", step{"PUT", path, post, "", 0}.bytes())
		if err != nil || ex.Status != status {
			t.Errorf("%s: %d, %v, want %d", path, ex.Status, err, status)
		}
	}
}

func TestLateAnswerIsDatedWhenItGoes(t *testing.T) {
	t.Parallel()
	c := newStill()
	s := newDirect(t, c, 7, nil)
	if _, err := s.SetFault(simtarget.Fault{Target: "generic-key", Kind: simtarget.KindLateAnswer, Delay: hour, Count: 1}); err != nil {
		t.Fatal(err)
	}
	ex, err := s.Exchange("generic-key", step{"POST", "/effects", post, "op_a", 0}.bytes())
	if err != nil {
		t.Fatal(err)
	}
	at := c.now.Add(time.Hour)
	if want := "\r\nDate: " + at.Format(http.TimeFormat) + "\r\n"; !ex.At.Equal(at) || !strings.Contains(string(ex.Answer), want) {
		t.Errorf("at %s, answer %s; want %s and %q", ex.At, ex.Answer, at, want)
	}
	again := step{"POST", "/effects", post, "op_a", 0}.bytes()
	for _, want := range []int{409, 201} { // still running, then settled
		ex2, err := s.Exchange("generic-key", again)
		if err != nil || ex2.Status != want {
			t.Errorf("%d, %v, want %d", ex2.Status, err, want)
		}
		if want == 409 {
			ex.Done()
		}
	}
}
