package operation_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"holdfast/internal/operation"
)

// The scripts in testdata/script state the rules in an operator's words; `go test -rewrite` writes the answers anew.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		s := &script{story: story{t: t, now: t0, p: careful()}}
		datadriven.RunTest(t, path, s.run)
	})
}

// script is one operation, and a simulated target that counts its effects.
type script struct {
	story
	tries   int
	effects []operation.Reference
	keys    map[int]operation.Reference // by key generation
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	s.t = t
	switch d.Cmd {
	case "cells":
		return cellsText(t)
	case "target":
		return s.target(d)
	case "propose":
		return s.proposeCmd(d)
	case "wait":
		s.wait(length(t, d.CmdArgs[0].Key))
		return s.tell(len(s.op.Evidence))
	case "next":
		return s.tell(len(s.op.Evidence))
	case "execute":
		return s.execute(d)
	case "fence":
		why := operation.Fence(s.op, operation.AttemptID(d.CmdArgs[0].Key), s.p, s.now)
		return "fence: " + say(string(why), "may send") + "\n"
	case "damage": // a record whose filled bytes are not those of the attempts
		s.op.Filled.Digest = "other"
		return s.tell(len(s.op.Evidence))
	case "spend":
		return s.spend(d)
	case "stages":
		return stagesText(t, d)
	}
	return s.apply(s.fact(d))
}

func length(t testing.TB, text string) time.Duration {
	v, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// arg is the value of a named argument, or its default.
func arg(d *datadriven.TestData, name, or string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			if len(a.Vals) == 0 {
				return "yes"
			}
			return a.Vals[0]
		}
	}
	return or
}

func number(d *datadriven.TestData, name string, or int) int {
	v, err := strconv.Atoi(arg(d, name, strconv.Itoa(or)))
	if err != nil {
		return or
	}
	return v
}

