package story_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
	"holdfast/internal/story"
)

// words are apart from the product's sentences, so that those may change.
var words = story.Words{
	Reason:   func(r operation.Reason) string { return "<" + string(r) + ">" },
	Evidence: func(e operation.Evidence) string { return "<" + string(e.Kind) + ">" },
	Lacks:    func(r *operation.Run) string { return strings.Join(r.Missing, ", ") },
}

// TestStories holds the text of every kind of id against testdata/stories; -rewrite writes it anew.
func TestStories(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/stories", func(t *testing.T, d *datadriven.TestData) string {
		st, err := story.Find(context.Background(), made(), d.CmdArgs[0].Key, nil)
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		var b strings.Builder
		if err := st.Write(&b, words); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "never") {
			t.Error("a secret is told")
		}
		return b.String()
	})
}

// told names the records of a story.
func told(st story.Story) []string {
	var out []string
	for _, e := range st.Events {
		out = append(out, string(e.ID))
	}
	for _, r := range st.Runs {
		out = append(out, string(r.ID))
	}
	for _, o := range st.Operations {
		out = append(out, string(o.ID))
	}
	return out
}

func TestFind(t *testing.T) {
	t.Parallel()
	one := []string{"ev_one", "run_one", "op_task", "op_mail"}
	tests := []struct {
		kind, id string
		want     []string
		audits   int
	}{
		{"event", "ev_one", one, 0},
		{"run", "run_one", one, 0},
		{"run whose second operation was not written", "run_two", []string{"ev_two", "run_two", "op_twin"}, 0},
		{"operation", "op_task", []string{"ev_one", "run_one", "op_task"}, 0},
		{"operation of a run that was not written", "op_mail", []string{"ev_one", "run_one", "op_mail"}, 0},
		{"link of a run", "linkofrun", one, 0},
		{"link of an operation", "linkofop", []string{"ev_one", "run_one", "op_mail"}, 0},
		{"address of a link", "http://127.0.0.1:8080/review/linkofrun", one, 0},
		{"attempt", "at_first", []string{"ev_one", "run_one", "op_mail"}, 1},
		{"open question", "qmail", []string{"ev_one", "run_one", "op_mail"}, 1},
		{"answered question", "qop_task", []string{"ev_one", "run_one", "op_task"}, 1},
		{"question about a run, of two", "qrun", []string{"ev_one", "ev_two", "run_one", "run_two", "op_task", "op_mail", "op_twin"}, 1},
		{"delivery of two events", "delivery-1", []string{"ev_one", "ev_two", "run_one", "run_two", "op_task", "op_mail", "op_twin"}, 1},
		{"reference that two operations have", "7714", []string{"ev_one", "ev_two", "run_one", "run_two", "op_task", "op_twin"}, 1},
		{"reference only in a contradiction", "7715", []string{"ev_two", "run_two", "op_twin"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			w := made()
			st, err := story.Find(context.Background(), w, tt.id, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, told(st)); d != "" {
				t.Error(d)
			}
			if w.audits != tt.audits {
				t.Errorf("the ledger was read %d times, want %d", w.audits, tt.audits)
			}
			if st.Asked != tt.id {
				t.Errorf("asked %q", st.Asked)
			}
			raw, err := json.Marshal(st)
			if err != nil || strings.Contains(string(raw), "never") {
				t.Errorf("JSON tells a secret, or %v", err)
			}
		})
	}
}

func TestFindUnknown(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "op_none", "run_none", "ev_none", "at_none", "nothing", strings.Repeat("x", 2000)} {
		st, err := story.Find(context.Background(), made(), id, nil)
		if !errors.Is(err, story.ErrUnknown) || len(told(st)) > 0 {
			t.Errorf("%.20q: %v, %v", id, told(st), err)
		}
	}
}

// A malfunction is never told as "unknown".
func TestFindBroken(t *testing.T) {
	t.Parallel()
	broken := errors.New("throttled")
	for _, id := range []string{"op_task", "run_one", "ev_one", "linkofrun", "at_first"} {
		w := made()
		w.broken = broken
		if _, err := story.Find(context.Background(), w, id, nil); !errors.Is(err, broken) || errors.Is(err, story.ErrUnknown) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestFindTellsProgressAndItsBound(t *testing.T) {
	t.Parallel()
	w := made()
	for i := range 2500 {
		op := confirmed(operation.ID(fmt.Sprintf("op_%d", i)), "run_one", "at_x")
		op.Reference = "many"
		w.operations = append(w.operations, op)
	}
	var steps []int
	st, err := story.Find(context.Background(), w, "many", func(n int) { steps = append(steps, n) })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{1000, 2000}, steps); d != "" {
		t.Error(d)
	}
	if len(st.Operations) != 20 || !st.More {
		t.Errorf("%d operations told, more: %v", len(st.Operations), st.More)
	}
	var b strings.Builder
	if err := st.Write(&b, words); err != nil || !strings.HasSuffix(b.String(), "\nMore records have this id and are not shown.\n") {
		t.Errorf("%v: ends %q", err, b.String()[max(0, b.Len()-80):])
	}
}

// full is a writer that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteReportsItsWriter(t *testing.T) {
	t.Parallel()
	st, err := story.Find(context.Background(), made(), "run_one", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Write(full{}, words); err == nil {
		t.Error("the story was lost without an error")
	}
}
