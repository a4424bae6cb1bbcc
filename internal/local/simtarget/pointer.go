package simtarget

import (
	"strconv"
	"strings"
)

// pointer reads an RFC 6901 pointer.
func pointer(doc any, at string) (any, bool) {
	if at == "" || at == "/" {
		return doc, doc != nil
	}
	return descend(doc, stepsOf(at))
}

// stepsOf splits a pointer into its unescaped steps.
func stepsOf(at string) []string {
	steps := strings.Split(strings.TrimPrefix(at, "/"), "/")
	if strings.Contains(at, "~") {
		for i, step := range steps {
			steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		}
	}
	return steps
}

// descend follows a pointer's steps.
func descend(doc any, steps []string) (any, bool) {
	for _, step := range steps {
		switch v := doc.(type) {
		case map[string]any:
			sub, ok := v[step]
			if !ok {
				return nil, false
			}
			doc = sub
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// setPointer writes a value, making the mappings on the way.
func setPointer(doc map[string]any, at string, value any) {
	steps := strings.Split(strings.TrimPrefix(at, "/"), "/")
	for _, step := range steps[:len(steps)-1] {
		sub, ok := doc[step].(map[string]any)
		if !ok {
			sub = map[string]any{}
			doc[step] = sub
		}
		doc = sub
	}
	doc[steps[len(steps)-1]] = value
}
