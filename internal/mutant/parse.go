package mutant

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	fileBytesMax = 64 << 10 // of one mutant's file
	seedsMax     = 1_000_000
	ending       = ".txt"
)

var nameShape = regexp.MustCompile(`^R([0-9]{2})(-[a-z0-9]+)+$`)

// Load reads every mutant of a folder, in the order of their names. All faults are reported at once, each with its
// file and line.
func Load(folder string) ([]Mutant, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the mutants: %w", err)
	}
	var all []Mutant
	var faults faults
	for _, e := range entries {
		file := filepath.Join(folder, e.Name())
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the mutants: %w", err)
		}
		m, err := Parse(file, text)
		faults.add(err)
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the folder %s has no mutants", folder)
	}
	return all, faults.err()
}

// Parse reads one mutant. file is where it stands, for its name and for errors.
func Parse(file string, text []byte) (Mutant, error) {
	p := &parser{m: Mutant{Path: file, Name: strings.TrimSuffix(filepath.Base(file), ending)}}
	shape := nameShape.FindStringSubmatch(p.m.Name)
	if shape == nil || filepath.Ext(file) != ending {
		return p.m, p.fault(1, "the file's name must be a rule and words, such as R04-lease-end-is-not-sent%s", ending)
	}
	if len(text) > fileBytesMax || !strings.HasSuffix(string(text), "\n") {
		return p.m, p.fault(1, "must end with a line end and have at most %d bytes", fileBytesMax)
	}
	p.seen = map[string]bool{}
	for i, line := range strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n") {
		p.line = i + 1
		if err := p.take(strings.TrimSuffix(line, "\n")); err != nil {
			return p.m, err
		}
	}
	return p.m, p.whole(shape[1])
}

// parser is the state between two lines: in the head, in an old text, or in a new one.
type parser struct {
	m     Mutant
	line  int
	seen  map[string]bool
	inNew bool
}

func (p *parser) fault(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.m.Path, line, fmt.Sprintf(format, args...))
}

func (p *parser) take(line string) error {
	if what, ok := strings.CutPrefix(line, "--- "); ok {
		return p.section(what)
	}
	if len(p.m.Edits) == 0 {
		return p.head(line)
	}
	e := &p.m.Edits[len(p.m.Edits)-1]
	if p.inNew {
		e.New += line + "\n"
	} else {
		e.Old += line + "\n"
	}
	return nil
}

func (p *parser) section(what string) error {
	file, isOld := strings.CutPrefix(what, "old ")
	switch {
	case isOld && len(p.m.Edits) > 0 && !p.inNew:
		return p.fault(p.line, "the old text before has no new text: end it with --- new")
	case isOld && !clean(file):
		return p.fault(p.line, "%q is no path from the root of the project", file)
	case isOld:
		p.m.Edits = append(p.m.Edits, Edit{File: file, Line: p.line})
		p.inNew = false
	case what == "new" && len(p.m.Edits) > 0 && !p.inNew:
		p.inNew = true
	default:
		return p.fault(p.line, "%q is no section here: --- old FILE and --- new take turns", "--- "+what)
	}
	return nil
}

func clean(file string) bool {
	return file != "" && path.Clean(file) == file && !path.IsAbs(file) && !strings.HasPrefix(file, "..")
}

func (p *parser) head(line string) error {
	if line == "" {
		return nil
	}
	key, value, ok := strings.Cut(line, ": ")
	value = strings.TrimSpace(value)
	if !ok || value == "" {
		return p.fault(p.line, "%q is no line of the head: rule, wrong, harm or kill, a colon and a value", line)
	}
	if p.seen[key] && key != "kill" {
		return p.fault(p.line, "%s is given twice", key)
	}
	p.seen[key] = true
	switch key {
	case "rule":
		return p.rule(value)
	case "wrong":
		p.m.Wrong = value
	case "harm":
		p.m.Harm = value
	case "kill":
		return p.kill(strings.Fields(value))
	default:
		return p.fault(p.line, "%q is unknown: allowed are rule, wrong, harm and kill", key)
	}
	return nil
}

func (p *parser) rule(value string) error {
	n, err := strconv.Atoi(strings.TrimPrefix(value, "R"))
	if err != nil || value != fmt.Sprintf("R%d", n) || n < 1 || n > RulesMax {
		return p.fault(p.line, "%q is no rule: R1 to R%d", value, RulesMax)
	}
	p.m.Rule = n
	return nil
}

func (p *parser) kill(words []string) error {
	k := Killer{Line: p.line}
	switch {
	case words[0] == "test" && len(words) >= 3 && clean(words[1]):
		k.Package, k.Tests = words[1], words[2:]
	case words[0] == "simulate" && len(words) == 2:
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 || n > seedsMax {
			return p.fault(p.line, "%q is no number of seeds: 1 to %d", words[1], seedsMax)
		}
		k.Seeds = n
	default:
		return p.fault(p.line, "a killer is \"test FOLDER TestName ...\" or \"simulate SEEDS\"")
	}
	p.m.Killers = append(p.m.Killers, k)
	return nil
}

// whole says what the file lacks.
func (p *parser) whole(rule string) error {
	switch m := &p.m; {
	case m.Rule == 0 || m.Wrong == "" || m.Harm == "" || len(m.Killers) == 0:
		return p.fault(1, "the head needs rule, wrong, harm and at least one kill")
	case rule != fmt.Sprintf("%02d", m.Rule):
		return p.fault(1, "the file's name says R%s and its head R%d", rule, m.Rule)
	case len(m.Edits) == 0 || !p.inNew:
		return p.fault(p.line, "needs --- old FILE, its text, and --- new")
	}
	for _, e := range p.m.Edits {
		if e.Old == "" || e.Old == e.New {
			return p.fault(e.Line, "the old text is empty or the same as the new one")
		}
	}
	return nil
}