func (s *script) target(d *datadriven.TestData) string {
	p := careful()
	must := func(err error) {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	must(p.Protection.UnmarshalText([]byte(arg(d, "protection", "none"))))
	must(p.Order.UnmarshalText([]byte(arg(d, "order", "look_up"))))
	p.KeyWindow, p.KeyMargin = length(s.t, arg(d, "window", "24h")), length(s.t, arg(d, "margin", "1h"))
	p.Visible, p.LookupEvery = length(s.t, arg(d, "visible", "30s")), length(s.t, arg(d, "every", "10s"))
	p.Lookup = arg(d, "lookup", "none") != "none"
	p.AbsentCounts = arg(d, "lookup", "none") == "absent_counts"
	p.LookupsMax, p.ReplaysMax, p.AttemptsMax = number(d, "lookups", 3), number(d, "replays", 2), number(d, "attempts", 3)
	s.p = p
	s.op, s.now, s.tries, s.q, s.effects, s.keys = nil, t0, 0, 0, nil, map[int]operation.Reference{}
	return "ok\n"
}

func (s *script) proposeCmd(d *datadriven.TestData) string {
	var yes *operation.Approval
	if of := arg(d, "standing", ""); of != "" {
		yes = standing()
		if of == "other" {
			yes.Digest = digestOf(2)
		}
	}
	s.propose(yes)
	if by := arg(d, "send_by", ""); by != "" {
		s.op.SendBy = t0.Add(length(s.t, by))
	}
	return s.tell(0)
}

// execute does what Next allows: it claims, sends, and records what came back.
func (s *script) execute(d *datadriven.TestData) string {
	m := s.next()
	if m.Action != operation.ActionSend && m.Action != operation.ActionReplay {
		return "nothing was sent\n" + s.tell(len(s.op.Evidence))
	}
	s.tries++
	id := operation.AttemptID(fmt.Sprintf("at_%d", s.tries))
	from := len(s.op.Evidence)
	claim := s.claimFact(id, m.Action == operation.ActionReplay)
	if arg(d, "bytes", "") == "other" {
		claim.Filled.Digest = "other"
	}
	if why := s.try(claim); why != "" {
		return "refused: " + string(why) + "\n"
	}
	ref := s.carryOut(arg(d, "target", "commits"))
	if arg(d, "reply", "ok") != "never" {
		if why := s.try(s.reply(d, id, ref)); why != "" {
			return "refused: " + string(why) + "\n"
		}
	}
	return s.tell(from)
}

// carryOut is the simulated target: it collapses a repeat under a key or a natural key it knows.
func (s *script) carryOut(what string) operation.Reference {
	gen := s.op.Generation
	if s.p.Protection == operation.ProtectionNatural {
		gen = 0
	}
	if what == "forgets" { // its window is over: the key is new to it
		delete(s.keys, gen)
		what = "commits"
	}
	if ref := s.keys[gen]; ref != "" && s.p.Protection != operation.ProtectionNone {
		return ref
	}
	if what != "commits" {
		return ""
	}
	ref := operation.Reference(strconv.Itoa(7714 + len(s.effects)))
	s.effects = append(s.effects, ref)
	s.keys[gen] = ref
	return ref
}

func (s *script) reply(d *datadriven.TestData, id operation.AttemptID, ref operation.Reference) operation.Reported {
	f := operation.Reported{Attempt: id, At: s.now, Kind: operation.EvidenceAnswer}
	switch reply := arg(d, "reply", "ok"); reply {
	case "ok":
		f.Outcome, f.Reference = operation.OutcomeExecuted, operation.Reference(arg(d, "ref", string(ref)))
	case "lost":
		f.Kind, f.Detail = operation.EvidenceNoAnswer, "no answer in time, request was written"
	case "proxy_403":
		f.Kind, f.Detail = operation.EvidenceNoAnswer, "403 without the target's error shape"
	case "rejected", "rejected_for_good":
		f.Outcome, f.Permanent = operation.OutcomeNotExecuted, reply == "rejected_for_good"
	case "retry_later":
		f.Outcome, f.RetryAfter = operation.OutcomeNotExecuted, s.now.Add(5*time.Minute)
	case "no_connection":
		f.Outcome, f.Kind = operation.OutcomeNotExecuted, operation.EvidenceNoByteSent
	case "stored_error":
		f.Kind, f.NoRepeat, f.Detail = operation.EvidenceNoAnswer, true, "an error stored under the key"
	default:
		s.t.Fatalf("no reply %q", reply)
	}
	return f
}

// spend fills the story with what leaves evidence, so that a bound is met.
func (s *script) spend(d *datadriven.TestData) string {
	for i := range number(d, "evidence", 0) {
		s.try(operation.Looked{At: s.now, Detail: fmt.Sprintf("answer %d", i%2)})
	}
	for i := range number(d, "runs", 0) {
		s.try(operation.Related{At: s.now, Run: operation.RunID(fmt.Sprintf("run_%d", i))})
	}
	return fmt.Sprintf("evidence: %d entries, runs: %d\n", len(s.op.Evidence), len(s.op.Runs))
}

func (s *script) apply(f operation.Fact) string {
	from, told := len(s.op.Evidence), count(s.op.Evidence)
	next, refused := operation.Apply(s.op, f, s.p)
	if refused != nil {
		out := "refused: " + string(refused.Reason) + "\n"
		if st := refused.Standing; st != nil {
			out += fmt.Sprintf("standing: %s by %s\n", st.Answer, say(string(st.By), "nobody"))
		}
		return out
	}
	next.Rev++
	s.op = next
	if len(next.Evidence) == from && count(next.Evidence) > told {
		from-- // counted at the one before
	}
	return s.tell(from)
}

// TestEveryReasonIsInAScript reads the reasons from reason.go: one that no script shows is dead or untested.
func TestEveryReasonIsInAScript(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all strings.Builder
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if !strings.HasPrefix(line, "#") {
				all.WriteString(line + "\n")
			}
		}
	}
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(all.String(), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		words[w] = true
	}
	for _, reason := range reasonsOf(t) {
		if !words[reason] {
			t.Errorf("reason %s appears in no script", reason)
		}
	}
}

func reasonsOf(t *testing.T) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(v.Names[0].Name, "Reason") && len(v.Values) == 1 {
			text, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			out = append(out, text)
		}
		return true
	})
	return out
}
