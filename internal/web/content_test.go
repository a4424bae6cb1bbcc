package web_test

import (
	"html"
	"strings"
	"testing"

	"holdfast/internal/approval/approvaltest"
)

// Whatever content holds, the page shows it and runs nothing of it.
func TestR05_ContentIsShownWholeAndNeverRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, exact, reads string }{
		"script":        {`{"html":"</pre><script>alert(1)</script>"}`, `{"html":"</pre><script>alert(1)</script>"}`, "</pre><script>alert(1)</script>"},
		"attribute":     {`{"a":"\" onload=\"x"}`, `{"a":"\" onload=\"x"}`, `" onload="x`},
		"separator":     {"{\"a\":\"one\u2028two\"}", "{\"a\":\"one\u2028two\"}", "U+2028"},
		"escaped":       {`{"a":"one\u2028two"}`, `{"a":"one\u2028two"}`, "U+2028"},
		"right to left": {"{\"a\":\"pay \u202e01$\"}", "{\"a\":\"pay \u202e01$\"}", "U+202E"},
		"emoji":         {`{"a":"👩‍👩‍👧 hej"}`, `{"a":"👩‍👩‍👧 hej"}`, "👩‍👩‍👧 hej"},
		"big number":    {`{"n":12345678901234567890.10}`, `12345678901234567890.10`, "12345678901234567890.10"},
		"chinese":       {`{"a":"您好"}`, `{"a":"您好"}`, "您好"},
		"entity":        {`{"a":"&lt;b&gt;"}`, `{"a":"&lt;b&gt;"}`, "&lt;b&gt;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Propose("crm_task", c.body)
			b.Ask("op_crm_task")
			page := b.get(b.Of(approvaltest.Reviewer))
			text := html.UnescapeString(page)
			if !strings.Contains(text, c.exact) || !strings.Contains(text, c.reads) {
				t.Errorf("the page lacks %q or %q", c.exact, c.reads)
			}
			if strings.Contains(page, "<script>alert") || strings.Contains(page, `onload="x"`) {
				t.Error("content became markup")
			}
		})
	}
}

func TestR05_PageHasWhatAReviewerNeeds(t *testing.T) {
	t.Parallel()
	b, i := held(t)
	page := b.get(i)
	for _, want := range []string{"What happened?", "https://crm.example.com", "account <code>demo</code>", "GET https://crm.example.com/effects?operation_id=op_crm_task",
		"Unknown: nothing is proven", "It exists", "Not possible now", "Owner: ops-lead@example.com", string(b.Op("op_crm_task").Content.Digest), "Attempt <code>at_op_crm_task</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestR05_ContentInWords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Propose("email", `{"from":"Shop <hello@example.com>","to":["ada@example.com"],"html":"<p>Hello</p>","tags":[{"value":"op_email"}]}`)
	b.Ask("op_email")
	page := html.UnescapeString(b.get(b.Of(approvaltest.Reviewer)))
	for _, want := range []string{"<dt>to[0]</dt>", "Our own id of the operation stands in tags[0].value", "a yes may be used for 48 hours", "Nobody has approved this content yet."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "HTML, as source"); n != 1 {
		t.Errorf("%d values are called HTML; want 1", n)
	}
}
