// Package sim holds the data files of the simulated targets.
//
// It promises that each line of behaviour carries the documented fact it was written from. It never reads the
// product's profiles: what a target does and what the product believes of it are written down apart.
package sim

import "embed"

// FS holds the files NAME.yaml at its root.
//
//go:embed *.yaml
var FS embed.FS
