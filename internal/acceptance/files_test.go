package acceptance_test

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

// folder is a folder with these files.
func folder(t *testing.T, files map[string]string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	return out
}
