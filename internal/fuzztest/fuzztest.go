// Package fuzztest holds what fuzz targets share.
//
// It promises a count of the bytes that a call allocates, so that a target can say that foreign bytes take no memory out
// of proportion. It never limits anything by itself.
package fuzztest

import (
	"runtime/metrics"
	"testing"
)

// Bound is what a parser may allocate for an input, in bytes.
type Bound struct {
	Base    int // for any input, also an empty one
	PerByte int // for each byte of the input
}

const allocated = "/gc/heap/allocs:bytes"

// Bounded calls f and reports when it allocates more than the bound allows for an input of size bytes. What the fuzzing
// engine itself allocates meanwhile is counted too, so that Base is at least a mebibyte.
func Bounded(t testing.TB, b Bound, size int, f func()) {
	t.Helper()
	sample := []metrics.Sample{{Name: allocated}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	if used, most := sample[0].Value.Uint64()-before, uint64(b.Base+b.PerByte*size); used > most {
		t.Errorf("%d bytes of input made it allocate %d bytes; at most %d are allowed", size, used, most)
	}
}
