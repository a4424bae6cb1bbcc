package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/app/work"
	"holdfast/internal/flow/compile"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// draftedAgain is what a second drafting adds to a text.
const draftedAgain = " (drafted again)"

// roomMin is how long a field must be allowed to be, so that a redrafted text fits, in bytes.
const roomMin = 200

// redraft is the flow file as somebody drafts it again after the approval: each stage's longest text says something
// else, and the version is the next one. It also says for which stages that changes the content.
func (p *plan) redraft() (text []byte, changed []string, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(p.text, &doc); err != nil || len(doc.Content) == 0 {
		return nil, nil, fmt.Errorf("read %s as YAML: %w", p.file.Path, err)
	}
	root := doc.Content[0]
	if v := member(root, "version"); v != nil {
		v.Value = strconv.Itoa(p.file.Version + 1)
	}
	if stages := member(root, "stages"); stages != nil {
		for _, s := range stages.Content {
			p.redraftStage(s)
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	if err := encoder.Encode(&doc); err != nil {
		return nil, nil, err
	}
	changed, err = p.differs(out.Bytes())
	return out.Bytes(), changed, err
}

func member(n *yaml.Node, name string) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func (p *plan) redraftStage(stage *yaml.Node) {
	var longest *yaml.Node
	profile := p.profiles[value(member(stage, "target"))]
	content := member(stage, "content")
	for i := 0; profile != nil && content != nil && i+1 < len(content.Content); i += 2 {
		for _, f := range profile.Content {
			if f.Name == content.Content[i].Value && (f.Max == 0 || f.Max >= roomMin) {
				longest = longerText(longest, content.Content[i+1])
			}
		}
	}
	if longest != nil {
		longest.Value += draftedAgain
	}
}

func value(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}

// longerText is the longest text among the best so far and what lies under n.
func longerText(best, n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && (best == nil || len(n.Value) > len(best.Value)) {
		return n
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue // a name
		}
		best = longerText(best, c)
	}
	return best
}

// differs plans the same event by both files and names the stages whose content differs.
func (p *plan) differs(text []byte) ([]string, error) {
	folder, err := os.MkdirTemp("", "holdfast-acceptance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, filepath.Base(p.file.Path)), text, 0o600); err != nil {
		return nil, err
	}
	_, compiled, err := work.Load(work.Parts{Flows: os.DirFS(folder), Targets: p.options.Targets})
	if err != nil {
		return nil, fmt.Errorf("the redrafted flow is not allowed: %w", err)
	}
	before, after := p.contents(p.flow), p.contents(compiled[0])
	var names []string
	for name, text := range before {
		if after[name] != text {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// contents are the stages' contents for the sample, as texts to compare.
func (p *plan) contents(f *compile.Flow) map[string]string {
	out := map[string]string{}
	planned, err := f.Plan(compile.Input{
		Event: compile.Event{ID: "ev_sample", Source: p.source.Name, Account: p.sample.account, Topic: p.sample.topic, Occurred: operation.TimeMin},
		Body:  p.sample.bytes(), HoleReference: target.HoleReference,
	})
	if err != nil {
		return out
	}
	for _, s := range planned.Stages {
		out[s.Name] = fmt.Sprint(s.Content) // maps print in the order of their keys
	}
	return out
}
