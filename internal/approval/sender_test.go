package approval_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/approval"
	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
)

type deaf struct{}

func (deaf) Notify(context.Context, notify.Mail) error {
	return errors.New("the mail server does not answer")
}

// Whoever can send a mail could send a link. Each sender is named here with what it sends; a new one makes this fail
// until somebody has looked at it.
var senders = []string{
	"internal/approval mail", // the link
	"internal/approval mail", // the code, apart
	"internal/sweep remind",  // a reminder without link or code
}

func TestCaseB029_EverySenderIsKnown(t *testing.T) {
	t.Parallel()
	var found, importers []string
	walk(t, func(path string, f *ast.File) {
		for _, i := range f.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			if strings.Contains(name, "wneessen/go-mail") || strings.HasSuffix(name, "service/sesv2") || name == "net/smtp" {
				importers = append(importers, filepath.Dir(path))
			}
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Notify" {
						found = append(found, filepath.ToSlash(filepath.Dir(path))+" "+fn.Name.Name)
					}
				}
				return true
			})
		}
	})
	if diff := cmp.Diff(senders, found); diff != "" {
		t.Errorf("senders of mails changed; look at what each sends:\n%s", diff)
	}
	for _, dir := range importers {
		if dir != "internal/notify" && dir != "internal/target" {
			t.Errorf("%s can send mails past the notifier", dir)
		}
	}
}

// walk parses the product's own code.
func walk(t *testing.T, fn func(path string, f *ast.File)) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if slices.ContainsFunc([]string{"internal/notify/", "internal/approval/approvaltest/"}, func(p string) bool { return strings.HasPrefix(rel, p) }) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			fn(rel, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A question about a run: each condition refuses alone; the same answer again is told what stands.
func TestR11_DecisionAboutTheRun(t *testing.T) {
	t.Parallel()
	b := approvaltest.New(t)
	b.Propose("crm_task", body)
	run, err := b.Desk.AskRun(t.Context(), b.Run, operation.ReasonPersonClosed)
	if err != nil || run.Question == nil {
		t.Fatalf("%+v, %v", run.Question, err)
	}
	i := b.Of(approvaltest.Owner)
	for name, c := range map[string]struct {
		change func(*approval.Input)
		want   operation.Reason
	}{
		"revision":   {func(in *approval.Input) { in.Seen = map[string]approval.Seen{string(run.ID): {Rev: run.Rev - 1}} }, operation.ReasonOtherRevision},
		"no word":    {func(in *approval.Input) { in.How = "" }, operation.ReasonWordMissing},
		"not legal":  {func(in *approval.Input) { in.Answer = operation.AnswerApprove }, operation.ReasonNotLegal},
		"wrong code": {func(in *approval.Input) { in.Code = "WRONGONE" }, approval.ReasonWrongCode},
	} {
		in := b.Input(i, operation.AnswerContinue)
		c.change(&in)
		if got := b.Decide(i, in); got.Reason != c.want || got.Verdict != approval.Refused {
			t.Errorf("%s: %+v; want refused: %s", name, got, c.want)
		}
	}
	in := b.Input(i, operation.AnswerContinue)
	if got := b.Decide(i, in); got.Verdict != approval.Decided {
		t.Fatalf("got %+v", got)
	}
	if got := b.Decide(i, in); got.Verdict != approval.Standing {
		t.Errorf("again: %+v", got)
	}
	in.Answer = operation.AnswerStop
	if got := b.Decide(i, in); got.Verdict != approval.Opposed || got.Standing.Answer != operation.AnswerContinue {
		t.Errorf("the opposite: %+v", got)
	}
}
