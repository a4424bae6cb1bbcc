// Package bench carries the flows and target profiles of the job that Holdfast is compared by. It never reads them.
package bench

import (
	"embed"
	"io/fs"
)

//go:embed flows/*.yaml targets/*.yaml
var files embed.FS

// Flows are the flow files of the job, in their root.
func Flows() fs.FS { return under("flows") }

// Targets are the profiles of the peers' target, in their root.
func Targets() fs.FS { return under("targets") }

func under(dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // only a malformed name is refused, and both are constants
	}
	return sub
}
