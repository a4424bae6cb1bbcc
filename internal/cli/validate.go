package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/app/work"
	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/source/sourcefile"
	"holdfast/internal/target"
	"holdfast/sources"
)

type validateCmd struct {
	files
	JSON bool `help:"Print the findings as JSON."`
}

// Run implements the command.
func (c *validateCmd) Run(s *streams) error {
	if err := c.filled(); err != nil {
		return err
	}
	findings, err := c.check()
	return c.tell(s, findings, err)
}

// check reads everything; the error is what is wrong outside of flow files.
func (c *validateCmd) check() (flow.Findings, error) {
	_, simErr := simtarget.Load(c.simFS())
	if simErr != nil {
		simErr = errors.New("sim/" + strings.ReplaceAll(simErr.Error(), "\n", "\nsim/"))
	}
	profiles, err := target.Load(c.targetFS())
	if err != nil {
		return nil, errors.Join(err, simErr)
	}
	findings, err := compile.Validate(c.flowFS(), work.FieldRules(profiles))
	if err != nil {
		return findings, errors.Join(err, simErr)
	}
	unfed, err := c.unfed()
	findings = append(findings, unfed...)
	findings.Sort()
	return findings, errors.Join(err, simErr)
}

// unfed finds flows that wait for a source which does not exist.
func (c *validateCmd) unfed() (flow.Findings, error) {
	configs, err := sourcefile.Load(sources.Files())
	if err != nil {
		return nil, err
	}
	var known []string
	for _, one := range configs {
		known = append(known, one.Name)
	}
	readable, _, err := flow.Read(c.flowFS())
	return flow.CheckSources(readable, known), err
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
