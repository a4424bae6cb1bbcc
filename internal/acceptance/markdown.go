package acceptance

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed report.html
var pageText string

// HTML is the report as one page that needs nothing else.
func (r Report) HTML() ([]byte, error) {
	page, err := template.New("report").Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("read the report's page: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, r); err != nil {
		return nil, fmt.Errorf("make the report's page: %w", err)
	}
	return b.Bytes(), nil
}

// Markdown is the report as text.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Acceptance of %s, version %d\n\n%s\n\n", plainText(r.Flow), r.Version, plainText(r.Verdict()))
	b.WriteString("| stage | target | simulated by | what may be relied on |\n|---|---|---|---|\n")
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(t.Stage), cell(t.Title), cell(t.Simulation), cell(t.Protection))
	}
	b.WriteString("\n| case | | effects | duplicates | transitions | next step | owner |\n|---|---|---|---|---|---|---|\n")
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "| %d %s | %s | %s | %d | %d | %s | %s |\n", c.N, cell(c.Name), c.Word(), cell(c.effects()), c.Duplicates, c.Transitions, cell(c.Next), cell(c.Owner))
	}
	fmt.Fprintf(&b, "\nThe event, sent as %s (%s):\n\n%s", plainText(r.Source), r.Origin(), fence(r.Sample))
	for _, c := range r.Cases {
		c.markdown(&b)
	}
	return b.String()
}

func (c Case) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %d %s: %s\n\n", c.N, plainText(c.Name), c.Word())
	for _, w := range c.Warns {
		fmt.Fprintf(b, "**%s**\n\n", plainText(w))
	}
	for _, k := range c.Checks {
		mark := "true"
		if !k.OK {
			mark = "**NOT TRUE**"
		}
		fmt.Fprintf(b, "- %s: %s\n", mark, plainText(k.Text))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(b, "- %s\n", plainText(n))
	}
	b.WriteString("\n")
	for _, s := range c.Sent {
		fmt.Fprintf(b, "Sent by %s (%s, %s, %d attempts, reference %s):\n\n%s", plainText(s.Stage), plainText(s.Operation), s.Status, s.Attempts, plainText(orNone(s.Reference)),
			fence(s.Method+" "+s.URL+"\n"+s.Body))
	}
	if len(c.Shows) > 0 {
		b.WriteString("| the target shows | for | reference | at |\n|---|---|---|---|\n")
	}
	for _, s := range c.Shows {
		fmt.Fprintf(b, "| %s, %s | %s | %s | %s |\n", cell(s.Target), cell(s.Route), cell(s.Stage), cell(s.Reference), cell(s.At))
	}
	fmt.Fprintf(b, "\nNext step: %s. Owner: %s.\n", plainText(c.Next), plainText(orNone(c.Owner)))
	if len(c.Story) > 0 {
		b.WriteString("\nEvidence in the ledger:\n\n")
	}
	for _, e := range c.Story {
		fmt.Fprintf(b, "- %s\n", plainText(e))
	}
}

// Verdict is the report in one sentence.
func (r Report) Verdict() string {
	text := fmt.Sprintf("%d passed", r.count(WordPassed))
	if n := r.failed(); n > 0 {
		text = fmt.Sprintf("%d of %d cases failed; %s", n, len(r.Cases), text)
	}
	switch n := r.count(WordTold); n {
	case 0:
		return text + "."
	case 1:
		return text + ", 1 contradiction told."
	default:
		return fmt.Sprintf("%s, %d contradictions told.", text, n)
	}
}

// Origin says where the sample event came from.
func (r Report) Origin() string {
	if r.Derived {
		return "made up from the flow file"
	}
	return "from samples/" + r.Flow + ".json"
}

// The results of a case in one word.
const (
	WordPassed = "passed"
	WordTold   = "told" // the target did other than its profile says; the product did nothing wrong and said so
	WordFailed = "FAILED"
)

// Word is the case's result in one word.
func (c Case) Word() string {
	switch {
	case !c.Passed:
		return WordFailed
	case len(c.Warns) > 0 || c.Duplicates > 0:
		return WordTold
	}
	return WordPassed
}

// Mark is the class of the result on the page.
func (c Case) Mark() string {
	return map[string]string{WordFailed: "bad", WordTold: "told"}[c.Word()]
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

var markdownMarks = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "<", "&lt;", "[", "\\[", "|", "\\|", "\r", " ", "\n", " ")

// plainText keeps what came from outside from being read as Markdown or HTML.
func plainText(s string) string { return markdownMarks.Replace(s) }

func cell(s string) string { return plainText(orNone(s)) }

// fence is a code block that its text cannot end.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + text + "\n" + marks + "\n\n"
}
