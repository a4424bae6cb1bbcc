package acceptance_test

import (
	"strings"
	"testing"

	"holdfast/internal/acceptance"
)

func TestContradictionsAreCountedApart(t *testing.T) {
	t.Parallel()
	fine := acceptance.Case{N: 1, Name: "Normal", Passed: true}
	told := acceptance.Case{N: 7, Name: "Lies", Passed: true, Warns: []string{"the target contradicts its profile"}, Duplicates: 1}
	bad := acceptance.Case{N: 3, Name: "Lost"}
	for _, c := range []struct {
		cases []acceptance.Case
		says  string
	}{
		{[]acceptance.Case{fine, fine}, "2 passed."},
		{[]acceptance.Case{fine, told}, "1 passed, 1 contradiction told."},
		{[]acceptance.Case{fine, told, told}, "1 passed, 2 contradictions told."},
		{[]acceptance.Case{fine, told, bad}, "1 of 3 cases failed; 1 passed, 1 contradiction told."},
	} {
		r := acceptance.Report{Flow: "greet", Version: 1, Cases: c.cases}
		page, err := r.HTML()
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"summary": r.Summary(), "markdown": r.Markdown(), "page": string(page)} {
			if !strings.Contains(text, c.says) {
				t.Errorf("the %s lacks %q:\n%s", name, c.says, text)
			}
		}
		marked := strings.Contains(string(page), `<span class="tag told">told</span>`)
		if want := strings.Contains(c.says, "told"); marked != want {
			t.Errorf("%s: a row is marked as told: %v", c.says, marked)
		}
	}
	if line := told.Line(); !strings.HasPrefix(line, "told ") {
		t.Errorf("%s", line)
	}
}

// A correct profile passes with whatever timeout it has.
func TestShortTimeoutsPass(t *testing.T) {
	t.Parallel()
	o := options("standing-follow-up")
	o.Targets = changed(t, "timeout: 10s", "timeout: 3s")
	r, err := acceptance.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cases {
		if !c.Passed {
			t.Errorf("%d %s:\n%s", c.N, c.Name, strings.Join(c.Evidence, "\n"))
		}
	}
}
