// Package statemachine holds the state machine that runs every run, as it is deployed.
//
// It promises that the laptop, the tests and a stack use the same bytes. It never holds logic: that is in the file,
// whose functions stand as placeholders such as ${PlanFunctionArn}.
package statemachine

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Definition is statemachine/run.asl.json with its placeholders.
//
//go:embed run.asl.json
var Definition []byte

// Fill returns the definition with each placeholder's value put in, as DefinitionSubstitutions do in a deployed
// stack. It is an error to miss a placeholder, or to give a value for one that the file does not have.
func Fill(values map[string]string) ([]byte, error) {
	unused := maps.Clone(values)
	missing := map[string]bool{}
	filled := regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllFunc(Definition, func(found []byte) []byte {
		name := string(found[2 : len(found)-1])
		value, ok := values[name]
		if !ok {
			missing[name] = true
		}
		delete(unused, name)
		return []byte(value)
	})
	if len(missing) > 0 || len(unused) > 0 {
		return nil, fmt.Errorf("run.asl.json: no value given for %v, values without a placeholder: %v",
			slices.Sorted(maps.Keys(missing)), slices.Sorted(maps.Keys(unused)))
	}
	return filled, nil
}
