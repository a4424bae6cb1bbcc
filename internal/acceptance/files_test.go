package acceptance_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/targets"
)

// changed are the shipped profiles with a text replaced in each that has it.
func changed(t *testing.T, from, to string) fs.FS {
	t.Helper()
	names, err := fs.Glob(targets.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, n := map[string]string{}, 0
	for _, name := range names {
		raw, err := fs.ReadFile(targets.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(raw), from)
		files[name] = strings.ReplaceAll(string(raw), from, to)
	}
	if n == 0 {
		t.Fatalf("no profile has %q", from)
	}
	return folder(t, files)
}

// folder is a folder with these files.
func folder(t *testing.T, files map[string]string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	return out
}
