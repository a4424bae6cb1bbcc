package operation_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The core imports only the standard library, and of it nothing that reads a clock, the network or a file.
func TestTheCoreImportsOnlyTheStandardLibrary(t *testing.T) {
	t.Parallel()
	forbidden := []string{"os", "net", "io", "math/rand", "crypto", "sync", "context", "log", "unsafe", "reflect"}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"time.Now", "time.Since", "time.After", "time.Sleep"} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s calls %s", name, call)
			}
		}
		checkImports(t, name, text, forbidden)
	}
}

func checkImports(t *testing.T, name string, text []byte, forbidden []string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") || first == "holdfast" {
			t.Errorf("%s imports %s", name, path)
		}
		for _, f := range forbidden {
			if path == f || strings.HasPrefix(path, f+"/") {
				t.Errorf("%s imports %s: the core does no I/O", name, path)
			}
		}
	}
}
