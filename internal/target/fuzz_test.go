package target_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// A profile file never breaks the parser, and each fault has its place.
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
