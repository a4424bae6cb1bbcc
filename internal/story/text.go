package story

import (
	"fmt"
	"io"
	"strings"

	"holdfast/internal/operation"
)

// Words gives pages and commands the same sentences.
type Words struct {
	Reason   func(operation.Reason) string
	Evidence func(operation.Evidence) string
	// Lacks says what the event of a held run lacks and what can be done; "" for every other run.
	Lacks func(*operation.Run) string
}

// Write tells the story as text.
func (st Story) Write(w io.Writer, words Words) error {
	p := &printer{w: w, words: words}
	for i := range st.Events {
		p.event(&st.Events[i])
	}
	for i := range st.Runs {
		p.run(&st.Runs[i])
	}
	for i := range st.Operations {
		p.operation(&st.Operations[i], st.Waits[st.Operations[i].ID])
	}
	if st.More {
		p.line("\nMore records have this id and are not shown.")
	}
	return p.err
}

type printer struct {
	w     io.Writer
	words Words
	begun bool
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// record begins one; a blank line stands between two.
func (p *printer) record(format string, args ...any) {
	if p.begun {
		p.line("")
	}
	p.begun = true
	p.line(format, args...)
}

func (p *printer) event(e *operation.Event) {
	p.record("event %s", e.ID)
	p.line("  source      %s, account %s, topic %s", e.Source, orNone(e.Account), orNone(e.Topic))
	p.line("  identity    by %s%s", orNone(e.Rung), signed(e.SignedID))
	p.line("  received    %s", e.Received)
	p.line("  status      %s%s", plain(e.Status), p.because(e.Reason))
	if len(e.Missing) > 0 {
		p.line("  missing     %s", strings.Join(e.Missing, ", "))
	}
	if len(e.Flows) == 0 {
		p.line("  flows       no flow waits for topic %s", orNone(e.Topic))
	}
	for _, d := range e.Deliveries {
		p.line("  delivery    %s at %s%s%s", orNone(d.ID), d.At, times(d.Count), variant(d.Variant))
	}
	p.evidence(e.Evidence)
	p.step(e.Step)
}

func signed(yes bool) string {
	if yes {
		return ", signed"
	}
	return ", not covered by the signature"
}

func variant(yes bool) string {
	if yes {
		return ", another shape of the same event"
	}
	return ""
}

func times(n int) string {
	if n > 1 {
		return fmt.Sprintf(" (%d times)", n)
	}
	return ""
}

func (p *printer) run(r *operation.Run) {
	p.record("run %s", r.ID)
	p.line("  flow        %s, %s, generation %d", r.Flow, version(r), r.Generation)
	p.line("  status      %s%s", plain(r.Status), p.because(about(r.Reason)))
	if text := p.words.Lacks(r); text != "" {
		p.line("  lacks       %s", text)
	}
	for _, s := range r.Stages {
		p.line("  stage       %s is %s%s", s.Name, s.Operation, conflict(r.ID, s))
	}
	if q := r.Question; q != nil {
		named := *q
		named.Reason = about(q.Reason)
		p.question(&named)
	}
	p.evidence(r.Evidence)
	p.step(r.Step)
}

// about is a run's reason as this release names it.
func about(r operation.Reason) operation.Reason {
	if r == operation.ReasonOtherContent {
		return operation.ReasonSameKey
	}
	return r
}

func version(r *operation.Run) string {
	if r.Version == 0 {
		return "not planned"
	}
	return fmt.Sprintf("version %d", r.Version)
}

// plain writes a status as words.
func plain(s fmt.Stringer) string { return strings.ReplaceAll(s.String(), "_", " ") }

func conflict(run operation.RunID, s operation.StageRef) string {
	switch {
	case s.Conflict:
		return ", made for another event with other content; `holdfast resolve " + string(run) + "` shows both"
	case s.Reused:
		return ", reused"
	}
	return ""
}

func (p *printer) operation(op *operation.Operation, before string) {
	p.record("operation %s", op.ID)
	p.line("  intends     %s of flow %s in %s", op.Stage, op.Flow, op.Target)
	p.line("  status      %s%s", plain(op.Status), p.because(op.Reason))
	if op.Reference != "" {
		p.line("  reference   %s", op.Reference)
	}
	p.line("  content     version %d, digest %.12s", op.Content.Version, op.Content.Digest)
	if a := op.Approval; a != nil {
		p.line("  approval    by %s at %s%s", a.By, a.At, usable(a))
	}
	if c := op.Contradiction; c != nil {
		p.line("  CONTRADICTION %s", p.words.Reason(c.Reason))
	}
	for i := range op.Attempts {
		p.attempt(&op.Attempts[i])
	}
	p.question(op.Question)
	p.evidence(op.Evidence)
	if before != "" {
		p.line("  next        wait: it waits for stage %s; owner %s", before, op.Step.Owner)
		return
	}
	p.step(op.Step)
}

func usable(a *operation.Approval) string {
	switch {
	case a.Standing:
		return ", in advance for every event of this flow's version"
	case a.ValidUntil == 0:
		return ""
	}
	return ", usable until " + a.ValidUntil.String()
}

func (p *printer) attempt(a *operation.Attempt) {
	kind := "attempt"
	if a.Replay {
		kind = "replay"
	}
	p.line("  %-11s %s claimed %s: %s", kind, a.ID, a.Claimed, result(a))
}

// result is what is proven about an attempt; one that reported nothing says so.
func result(a *operation.Attempt) string {
	switch {
	case a.Outcome == operation.OutcomeUnknown && a.Attested != nil:
		return "unknown, a person attested that nothing happened"
	case a.Outcome == operation.OutcomeUnknown && a.Recorded == 0 && a.Ended == 0:
		return "no result yet"
	}
	return a.Outcome.String()
}

func (p *printer) question(q *operation.Question) {
	if q == nil {
		return
	}
	names := make([]string, len(q.Reviewers))
	for i, r := range q.Reviewers {
		names[i] = string(r)
	}
	p.line("  question    %s, round %d, to %s since %s%s", q.Kind, q.Round, strings.Join(names, ", "), q.Asked, p.because(q.Reason))
}

func (p *printer) evidence(list []operation.Evidence) {
	for _, e := range list {
		by := ""
		if e.By != "" {
			by = " — " + string(e.By)
		}
		p.line("  %s  %s%s%s", e.At, p.words.Evidence(e), times(e.Count), by)
	}
}

func (p *printer) step(s operation.Step) {
	if s.Action == operation.ActionDone {
		p.line("  next        nothing: %s", p.words.Reason(s.Reason))
		return
	}
	p.line("  next        %s: %s owner %s, due %s", s.Action, p.words.Reason(s.Reason), s.Owner, s.Due)
}

func (p *printer) because(r operation.Reason) string {
	if r == "" {
		return ""
	}
	return ": " + p.words.Reason(r)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
