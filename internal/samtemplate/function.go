package samtemplate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	functionType = "AWS::Serverless::Function"
	eventType    = "HttpApi"
)

// Route is one route of the API with the logical id of the function that answers it. Path has its parameters in
// braces, as http.ServeMux writes them too.
type Route struct {
	Method, Path, Function string
}

// Function is one function with its time limit and its own and the global variables, not yet evaluated.
type Function struct {
	ID          string
	TimeoutS    int
	Environment map[string]any
}

// Routes reads the routes of a template, in the order of path and method.
func Routes(template []byte) ([]Route, error) {
	t, err := Parse(template)
	if err != nil {
		return nil, err
	}
	return t.Routes()
}

// Routes are the routes of all functions, in the order of path and method. It is an error when two are the same, or
// when one is a catch-all, which this product does not have.
func (t *Template) Routes() ([]Route, error) {
	var routes []Route
	for id, r := range t.Resources {
		if r.Type != functionType {
			continue
		}
		events, _ := r.Properties["Events"].(map[string]any)
		for name, e := range events {
			if field(e, "Type") != eventType {
				continue
			}
			route, err := routeOf(id, e)
			if err != nil {
				return nil, fmt.Errorf("template: %s, event %s: %w", id, name, err)
			}
			routes = append(routes, route)
		}
	}
	slices.SortFunc(routes, func(a, b Route) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Function, b.Function))
	})
	for i := 1; i < len(routes); i++ {
		if a, b := routes[i-1], routes[i]; a.Method == b.Method && a.Path == b.Path {
			return nil, fmt.Errorf("template: %s %s goes to %s and to %s; keep one", a.Method, a.Path, a.Function, b.Function)
		}
	}
	return routes, nil
}

var methods = []string{"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"}

func routeOf(id string, event any) (Route, error) {
	method, _ := field(event, "Properties", "Method").(string)
	path, _ := field(event, "Properties", "Path").(string)
	method = strings.ToUpper(method)
	if !slices.Contains(methods, method) {
		return Route{}, fmt.Errorf("method %q: use one of %v", method, methods)
	}
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "+}") {
		return Route{}, fmt.Errorf("path %q: write one that begins with / and takes whole segments, such as /hooks/{source}", path)
	}
	return Route{Method: method, Path: path, Function: id}, nil
}

// Functions are all functions, in the order of their ids.
func (t *Template) Functions() ([]Function, error) {
	var all []Function
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		r := t.Resources[id]
		if r.Type != functionType {
			continue
		}
		written, _ := cmp.Or(r.Properties["Timeout"], t.function["Timeout"]).(string)
		seconds, err := strconv.Atoi(written)
		if err != nil || seconds < 1 {
			return nil, fmt.Errorf("template: %s: Timeout %q: write whole seconds", id, written)
		}
		all = append(all, Function{ID: id, TimeoutS: seconds, Environment: t.environment(r)})
	}
	return all, nil
}

func (t *Template) environment(r Resource) map[string]any {
	env := map[string]any{}
	for _, from := range []map[string]any{t.function, r.Properties} {
		variables, _ := field(from, "Environment", "Variables").(map[string]any)
		maps.Copy(env, variables)
	}
	return env
}
