// Package sources is the shipped source configurations, as files.
//
// It promises that the binaries carry exactly the files beside it. It never reads or judges them.
package sources

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// Files is the shipped *.yaml files, one per source.
func Files() fs.FS { return files }
