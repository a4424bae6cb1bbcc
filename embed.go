// Package holdfast carries the deployed stack's template into the binary, so that the laptop serves the same routes.
// It never reads it; package samtemplate does.
package holdfast

import _ "embed"

// Template is template.yaml.
//
//go:embed template.yaml
var Template []byte
