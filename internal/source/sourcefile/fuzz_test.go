package sourcefile_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/source/sourcefile"
	"holdfast/sources"
)

// errorsPerByteMax bounds what the mistakes of a file may say, in bytes for each byte of the file.
const (
	errorBytesPerByteMax = 400
	errorBytesMin        = 2 << 10
)

var placed = regexp.MustCompile(`^crm\.yaml: |^crm\.yaml:[1-9][0-9]*: `)

// A source file gives a configuration that can be used, or mistakes that each name the file; twice the same.
//
//fuzz:slow
func FuzzParse(f *testing.F) {
	names, err := fs.Glob(sources.Files(), "*.yaml")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(sources.Files(), name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(strings.Replace(string(data), "source: "+strings.TrimSuffix(name, ".yaml"), "source: crm", 1)))
	}
	for _, seed := range []string{
		"source: crm\nkind: generic-hmac\nhmac: { header: X-Sig, encoding: hex, template: '{id}.{timestamp}.{body}', id: X-Id, timestamp: X-Time }\naccount: [value.main]\ntopic: [body.topic]\nretry_horizon: 1h\nanswer: when_done\ndocumentation: [{ page: 'https://example.com', checked: 2026-11-29 }]\n",
		"source: &a crm\nkind: *a\n", "a: &a [x,x]\nb: &b [*a,*a]\ntopic: *b\n", "topic: &t [*t]\n", "? [a]\n: b\n", "source: !!binary aGk=\n", "tolerance: 9223372036854775807h\n", "--- 1\n--- 2\n",
		"tolerance: -1ns\nretry_horizon: 1e9h\n", strings.Repeat("[", 2000), strings.Repeat("source: crm\n", 200), "\xff\xfe", "source: ~\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := sourcefile.Parse("crm.yaml", data)
		again, errAgain := sourcefile.Parse("crm.yaml", data)
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("%v and then %v", err, errAgain)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatal(diff)
		}
		if err == nil {
			if c.Name != "crm" || c.Validate() != nil {
				t.Fatalf("accepted %+v: %v", c, c.Validate())
			}
			loads(t, data)
			return
		}
		if c.Name != "" || !placed.MatchString(err.Error()) || len(err.Error()) > errorBytesPerByteMax*len(data)+errorBytesMin {
			t.Fatalf("%+v, and %d bytes of error: %.300s", c, len(err.Error()), err)
		}
	})
}

func loads(t *testing.T, data []byte) {
	t.Helper()
	all, err := sourcefile.Load(fstest.MapFS{"crm.yaml": {Data: data}})
	if err != nil || len(all) != 1 {
		t.Fatalf("a file that parses is not loaded: %v", err)
	}
}
