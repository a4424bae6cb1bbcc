package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const userAgent = "holdfast"

// Render makes the request that will be sent: the content's fields and the operation's id in the profile's
// template, addressed to d. The key and the references of earlier stages stay holes. Errors name the field and
// never its value.
func Render(p *Profile, op string, content map[string]any, d Destination) (Request, error) {
	if err := p.checkContent(content); err != nil {
		return Request{}, fmt.Errorf("content for %s: %w", p.Name, err)
	}
	r, err := p.Request.render(d, p.contentValues(op, content, d))
	if err != nil {
		return Request{}, fmt.Errorf("content for %s: %w", p.Name, err)
	}
	r.Target, r.Operation = p.Name, op
	if h := p.Protection.KeyHeader; h != "" {
		r.Headers = append(r.Headers, Header{h, markKey})
		slices.SortFunc(r.Headers, byName)
	}
	if err := r.check(); err != nil {
		return Request{}, fmt.Errorf("content for %s: %w", p.Name, err)
	}
	return r, nil
}

func byName(a, b Header) int { return strings.Compare(a.Name, b.Name) }

func (p *Profile) contentValues(op string, content map[string]any, d Destination) values {
	return func(name string) (any, bool, error) {
		field, isContent := strings.CutPrefix(name, "content.")
		if isContent {
			v, known := content[field]
			return v, known, nil
		}
		if name == "key" {
			return markKey, true, nil
		}
		return commonValue(name, op, d)
	}
}

func commonValue(name, op string, d Destination) (any, bool, error) {
	switch name {
	case "operation":
		if !keyShape.MatchString(op) {
			return nil, false, errors.New("the operation's id has characters that an id does not have")
		}
		return op, true, nil
	case "account":
		return d.Account, true, nil
	case "api_version":
		return d.APIVersion, true, nil
	}
	return nil, false, errors.New("no such value")
}

func (c *Call) render(d Destination, get values) (Request, error) {
	r := Request{Method: c.Method, Base: d.Base, Account: d.Account, APIVersion: d.APIVersion}
	path, err := c.Path.render(get, inPath)
	if err != nil {
		return r, err
	}
	query, err := c.query(get)
	if err != nil {
		return r, err
	}
	r.URL = d.Base + path + query
	if r.Headers, err = c.headers(get); err != nil || c.Body == nil {
		return r, err
	}
	raw, _, err := appendTree(nil, c.Body, get)
	if err != nil {
		return r, err
	}
	r.Body, err = canonical(raw)
	return r, err
}

func (c *Call) query(get values) (string, error) {
	var out []string
	for _, q := range c.Query {
		v, err := q.value.render(get, inQuery)
		if err != nil {
			return "", err
		}
		out = append(out, url.QueryEscape(q.name)+"="+v)
	}
	if len(out) == 0 {
		return "", nil
	}
	return "?" + strings.Join(out, "&"), nil
}

func (c *Call) headers(get values) ([]Header, error) {
	byName := map[string]string{"Accept": "application/json", "User-Agent": userAgent}
	if c.Body != nil {
		byName["Content-Type"] = "application/json"
	}
	for _, h := range c.Headers {
		v, err := h.value.render(get, asIs)
		if err != nil {
			return nil, err
		}
		byName[textproto.CanonicalMIMEHeaderKey(h.name)] = v
	}
	var out []Header
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, Header{name, byName[name]})
	}
	return out, nil
}

func (p *Profile) checkContent(content map[string]any) error {
	var faults []error
	known := map[string]bool{}
	for _, f := range p.Content {
		known[f.Name] = true
		v, there := content[f.Name]
		if !there {
			if f.Required {
				faults = append(faults, fmt.Errorf("field %q is missing", f.Name))
			}
			continue
		}
		if err := f.check(v); err != nil {
			faults = append(faults, fmt.Errorf("field %q: %w", f.Name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if !known[name] {
			faults = append(faults, fmt.Errorf("field %q is not declared (allowed: %s)", name, p.fieldNames()))
		}
	}
	return errors.Join(faults...)
}

func (p *Profile) fieldNames() string {
	var names []string
	for _, f := range p.Content {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func (f Field) check(v any) error {
	if err := checkMarks(v); err != nil {
		return err
	}
	switch f.Type {
	case FieldString:
		return f.checkString(v)
	case FieldStrings:
		return f.checkStrings(v)
	case FieldBoolean:
		if _, ok := v.(bool); !ok {
			return errors.New("must be true or false")
		}
		return nil
	case FieldObject:
		if _, ok := v.(map[string]any); !ok {
			return errors.New("must be an object")
		}
		return nil
	}
	return f.checkNumber(v)
}

func (f Field) checkNumber(v any) error {
	n, err := numberText(v)
	if err != nil {
		return err
	}
	if f.Type == FieldInteger && strings.Contains(n, ".") {
		return errors.New("must be a whole number")
	}
	return nil
}

func (f Field) checkString(v any) error {
	s, ok := v.(string)
	switch {
	case !ok:
		return fmt.Errorf("must be a text%s", numberHint(v))
	case f.Required && strings.TrimSpace(s) == "":
		return errors.New("is required and blank")
	case f.Max > 0 && len(s) > f.Max:
		return fmt.Errorf("has %d bytes, allowed are %d", len(s), f.Max)
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	}
	return nil
}

func numberHint(v any) string {
	if _, ok := v.(json.Number); ok {
		return "; write it inside a text in the flow, such as '${…}'"
	}
	return ""
}

func (f Field) checkStrings(v any) error {
	list, ok := v.([]any)
	if s, yes := v.([]string); yes {
		list, ok = anyOf(s), true
	}
	if !ok || f.Required && len(list) == 0 {
		return errors.New("must be a list of texts with at least one item")
	}
	if f.Max > 0 && len(list) > f.Max {
		return fmt.Errorf("has %d items, allowed are %d", len(list), f.Max)
	}
	for i, item := range list {
		if err := (Field{Type: FieldString, Required: true}).checkString(item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

func checkMarks(v any) error {
	switch v := v.(type) {
	case string:
		return checkContentMarks(v)
	case []any:
		for _, item := range v {
			if err := checkMarks(item); err != nil {
				return err
			}
		}
	case []string:
		return checkMarks(anyOf(v))
	case map[string]any:
		for name, item := range v {
			if containsMark(name) {
				return errMarkInName
			}
			if err := checkMarks(item); err != nil {
				return err
			}
		}
	}
	return nil
}
