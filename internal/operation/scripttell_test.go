package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"holdfast/internal/operation"
)

func say(text, or string) string {
	if text == "" {
		return or
	}
	return text
}

// fact reads the commands that are one fact.
func (s *script) fact(d *datadriven.TestData) operation.Fact {
	ref := operation.Reference(arg(d, "ref", ""))
	switch d.Cmd {
	case "claim": // a claim as a rival would make it
		return s.claimFact(operation.AttemptID(d.CmdArgs[0].Key), arg(d, "replay", "") != "")
	case "report":
		return s.reply(d, operation.AttemptID(d.CmdArgs[0].Key), ref)
	case "lease_over":
		return operation.LeaseOver{At: s.now}
	case "look":
		return s.lookFact(d)
	case "feed":
		return operation.Fed{At: s.now, Reference: ref}
	case "ask":
		return operation.Asked{At: s.now, Question: s.question()}
	case "answer":
		return s.answerFact(d)
	case "expire":
		return operation.Lapsed{At: s.now, Question: operation.QuestionID(arg(d, "question", fmt.Sprintf("q%d", s.q)))}
	case "edit":
		return operation.Edited{At: s.now, By: owner, Content: content(number(d, "version", s.op.Content.Version+1))}
	case "stop":
		return operation.Withdrawn{At: s.now, By: owner}
	case "again":
		return operation.Reopened{At: s.now, By: owner}
	case "restore":
		s.tries++
		return operation.Restored{At: s.now, By: owner, Attempt: operation.AttemptID(fmt.Sprintf("at_%d", s.tries))}
	case "related":
		return operation.Related{At: s.now, Run: operation.RunID(arg(d, "run", "run_2"))}
	case "shared":
		return operation.Shared{At: s.now, Other: operation.ID(arg(d, "with", "op_2")), Reference: ref}
	case "unfit":
		return operation.Unfit{At: s.now, Reason: operation.Reason(d.CmdArgs[0].Key)}
	}
	s.t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	return nil
}

func (s *script) lookFact(d *datadriven.TestData) operation.Looked {
	f := operation.Looked{At: s.now}
	switch d.CmdArgs[0].Key {
	case "found":
		f.Result, f.Reference = operation.LookFound, operation.Reference(arg(d, "found", ""))
		if f.Reference == "yes" {
			f.Reference = ""
		}
	case "absent":
		f.Result = operation.LookAbsent
	case "conflict":
		f.Result = operation.LookConflict
	}
	return f
}

func (s *script) answerFact(d *datadriven.TestData) operation.Decided {
	f := s.word(operation.Answer(d.CmdArgs[0].Key))
	f.Question = operation.QuestionID(arg(d, "question", string(f.Question)))
	f.By = operation.Person(arg(d, "by", string(f.By)))
	f.How = strings.TrimSpace(strings.ReplaceAll(arg(d, "how", f.How), "nothing", ""))
	f.Reference = operation.Reference(arg(d, "ref", ""))
	f.Round = number(d, "round", f.Round)
	f.Rev -= int64(number(d, "older", 0))
	if v := number(d, "version", 0); v != 0 {
		f.Digest = digestOf(v)
	}
	return f
}

// tell shows what is new, where the operation stands, what is next and who decides.
func (s *script) tell(from int) string {
	var b strings.Builder
	for _, e := range s.op.Evidence[min(from, len(s.op.Evidence)):] {
		fmt.Fprintf(&b, "evidence: %s%s\n", e.Kind, evidenceText(e))
	}
	fmt.Fprintf(&b, "status: %s%s%s; effects at target: %d\n", s.op.Status, bracket(string(s.op.Reason)), refText(s.op.Reference), len(s.effects))
	m := s.next()
	fmt.Fprintf(&b, "next: %s%s (%s); owner %s; due in %s\n", m.Action, s.dueText(m), m.Reason, name(s.op.Step.Owner), s.stepDue())
	if c := s.op.Contradiction; c != nil {
		fmt.Fprintf(&b, "contradiction: %s%s%s%s\n", c.Reason, refText(c.First), refText(c.Second), seenText(c))
	}
	if q := s.op.Question; q != nil {
		s.tellQuestion(&b, q)
	}
	return b.String()
}

func (s *script) tellQuestion(b *strings.Builder, q *operation.Question) {
	fmt.Fprintf(b, "question %s, round %d: %s (%s)\n", q.ID, q.Round, q.Kind, q.Reason)
	for _, c := range operation.Choices(s.op, s.p, s.now) {
		if c.Legal {
			fmt.Fprintf(b, "  %s\n", c.Answer)
			continue
		}
		fmt.Fprintf(b, "  not %s: %s\n", c.Answer, c.Why)
	}
}

func seenText(c *operation.Contradiction) string {
	if c.SeenBy == "" {
		return ", nobody has seen it"
	}
	return ", seen by " + name(c.SeenBy)
}

func name(p operation.Person) string { first, _, _ := strings.Cut(string(p), "@"); return first }

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func refText(r operation.Reference) string {
	if r == "" {
		return ""
	}
	return ", reference " + string(r)
}

func evidenceText(e operation.Evidence) string {
	text := ""
	if e.Attempt != "" {
		text += " " + string(e.Attempt)
	}
	text += refText(e.Reference)
	if e.By != "" {
		text += ", by " + name(e.By)
	}
	if e.Count > 1 {
		text += fmt.Sprintf(", %d times", e.Count)
	}
	return text + bracket(e.Detail)
}

func (s *script) dueText(m operation.Move) string {
	if m.Action != operation.ActionWait {
		return ""
	}
	return fmt.Sprintf(" %s, then %s", m.Due.Sub(s.now).Round(time.Millisecond), m.Then)
}

func (s *script) stepDue() string {
	if s.op.Step.Due == 0 {
		return "never"
	}
	return s.op.Step.Due.Sub(s.now).String()
}

// stagesText shows the run's move for two stages in given statuses.
func stagesText(t *testing.T, d *datadriven.TestData) string {
	run, ops := stages(t, arg(d, "first", "proposed"), arg(d, "second", "proposed"))
	run.Stages[0].OnFailed = operation.OnFailed(arg(d, "on_failed", "stop"))
	run.Stages[1].Conflict = arg(d, "conflict", "") != ""
	if arg(d, "missing", "") != "" {
		delete(ops, run.Stages[0].Operation)
	}
	m := operation.NextRun(run, ops, func(op *operation.Operation) operation.Policy { return op.Policy }, t0.Add(5*time.Minute))
	return fmt.Sprintf("gate of the second: %s\nnext: %s (%s), stage %d, end %s\n", gateText(operation.StageGate(run, 1, ops)), m.Action, m.Reason, m.Stage, m.End)
}

func gateText(g operation.Gate) string {
	return [...]string{"closed", "open", "held", "skipped"}[g]
}

// stages is a run of two stages whose operations stand in the given statuses.
func stages(t testing.TB, first, second string) (*operation.Run, map[operation.ID]*operation.Operation) {
	a, b := everyStatus(t)[first].op, everyStatus(t)[second].op
	a.ID, b.ID = "op_1", "op_2"
	run := &operation.Run{ID: "run_1", Owner: owner, Stages: []operation.StageRef{
		{Name: "crm_task", Operation: "op_1", OnFailed: operation.OnFailedStop},
		{Name: "email", Operation: "op_2", After: "crm_task", OnFailed: operation.OnFailedStop},
	}}
	return run, map[operation.ID]*operation.Operation{"op_1": a, "op_2": b}
}
