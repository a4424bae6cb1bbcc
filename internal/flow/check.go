package flow

import (
	"regexp"
	"slices"
	"strings"
)

// check is what holds between the parts of a file that is right in each part.
func (r *reader) check(f *File) {
	r.stages(f)
	fields := map[string]bool{}
	for _, rule := range f.Require {
		if fields[rule.Field.Value] {
			r.fail(rule.Field.At, "`require` names %s twice", rule.Field.Value)
		}
		fields[rule.Field.Value] = true
	}
	if a := f.Approval; !a.Standing {
		if a.Valid < a.Expires {
			r.warn(a.At, "a yes may be used for %s only, while the question stands for %s: a yes to the first stage may be over before the last stage is sent", a.Valid, a.Expires)
		}
		if f.SendWithin < a.Expires {
			r.warn(a.At, "the question stands for %s, but nothing is sent later than %s after the event: a late yes would be for nothing", a.Expires, f.SendWithin)
		}
	}
}

func (r *reader) stages(f *File) {
	names := map[string]bool{}
	for _, s := range f.Stages {
		if names[s.Name] {
			r.fail(s.At, "two stages are named %s", s.Name)
		}
		names[s.Name] = true
	}
	for _, s := range f.Stages {
		switch {
		case s.After == "":
		case !names[s.After]:
			r.add(s.AfterAt, SeverityError, others(f, s.Name), "there is no stage %s", s.After)
		case circular(f, s.Name):
			r.fail(s.AfterAt, "stage %s would wait for itself", s.Name)
		}
	}
}

func others(f *File, name string) []string {
	return slices.DeleteFunc(f.StageNames(), func(n string) bool { return n == name })
}

func circular(f *File, name string) bool {
	at := name
	for range f.Stages {
		s, ok := f.Stage(at)
		if !ok || s.After == "" {
			return false
		}
		if at = s.After; at == name {
			return true
		}
	}
	return false
}

var (
	quoted      = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	identifiers = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	camel       = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	personal    = regexp.MustCompile(`(^|_)(e?_?mail|email_?address|phone|mobile|telephone|name|firstname|lastname|surname|address|birth(day|date)?|ssn)(_|$)`)
)

// personal warns about a key that names a person: people change their address, and two may share one.
func (r *reader) personal(t Text) {
	for _, word := range identifiers.FindAllString(quotesToWords(t.Value), -1) {
		snake := strings.ToLower(camel.ReplaceAllString(word, "${1}_$2"))
		if personal.MatchString(snake) {
			r.warn(t.At, "the key uses %s, which looks like personal data; people change it and may share it: use the id that the source gives them", word)
			return
		}
	}
}

// quotesToWords drops literal texts but keeps the names in body["name"].
func quotesToWords(expression string) string {
	return quoted.ReplaceAllStringFunc(expression, func(q string) string {
		if strings.Contains(expression, "["+q+"]") {
			return strings.ReplaceAll(q[1:len(q)-1], "-", "_")
		}
		return ""
	})
}
