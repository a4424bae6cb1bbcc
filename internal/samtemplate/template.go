// Package samtemplate reads template.yaml: routes, functions and their environment, as a deployed stack gets them.
//
// It promises that the laptop serves the routes and gives the variables that the template declares, and that what it
// does not understand is an error with its line, never a silent gap. It never deploys, never transforms, and knows only
// what this product's template uses.
package samtemplate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	templateBytesMax = 1 << 20 // CloudFormation's own bound
	depthMax         = 40      // nested values
)

// Template is a parsed template. Values in it are string, []any, map[string]any, or Call for an intrinsic function;
// numbers and booleans are strings as they are written.
type Template struct {
	// Parameters are the declared parameters with the default of each; nil for one without a default.
	Parameters map[string]*string
	Conditions map[string]any
	Resources  map[string]Resource
	Outputs    map[string]any
	function   map[string]any // Globals.Function
}

// Resource is one resource by its logical id.
type Resource struct {
	Type       string
	Properties map[string]any
	// Attributes are what stands beside Type and Properties: Condition, DeletionPolicy, Metadata, ...
	Attributes map[string]any
}

// Call is an intrinsic function, by its short name (Ref, Sub, GetAtt, If, Equals, Not), with what it is given. The
// argument of GetAtt is one string, "Resource.Attribute".
type Call struct {
	Name string
	Arg  any
}

// Parse reads a template. Every error says the line, where there is one, and what is understood there.
func Parse(template []byte) (*Template, error) {
	if len(template) > templateBytesMax {
		return nil, fmt.Errorf("template: %d bytes of at most %d", len(template), templateBytesMax)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(template, &doc); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("template: it is empty; it must have Resources")
	}
	v, err := value(doc.Content[0], 0)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("template: it must be a mapping with Resources")
	}
	return build(root)
}

func build(root map[string]any) (*Template, error) {
	t := &Template{Parameters: map[string]*string{}, Resources: map[string]Resource{}}
	t.Conditions, _ = root["Conditions"].(map[string]any)
	t.Outputs, _ = root["Outputs"].(map[string]any)
	globals, _ := root["Globals"].(map[string]any)
	t.function, _ = globals["Function"].(map[string]any)
	parameters, _ := root["Parameters"].(map[string]any)
	for name, p := range parameters {
		t.Parameters[name] = nil
		if d, ok := field(p, "Default").(string); ok {
			t.Parameters[name] = &d
		}
	}
	resources, _ := root["Resources"].(map[string]any)
	if len(resources) == 0 {
		return nil, errors.New("template: it has no Resources")
	}
	for id, r := range resources {
		kind, ok := field(r, "Type").(string)
		if !ok {
			return nil, fmt.Errorf("template: resource %s has no Type", id)
		}
		rest := maps.Clone(r.(map[string]any))
		properties, _ := rest["Properties"].(map[string]any)
		delete(rest, "Type")
		delete(rest, "Properties")
		t.Resources[id] = Resource{Type: kind, Properties: properties, Attributes: rest}
	}
	return t, nil
}

// field is one entry of a mapping; nil when v is no mapping or has no such entry.
func field(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// value turns a node into a value. Anchors are refused, as CloudFormation refuses them.
func value(n *yaml.Node, depth int) (any, error) {
	if depth > depthMax {
		return nil, fmt.Errorf("line %d: nested deeper than %d", n.Line, depthMax)
	}
	if name, ok := strings.CutPrefix(n.Tag, "!"); ok && !strings.HasPrefix(name, "!") {
		return call(n, name, depth)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value, nil
	case yaml.SequenceNode:
		return sequence(n, depth)
	case yaml.MappingNode:
		return mapping(n, depth)
	}
	return nil, fmt.Errorf("line %d: anchors and aliases are not understood; write the value out", n.Line)
}

func sequence(n *yaml.Node, depth int) (any, error) {
	list := make([]any, 0, len(n.Content))
	for _, c := range n.Content {
		v, err := value(c, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func mapping(n *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, c := n.Content[i], n.Content[i+1]
		if _, twice := m[k.Value]; twice {
			return nil, fmt.Errorf("line %d: %q stands twice", k.Line, k.Value)
		}
		v, err := value(c, depth+1)
		if err != nil {
			return nil, err
		}
		m[k.Value] = v
	}
	return long(n, m)
}

// long is the written-out form of an intrinsic function: a mapping with Ref or Fn::Name alone.
func long(n *yaml.Node, m map[string]any) (any, error) {
	for k, v := range m {
		name, fn := strings.CutPrefix(k, "Fn::")
		if !fn && k != "Ref" {
			continue
		}
		if len(m) != 1 {
			return nil, fmt.Errorf("line %d: %s must stand alone", n.Line, k)
		}
		return known(n, name, v)
	}
	return m, nil
}

func call(n *yaml.Node, name string, depth int) (any, error) {
	plain := *n
	plain.Tag = ""
	arg, err := value(&plain, depth+1)
	if err != nil {
		return nil, err
	}
	return known(n, name, arg)
}

var understood = []string{"Ref", "Sub", "GetAtt", "If", "Equals", "Not"}

func known(n *yaml.Node, name string, arg any) (any, error) {
	if !slices.Contains(understood, name) {
		return nil, fmt.Errorf("line %d: !%s is not understood here; use one of %v", n.Line, name, understood)
	}
	if parts, ok := arg.([]any); ok && name == "GetAtt" && len(parts) == 2 {
		arg = fmt.Sprintf("%v.%v", parts[0], parts[1])
	}
	return Call{Name: name, Arg: arg}, nil
}
