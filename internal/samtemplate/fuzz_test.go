package samtemplate_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/samtemplate"
)

// Whatever the template says, it is read or refused with a reason, twice the same, and what it names is bounded by it.
//
//fuzz:slow
func FuzzTemplate(f *testing.F) {
	shipped, err := os.ReadFile("../../template.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shipped)
	f.Add([]byte(small))
	for _, seed := range []string{
		"Conditions:\n  A: !Not [!Equals [!If [A, x, y], z]]\nResources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties: { Timeout: 3, Environment: { Variables: { V: !If [A, x, y] } } }\n",
		"Resources: { F: { Type: AWS::Serverless::Function, Properties: { Timeout: 3, Environment: { Variables: { V: !Sub '${A}${!B}${' } } } } }",
		"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "Resources: &r { F: *r }", "Resources: { F: { Type: !Ref } }",
		"Resources: { F: { Type: T, Ref: x } }", "Resources: { F: { Type: T, Properties: !GetAtt [a, b] } }", "--- 1\n--- 2\n", "? [a]\n: b", "Fn::If: [1, 2, 3]",
		strings.Repeat("[", 3000), strings.Repeat("a:\n ", 60),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tmpl, err := samtemplate.Parse(text)
		again, errAgain := samtemplate.Parse(text)
		if (err == nil) != (errAgain == nil) || err != nil && !strings.HasPrefix(err.Error(), "template: ") {
			t.Fatalf("%v and then %v", err, errAgain)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(tmpl.Resources, again.Resources); diff != "" {
			t.Fatalf("the same template read twice:\n%s", diff)
		}
		if routes, err := tmpl.Routes(); err == nil {
			checkRoutes(t, routes, tmpl)
		}
		functions, err := tmpl.Functions()
		if err != nil {
			return
		}
		for _, fn := range functions {
			checkEnvironment(t, tmpl, fn, len(text))
		}
	})
}

func checkRoutes(t *testing.T, routes []samtemplate.Route, tmpl *samtemplate.Template) {
	t.Helper()
	for i, r := range routes {
		if r.Method == "" || !strings.HasPrefix(r.Path, "/") || tmpl.Resources[r.Function].Type == "" || slices.Contains(routes[:i], r) {
			t.Fatalf("route %+v of %+v", r, routes)
		}
	}
}

// checkEnvironment: every variable has a value or the error names it, and no value is larger than its text could make it.
func checkEnvironment(t *testing.T, tmpl *samtemplate.Template, fn samtemplate.Function, size int) {
	t.Helper()
	known := samtemplate.Values{}
	for _, name := range samtemplate.References(fn.Environment) {
		known[name] = "value"
	}
	env, err := tmpl.Environment(fn, known)
	switch {
	case fn.TimeoutS < 1:
		t.Fatalf("%+v", fn)
	case err == nil && len(env) != len(fn.Environment):
		t.Fatalf("%d of %d variables, and no error", len(env), len(fn.Environment))
	case err != nil && env != nil:
		t.Fatalf("an environment beside the error %v", err)
	}
	for name, value := range env {
		if len(value) > size*(size+len("value")) {
			t.Fatalf("%s has %d bytes", name, len(value))
		}
	}
}
