package work

import (
	"holdfast/internal/flow/compile"
	"holdfast/internal/target"
)

// fieldRules lets flows be compiled against the content that profiles declare.
type fieldRules map[string]map[string]compile.FieldRule

// FieldRules are the contents of the given profiles.
func FieldRules(profiles []*target.Profile) compile.Targets {
	out := fieldRules{}
	for _, p := range profiles {
		fields := map[string]compile.FieldRule{}
		for _, f := range p.Content {
			fields[f.Name] = compile.FieldRule{Type: compile.FieldType(f.Type), Required: f.Required, Max: f.Max}
		}
		out[p.Name] = fields
	}
	return out
}

// Names implements compile.Targets.
func (r fieldRules) Names() []string {
	var out []string
	for name := range r {
		out = append(out, name)
	}
	return out
}

// Content implements compile.Targets.
func (r fieldRules) Content(profile string) (map[string]compile.FieldRule, bool) {
	fields, ok := r[profile]
	return fields, ok
}
