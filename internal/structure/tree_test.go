package structure

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const root = "../.."

// made are folders that tools make; .gitignore names them too.
var made = []string{".git", ".aws-sam", ".venv", "build", "bin", "node_modules"}

// files are the project's files by their path from the root, with slashes.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(made, d.Name()) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d files found: the root is not where it was", len(all))
	}
	return all
}

type source struct {
	path string // from the root
	text []byte
	set  *token.FileSet
	file *ast.File
}

func (s *source) isTest() bool    { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) folder() string  { return filepath.ToSlash(filepath.Dir(s.path)) }
func (s *source) lines() int      { return bytes.Count(s.text, []byte("\n")) }
func (s *source) isFixture() bool { return strings.Contains("/"+s.path, "/testdata/") }

func (s *source) at(n ast.Node) string {
	return s.path + ":" + strings.TrimPrefix(s.set.Position(n.Pos()).String(), s.path+":")
}

// sources are the project's Go files, parsed.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for path, text := range files(t) {
		s := source{path: path, text: text, set: token.NewFileSet()}
		if !strings.HasSuffix(path, ".go") || s.isFixture() {
			continue
		}
		var err error
		if s.file, err = parser.ParseFile(s.set, path, text, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return all
}

// Needles are put together here, so that this file does not find itself.
var forbidden = map[string][]string{
	"unfinished work belongs in an issue": {"TO" + "DO", "FIX" + "ME"},
	"a machine's own path":                {"/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/"},
	"the name of a package registry's host": {"proxy.go" + "lang.org", "registry.npm" + "js.org", "py" + "pi.org", "pythonho" + "sted.org",
		"repo.ma" + "ven.apache.org", "static.cra" + "tes.io", "deb.deb" + "ian.org"},
}

func TestNoFileHoldsWhatDoesNotBelongInIt(t *testing.T) {
	t.Parallel()
	for path, text := range files(t) {
		if !utf8.Valid(text) {
			continue // a picture
		}
		for why, needles := range forbidden {
			for _, n := range needles {
				if i := bytes.Index(text, []byte(n)); i >= 0 {
					t.Errorf("%s:%d: %q: %s", path, 1+bytes.Count(text[:i], []byte("\n")), n, why)
				}
			}
		}
	}
}

const fileLinesMax = 400

func TestFilesStayReadable(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.isTest() && s.lines() > fileLinesMax {
			t.Errorf("%s: %d lines, at most %d: split it by what its parts promise", s.path, s.lines(), fileLinesMax)
		}
	}
}

func TestEveryPackageOpensWithItsPromise(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		documented[s.folder()] = documented[s.folder()] || opens(s.file)
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a package comment that begins with Package %s or Command ...", folder, filepath.Base(folder))
		}
	}
}

func opens(f *ast.File) bool {
	text := f.Doc.Text()
	if f.Name.Name == "main" {
		return strings.HasPrefix(text, "Command ")
	}
	return strings.HasPrefix(text, "Package "+f.Name.Name+" ")
}

func TestNoTestIsSkipped(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				t.Errorf("%s: a test that cannot run fails, or stands behind a build tag", s.at(n))
			}
			return true
		})
	}
}
