package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/operation"
)

// Report is what was tried and how it went.
type Report struct {
	Cases []Case `json:"cases"`

	Flow    string         `json:"-"`
	Version int            `json:"-"`
	Source  string         `json:"-"`
	Sample  string         `json:"-"` // the event, as JSON
	Derived bool           `json:"-"` // the sample was made up from the flow file
	Targets []TargetReport `json:"-"`
}

// TargetReport says of one stage what its target lets the product rely on.
type TargetReport struct{ Stage, Title, Simulation, Protection string }

func (p *plan) report() Report {
	r := Report{Flow: p.file.Name, Version: p.file.Version, Source: p.source.Name, Sample: p.sample.shown(), Derived: p.sample.derived}
	for _, s := range p.stages() {
		r.Targets = append(r.Targets, TargetReport{s.Name, p.profiles[s.Target].Title, p.sims[s.Target], protection(p.policy(s))})
	}
	return r
}

// protection is what a policy allows after a lost answer, in words.
func protection(p operation.Policy) string {
	var parts []string
	switch p.Protection {
	case operation.ProtectionKey:
		parts = append(parts, fmt.Sprintf("a key protects for %s (less %s)", short(p.KeyWindow), short(p.KeyMargin)))
	case operation.ProtectionNatural:
		parts = append(parts, "a unique value protects, without end")
	default:
		parts = append(parts, "nothing protects against a repeat")
	}
	if p.Lookup {
		parts = append(parts, "the target can be asked by our id")
	} else {
		parts = append(parts, "the target cannot be asked")
	}
	return strings.Join(parts, "; ")
}

// Passed says that every case passed. A target that contradicts its profile does not make it false: that is the
// target's fault, and the report says so.
func (r Report) Passed() bool {
	return len(r.Cases) > 0 && !slices.ContainsFunc(r.Cases, func(c Case) bool { return !c.Passed })
}

func (r Report) failed() int { return r.count(WordFailed) }

func (r Report) count(word string) int {
	n := 0
	for _, c := range r.Cases {
		if c.Word() == word {
			n++
		}
	}
	return n
}

// Summary is the last line on a terminal.
func (r Report) Summary() string {
	text := fmt.Sprintf("%s version %d: %s", r.Flow, r.Version, r.Verdict())
	if r.failed() > 0 {
		for _, c := range r.Cases {
			for _, k := range c.Checks {
				if !k.OK {
					text += fmt.Sprintf("\n  %d %s: not true: %s", c.N, c.Name, k.Text)
				}
			}
		}
	}
	for _, lie := range r.Lies() {
		text += "\n  when it lies: " + lie
	}
	return text
}

// Lies are the contradictions of targets that the extra runs led to.
func (r Report) Lies() []string {
	var out []string
	for _, c := range r.Cases {
		out = append(out, c.Warns...)
	}
	return out
}

// short is a length of time without its empty parts.
func short(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "m0s")
	if text == d.String() {
		return text
	}
	if hours := strings.TrimSuffix(text, "h0"); hours != text {
		return hours + "h"
	}
	return text + "m"
}

// Line is one case on a terminal.
func (c Case) Line() string {
	return fmt.Sprintf("%-6s  %d  %-72s  effects %-34s duplicates %d", c.Word(), c.N, c.Name, c.effects(), c.Duplicates)
}

func (c Case) effects() string {
	var parts []string
	for _, s := range c.Sent {
		parts = append(parts, fmt.Sprintf("%s %d", s.Stage, c.Effects[s.Stage]))
	}
	return strings.Join(parts, ", ")
}
