// Package mutant breaks the rules on purpose, one small wrong change at a time, and finds out what notices.
//
// It promises that a mutant counts as killed only when a named test, or the simulation, turned red over it: a change
// that does not compile, or whose killer ran nothing, is an error and never a kill. It never changes the working tree:
// each change is laid over it for one build.
//
// Each file in the folder mutants is one mutant; its name begins with the rule that it breaks:
//
//	rule: R4
//	wrong: The end of a lease is taken as proof that nothing was sent.
//	harm: A worker died after its request left; the next one sends it again, and the customer gets two e-mails.
//	kill: test internal/operation TestR04_NoTimerTurnsUnknownIntoNotExecuted
//	kill: simulate 200
//
//	--- old internal/operation/table.go
//	(whole lines as they stand in that file, exactly once)
//	--- new
//	(the lines that replace them; none to delete)
//
// Killers are tried in their order, so the narrow one stands first. More old and new pairs may follow.
package mutant

import (
	"fmt"
	"strings"
)

// RulesMax is the number of the last rule of the design.
const RulesMax = 13

// Mutant is one small wrong change with what must notice it.
type Mutant struct {
	Name    string // of its file, without the ending
	Path    string // of its file
	Rule    int    // 1 to RulesMax
	Wrong   string // what the changed code does
	Harm    string // what that would do to a customer
	Killers []Killer
	Edits   []Edit
}

// RuleName is the rule as the design writes it.
func (m *Mutant) RuleName() string { return fmt.Sprintf("R%d", m.Rule) }

// Edit replaces whole lines of one file.
type Edit struct {
	File     string // from the root, with slashes
	Line     int    // of the mutant's file where the edit begins
	Old, New string // whole lines, the last one with its end; New may be empty
}

// Killer is what is expected to notice: tests of one package by their names, or the simulation.
type Killer struct {
	Line    int      // of the mutant's file
	Package string   // folder from the root; "" for the simulation
	Tests   []string // names of test functions
	Seeds   int      // of the simulation
	First   uint64   // seed of the simulation; 0 leaves it to the simulation
}

// String is the killer as the file writes it.
func (k Killer) String() string {
	if k.Package == "" {
		return fmt.Sprintf("simulate %d", k.Seeds)
	}
	return "test " + k.Package + " " + strings.Join(k.Tests, " ")
}
