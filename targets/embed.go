// Package targets embeds the profiles that are shipped, so that a binary and its profiles are one release.
//
// It promises that FS holds every profile of this folder. It never reads them: internal/target does.
package targets

import "embed"

// FS holds the profile files in its root.
//
//go:embed *.yaml
var FS embed.FS

// Schema is the JSON Schema of a profile file, for editors.
//
//go:embed profile.schema.json
var Schema []byte
