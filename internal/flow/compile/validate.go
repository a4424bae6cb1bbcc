package compile

import (
	"io/fs"

	"holdfast/internal/flow"
)

// Validate checks every flow file of a directory, expressions and contents included, and gives all findings of
// all files in order. Its error means that the directory could not be read.
func Validate(fsys fs.FS, targets Targets) (flow.Findings, error) {
	files, findings, err := flow.Read(fsys)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		_, found := compile(file, targets)
		findings = append(findings, found...)
	}
	findings.Sort()
	return findings, nil
}

// All loads and compiles every flow of a directory. Its error holds every mistake of every file.
func All(fsys fs.FS, targets Targets) ([]*Flow, error) {
	files, err := flow.Load(fsys)
	if err != nil {
		return nil, err
	}
	var flows []*Flow
	var findings flow.Findings
	for _, file := range files {
		f, found := compile(file, targets)
		findings = append(findings, found...)
		flows = append(flows, f)
	}
	if err := findings.Err(); err != nil {
		return nil, err
	}
	return flows, nil
}
