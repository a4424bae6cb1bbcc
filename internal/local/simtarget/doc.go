// Package simtarget stands in for the systems that carry out operations.
//
// It promises that every simulated target behaves as its data file says, line by line with the documented fact
// behind it, that every fault switch does exactly what its name says on a real connection, and that the count of
// effects is exact: one commit is one effect, and an answer repeated from memory is none.
// It never reads the product's own profiles, never decides anything for the product, and never answers beyond
// what a data file states.
package simtarget

import "time"

// Bounds of one simulation. All sizes are per target unless said otherwise.
const (
	requestBytesMax   = 1 << 20   // largest request body
	headerBytesMax    = 64 << 10  // largest request head
	recordsMax        = 200_000   // records kept; then the target answers as broken, before any effect
	keysMax           = 200_000   // idempotency keys kept
	connectionsMax    = 1024      // open connections, whole simulation
	connectionLogMax  = 1000      // connections remembered for the judge
	faultsMax         = 100       // switches set at once, whole simulation
	batchItemsMax     = 100       // items in one batch request
	pageItemsMax      = 100       // records on one page of a list
	specBytesMax      = 256 << 10 // one data file
	faultDelayMax     = 366 * 24 * time.Hour
	indexedValueBytes = 512      // longer stored values cannot be looked up
	controlBytesMax   = 64 << 10 // one control request
	documentsMax      = 64       // parsed GraphQL documents remembered
	documentBytesMax  = 16 << 10 // longer documents are parsed each time
	answerHeadBytes   = 256      // room for an answer's head; a longer one makes the buffer grow
	answerBodyBytes   = 256      // the same for its body
	sourceBytes       = 4096     // most that is buffered while a request is read
	pageEffectsMax    = 200      // newest effects shown on the page
)
