package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the file is not used
	SeverityWarning Severity = "warning" // the file is used; somebody should look
)

// Finding is one thing that is wrong with a flow file. It shows the file's text, never an event's data.
type Finding struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Allowed  []string `json:"allowed,omitempty"` // what would be accepted instead
}

// Error is the finding in one line: file:line:column: message (allowed: ...).
func (f Finding) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Severity == SeverityWarning {
		b.WriteString("warning: ")
	}
	b.WriteString(f.Message)
	if len(f.Allowed) > 0 {
		fmt.Fprintf(&b, " (allowed: %s)", strings.Join(f.Allowed, ", "))
	}
	return b.String()
}

// Findings are all findings of one or more files.
type Findings []Finding

// Error is one finding a line.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors are the findings that keep a file from being used.
func (f Findings) Errors() Findings { return f.only(SeverityError) }

// Warnings are the findings that somebody should look at.
func (f Findings) Warnings() Findings { return f.only(SeverityWarning) }

// Err is nil when no finding is an error; otherwise it is the Findings that are.
func (f Findings) Err() error {
	if errs := f.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Sort orders by file, line and column.
func (f Findings) Sort() {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
}

func (f Findings) only(s Severity) Findings {
	var out Findings
	for _, one := range f {
		if one.Severity == s {
			out = append(out, one)
		}
	}
	return out
}
