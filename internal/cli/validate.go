package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/internal/app/work"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/target"
)

type validateCmd struct {
	files
	JSON bool `help:"Print the findings as JSON."`
}

// Run implements the command.
func (c *validateCmd) Run(s *streams) error {
	profiles, err := target.Load(c.targetFS())
	if err != nil {
		return c.tell(s, nil, err)
	}
	findings, err := compile.Validate(c.flowFS(), work.FieldRules(profiles))
	return c.tell(s, findings, err)
}

func (c *validateCmd) tell(s *streams, findings flow.Findings, err error) error {
	problems := findings.Errors()
	if c.JSON {
		out := struct {
			Valid    bool          `json:"valid"`
			Findings flow.Findings `json:"findings"`
			Errors   []string      `json:"errors,omitempty"`
		}{Valid: err == nil && len(problems) == 0, Findings: append(flow.Findings{}, findings...)}
		if err != nil {
			out.Errors = strings.Split(err.Error(), "\n")
		}
		if e := json.NewEncoder(s.out).Encode(out); e != nil {
			return e
		}
	} else {
		for _, f := range findings {
			fmt.Fprintln(s.out, f)
		}
		if err != nil {
			fmt.Fprintln(s.out, err)
		}
	}
	if err != nil || len(problems) > 0 {
		return failed{}
	}
	if !c.JSON {
		fmt.Fprintln(s.out, "All flows and targets are valid.")
	}
	return nil
}
