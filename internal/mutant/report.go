package mutant

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// by says in one cell who noticed.
func (r *Result) by() string {
	const namesMax = 2
	switch r.Verdict {
	case Survived:
		return "SURVIVED"
	case Broken:
		return "BROKEN: " + r.Killer
	}
	names := outermost(r.By)
	if more := len(names) - namesMax; more > 0 {
		names = append(names[:namesMax:namesMax], fmt.Sprintf("%d more", more))
	}
	out := strings.Join(names, ", ")
	if r.Timeout {
		out += " (by its time limit)"
	}
	return out
}

// outermost are the tests by the names of their functions, each once.
func outermost(by []string) []string {
	var out []string
	for _, name := range by {
		if name, _, _ = strings.Cut(name, "/"); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// totals is the last line: how many mutants there were and what became of them.
func totals(results []Result) string {
	var n [3]int
	var took time.Duration
	for i := range results {
		n[results[i].Verdict]++
		took += results[i].Took
	}
	return fmt.Sprintf("%d mutants: %d killed, %d survived, %d broken, %.0f s of work", len(results), n[Killed], n[Survived], n[Broken], took.Seconds())
}

// WriteTable writes the results for a terminal.
func WriteTable(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MUTANT\tRULE\tKILLED BY\tSECONDS")
	for i := range results {
		r := &results[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\n", r.Mutant.Name, r.Mutant.RuleName(), r.by(), r.Took.Seconds())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, totals(results))
	return err
}

// WriteMarkdown writes the results as docs/proof.md shows them.
func WriteMarkdown(w io.Writer, results []Result) error {
	var b strings.Builder
	b.WriteString("| rule | what is wrong | killed by |\n|---|---|---|\n")
	for i := range results {
		r := &results[i]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Mutant.RuleName(), cell(r.Mutant.Wrong), cell(r.by()))
	}
	fmt.Fprintf(&b, "\n%s.\n", totals(results))
	_, err := io.WriteString(w, b.String())
	return err
}

// cell keeps a text in its cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// WriteList writes the mutants without trying them.
func WriteList(w io.Writer, mutants []Mutant) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range mutants {
		fmt.Fprintf(t, "%s\t%s\t%s\n", mutants[i].Name, mutants[i].RuleName(), mutants[i].Wrong)
	}
	return t.Flush()
}

// row is one result in JSON.
type row struct {
	Name     string   `json:"name"`
	Rule     string   `json:"rule"`
	Wrong    string   `json:"wrong"`
	Harm     string   `json:"harm"`
	Verdict  Verdict  `json:"verdict"`
	Killer   string   `json:"killer,omitempty"`
	KilledBy []string `json:"killed_by,omitempty"`
	Timeout  bool     `json:"time_limit,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Seconds  float64  `json:"seconds"`
}

// WriteJSON writes the results as one document.
func WriteJSON(w io.Writer, results []Result) error {
	out := struct {
		Mutants  []row `json:"mutants"`
		Killed   int   `json:"killed"`
		Survived int   `json:"survived"`
		Broken   int   `json:"broken"`
	}{Mutants: []row{}}
	for _, r := range results {
		out.Mutants = append(out.Mutants, row{r.Mutant.Name, r.Mutant.RuleName(), r.Mutant.Wrong, r.Mutant.Harm, r.Verdict, r.Killer, r.By, r.Timeout, r.Detail, r.Took.Seconds()})
		switch r.Verdict {
		case Killed:
			out.Killed++
		case Survived:
			out.Survived++
		case Broken:
			out.Broken++
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
