package mutant

import (
	"testing"
)

const (
	root         = "../.."
	mutantsMin   = 40
	ofOneRuleMin = 2
)

// The mutants stand beside the code that they change: one whose old text is gone is found here, not a month later.
func TestMutantsFitTheTree(t *testing.T) {
	t.Parallel()
	mutants, err := Load("mutants")
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(root, mutants); err != nil {
		t.Error(err)
	}
	if len(mutants) < mutantsMin {
		t.Errorf("%d mutants, at least %d", len(mutants), mutantsMin)
	}
	of, harms := map[int]int{}, map[string]string{}
	for i := range mutants {
		m := &mutants[i]
		of[m.Rule]++
		if twice := harms[m.Wrong+m.Harm]; twice != "" {
			t.Errorf("%s and %s say the same", twice, m.Name)
		}
		harms[m.Wrong+m.Harm] = m.Name
	}
	for rule := 1; rule <= RulesMax; rule++ {
		if of[rule] < ofOneRuleMin {
			t.Errorf("R%d is broken by %d mutants, at least %d", rule, of[rule], ofOneRuleMin)
		}
	}
}
