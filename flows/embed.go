// Package flows carries the flow files into the binaries. It never reads them; package flow does.
package flows

import "embed"

// FS holds every flow file, and the JSON Schema for editors.
//
//go:embed *.yaml flow.schema.json
var FS embed.FS
