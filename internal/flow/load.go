package flow

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Load reads every *.yaml file of fsys's top directory, sorted by name. Its error joins every mistake of every
// file; the files are usable only when it is nil.
func Load(fsys fs.FS) ([]File, error) {
	files, findings, err := Read(fsys)
	if err != nil {
		return nil, err
	}
	if err := findings.Err(); err != nil {
		return nil, err
	}
	return files, nil
}

// Read is Load with the warnings: the files that can be used, and all findings of all files. Its error means
// that the directory itself could not be read.
func Read(fsys fs.FS) ([]File, Findings, error) {
	paths, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, nil, fmt.Errorf("flows: list the files: %w", err)
	}
	if len(paths) > FilesMax {
		return nil, nil, fmt.Errorf("flows: there are %d files; at most %d are possible", len(paths), FilesMax)
	}
	slices.Sort(paths)
	var files []File
	var findings Findings
	for _, p := range paths {
		data, err := readBounded(fsys, p)
		if err != nil {
			return nil, nil, err
		}
		file, found := Parse(p, data)
		findings = append(findings, found...)
		if found.Err() == nil {
			files = append(files, file)
		}
	}
	files, twice := unique(files)
	findings = append(append(findings, twice...), misnamed(fsys)...)
	findings.Sort()
	return files, findings, nil
}

// readBounded reads at most one byte more than Parse accepts, so that a huge file is refused and not read.
func readBounded(fsys fs.FS, p string) ([]byte, error) {
	f, err := fsys.Open(p)
	if err != nil {
		return nil, fmt.Errorf("flows: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, FileBytesMax+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("flows: read %s: %w", p, err)
	}
	return data, nil
}

// unique keeps the first file of each flow name: the name is the flow's identity.
func unique(files []File) ([]File, Findings) {
	var out []File
	var findings Findings
	first := map[string]string{}
	for _, f := range files {
		if other, ok := first[f.Name]; ok {
			findings = append(findings, Finding{File: f.Path, Line: f.At.Line, Column: f.At.Column, Severity: SeverityError,
				Message: fmt.Sprintf("the flow %s is already in %s; a flow's name is permanent and its own", f.Name, other)})
			continue
		}
		first[f.Name] = f.Path
		out = append(out, f)
	}
	return out, findings
}

// misnamed warns about a file that nobody would notice is not read.
func misnamed(fsys fs.FS) Findings {
	paths, _ := fs.Glob(fsys, "*.yml") // the pattern is valid
	var out Findings
	for _, p := range paths {
		out = append(out, Finding{File: p, Severity: SeverityWarning,
			Message: "this file is not read; name it " + strings.TrimSuffix(path.Base(p), ".yml") + ".yaml"})
	}
	return out
}

// CheckSources finds the triggers that wait for a source which is not among the known ones: nothing would ever start them.
func CheckSources(files []File, known []string) Findings {
	var out Findings
	for _, f := range files {
		if slices.Contains(known, f.Trigger.Source) {
			continue
		}
		out = append(out, Finding{File: f.Path, Line: f.Trigger.SourceAt.Line, Column: f.Trigger.SourceAt.Column, Severity: SeverityError,
			Message: fmt.Sprintf("there is no source %s, so nothing would ever start this flow", f.Trigger.Source), Allowed: slices.Sorted(slices.Values(known))})
	}
	return out
}

// Match are the names of the flows that an event of this source and topic starts, sorted. It decides by the file
// alone; the trigger's expression and the account are looked at when the run is planned.
func Match(flows []File, source, topic string) []string {
	var names []string
	for _, f := range flows {
		if f.Trigger.Source == source && slices.Contains(f.Trigger.Topics, topic) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}
