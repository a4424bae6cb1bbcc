// Package sourcefile reads source configurations written in YAML.
//
// It promises that every mistake in a file is reported with the file, the line and what is allowed there, all of
// them at once, and that a file with a mistake gives no configuration.
//
// It never reads a secret, and nothing that runs per request needs it.
package sourcefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/source"
)

const (
	// FileBytesMax is the largest file that is read, in bytes.
	FileBytesMax = 64 << 10
	// FilesMax is the largest number of files that are read.
	FilesMax = source.SourcesMax
)

// Load reads every *.yaml file at the root of files. Its error joins all mistakes of all files.
func Load(files fs.FS) ([]source.Config, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list source files: %w", err)
	}
	if len(names) > FilesMax {
		return nil, fmt.Errorf("%d source files are too many; at most %d are read", len(names), FilesMax)
	}
	var configs []source.Config
	var problems []error
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err == nil {
			var c source.Config
			c, err = Parse(name, data)
			configs = append(configs, c)
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return configs, nil
}

// Parse reads one file. name is the file's name for messages; the source's name must be the same without .yaml.
func Parse(name string, data []byte) (source.Config, error) {
	if len(data) > FileBytesMax {
		return source.Config{}, fmt.Errorf("%s: the file is larger than %d KiB", name, FileBytesMax>>10)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return source.Config{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(document.Content) == 0 {
		return source.Config{}, fmt.Errorf("%s:1: the file is empty; it needs at least source and kind", name)
	}
	r := &reader{file: name}
	c := r.config(document.Content[0])
	if len(r.problems) == 0 {
		r.whole(c, document.Content[0])
	}
	if err := errors.Join(r.problems...); err != nil {
		return source.Config{}, err
	}
	return c, nil
}

// reader collects the mistakes of one file.
type reader struct {
	file     string
	problems []error
}

func (r *reader) say(at *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.file, at.Line, fmt.Sprintf(format, args...)))
}

// whole adds what can only be judged over the whole configuration.
func (r *reader) whole(c source.Config, at *yaml.Node) {
	if want := strings.TrimSuffix(path.Base(r.file), ".yaml"); c.Name != want {
		r.say(at, "the source is named %q and its file %q; give both one name", c.Name, want)
	}
	if err := c.Validate(); err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			r.say(at, "%s", line)
		}
	}
}

func (r *reader) config(node *yaml.Node) source.Config {
	var c source.Config
	r.mapping(node, []member{
		{"source", func(n *yaml.Node) { c.Name = r.text(n) }},
		{"kind", func(n *yaml.Node) { c.Kind = source.Kind(r.text(n)) }},
		{"account", func(n *yaml.Node) { c.Account = r.fields(n) }},
		{"topic", func(n *yaml.Node) { c.Topic = r.fields(n) }},
		{"event_id", func(n *yaml.Node) { c.EventID = r.fields(n) }},
		{"delivery_id", func(n *yaml.Node) { c.DeliveryID = r.fields(n) }},
		{"occurred_at", func(n *yaml.Node) { c.OccurredAt = r.fields(n) }},
		{"version", func(n *yaml.Node) { c.Version = r.fields(n) }},
		{"tolerance", func(n *yaml.Node) { c.Tolerance = r.duration(n) }},
		{"retry_horizon", func(n *yaml.Node) { c.RetryHorizon = r.duration(n) }},
		{"answer", func(n *yaml.Node) { c.Answer = source.AnswerRule(r.text(n)) }},
		{"hmac", func(n *yaml.Node) { c.HMAC = r.hmac(n) }},
		{"documentation", func(n *yaml.Node) { c.Facts = r.facts(n) }},
	})
	return c
}

func (r *reader) hmac(node *yaml.Node) *source.HMAC {
	var h source.HMAC
	r.mapping(node, []member{
		{"header", func(n *yaml.Node) { h.Header = r.text(n) }},
		{"encoding", func(n *yaml.Node) { h.Encoding = r.text(n) }},
		{"prefix", func(n *yaml.Node) { h.Prefix = r.text(n) }},
		{"template", func(n *yaml.Node) { h.Template = r.text(n) }},
		{"id", func(n *yaml.Node) { h.ID = r.text(n) }},
		{"timestamp", func(n *yaml.Node) { h.Timestamp = r.text(n) }},
	})
	return &h
}

func (r *reader) facts(node *yaml.Node) []source.Fact {
	var facts []source.Fact
	for _, item := range r.list(node) {
		var f source.Fact
		r.mapping(item, []member{
			{"page", func(n *yaml.Node) { f.Page = r.text(n) }},
			{"checked", func(n *yaml.Node) { f.Checked = r.text(n) }},
		})
		facts = append(facts, f)
	}
	return facts
}

// member is one allowed member of a mapping and what reads it.
type member struct {
	name string
	read func(*yaml.Node)
}

func (r *reader) mapping(node *yaml.Node, members []member) {
	if node.Kind != yaml.MappingNode {
		r.say(node, "a list of names with values belongs here: %s", names(members))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		at := slices.IndexFunc(members, func(m member) bool { return m.name == name.Value })
		switch {
		case at < 0:
			r.say(name, "%q is unknown here; allowed are %s", name.Value, names(members))
		case seen[name.Value]:
			r.say(name, "%q is given twice; keep one", name.Value)
		default:
			seen[name.Value] = true
			members[at].read(value)
		}
	}
}

func names(members []member) string {
	list := make([]string, len(members))
	for i, m := range members {
		list[i] = m.name
	}
	return strings.Join(list, ", ")
}

func (r *reader) list(node *yaml.Node) []*yaml.Node {
	if node.Kind != yaml.SequenceNode {
		r.say(node, "a list belongs here")
		return nil
	}
	return node.Content
}

func (r *reader) text(node *yaml.Node) string {
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
		r.say(node, "one text belongs here")
		return ""
	}
	return node.Value
}

func (r *reader) fields(node *yaml.Node) []source.Field {
	var fields []source.Field
	for _, item := range r.list(node) {
		f, err := source.ParseField(r.text(item))
		if err != nil {
			r.say(item, "%v", err)
		}
		fields = append(fields, f)
	}
	return fields
}

func (r *reader) duration(node *yaml.Node) time.Duration {
	d, err := time.ParseDuration(r.text(node))
	if err != nil {
		r.say(node, "%q is no duration; write for example 300s, 4h or 36h", node.Value)
	}
	return d
}
