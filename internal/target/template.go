package target

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// text is a template: literal pieces and placeholders in turn.
type text []piece

type piece struct {
	literal string
	name    string // of the placeholder; "" for a literal
}

// pair is a named template: a query parameter or a header.
type pair struct {
	name  string
	value text
}

// tree is a JSON value as a template. Exactly one of its parts is set.
type tree struct {
	raw   string // a number, true, false or null, verbatim
	text  *text
	names []string // of an object's members, with items in the same order
	items []*tree
	kind  treeKind
}

type treeKind uint8

const (
	treeRaw treeKind = iota
	treeText
	treeList
	treeObject
)

var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// parseText splits a template; every placeholder must be one of the allowed names or begin with "request:/".
func parseText(s string, allowed []string) (text, error) {
	var out text
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(s, -1) {
		name := s[m[2]:m[3]]
		if !slices.Contains(allowed, name) && !(strings.HasPrefix(name, "request:/") && slices.Contains(allowed, "request:/…")) {
			return nil, fmt.Errorf("unknown placeholder ${%s} (allowed: %s)", name, strings.Join(allowed, ", "))
		}
		out = append(out, piece{literal: s[at:m[0]]}, piece{name: name})
		at = m[1]
	}
	if strings.Contains(placeholder.ReplaceAllString(s, ""), "${") {
		return nil, errors.New("a placeholder is not closed with }")
	}
	out = append(out, piece{literal: s[at:]})
	return slices.DeleteFunc(out, func(p piece) bool { return p == piece{} }), nil
}

// sole gives the placeholder's name when the template is nothing else.
func (t text) sole() string {
	if len(t) == 1 {
		return t[0].name
	}
	return ""
}

// values gives a placeholder's value; known is false for an optional field that was left out.
type values func(name string) (v any, known bool, err error)

func (t text) render(get values, escape func(string) (string, error)) (string, error) {
	var out strings.Builder
	for _, p := range t {
		out.WriteString(p.literal)
		if p.name == "" {
			continue
		}
		s, err := scalarText(p.name, get)
		if err == nil {
			s, err = escape(s)
		}
		if err != nil {
			return "", fmt.Errorf("${%s}: %w", p.name, err)
		}
		out.WriteString(s)
	}
	return out.String(), nil
}

func scalarText(name string, get values) (string, error) {
	v, known, err := get(name)
	if err != nil || !known {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return fmt.Sprint(v), nil
	}
	return numberText(v)
}

func asIs(s string) (string, error) { return s, nil }

func inPath(s string) (string, error) {
	if err := checkPathValue(s); err != nil {
		return "", err
	}
	return url.PathEscape(s), nil
}

func inQuery(s string) (string, error) { return url.QueryEscape(s), nil }

// appendTree writes the template's JSON with its placeholders replaced. It reports false for a value that is
// nothing but an optional field that was left out: that member or item is left out too.
func appendTree(dst []byte, t *tree, get values) ([]byte, bool, error) {
	switch t.kind {
	case treeText:
		return appendTreeText(dst, *t.text, get)
	case treeList:
		return appendItems(dst, t, get, '[', ']')
	case treeObject:
		return appendItems(dst, t, get, '{', '}')
	}
	return append(dst, t.raw...), true, nil
}

func appendTreeText(dst []byte, t text, get values) ([]byte, bool, error) {
	if name := t.sole(); name != "" {
		v, known, err := get(name)
		if err != nil || !known {
			return dst, false, err
		}
		dst, err = appendValue(dst, v, 0)
		if err != nil {
			err = fmt.Errorf("${%s}: %w", name, err)
		}
		return dst, true, err
	}
	s, err := t.render(get, asIs)
	if err != nil {
		return dst, false, err
	}
	dst, err = appendText(dst, s)
	return dst, true, err
}

func appendItems(dst []byte, t *tree, get values, open, end byte) ([]byte, bool, error) {
	dst = append(dst, open)
	first := true
	for i, item := range t.items {
		before := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if t.kind == treeObject {
			if dst, err = appendText(dst, t.names[i]); err != nil {
				return nil, false, err
			}
			dst = append(dst, ':')
		}
		var there bool
		if dst, there, err = appendTree(dst, item, get); err != nil {
			return nil, false, err
		}
		if !there {
			dst = dst[:before]
			continue
		}
		first = false
	}
	return append(dst, end), true, nil
}
