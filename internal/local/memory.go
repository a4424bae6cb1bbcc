package local

import (
	"os"
	"runtime/debug"
)

// collectAt is how much may be allocated between two collections, in percent of what is in use. A run leaves little behind
// and allocates much on its way; at the usual 100 a tenth of the machine's time goes into looking at what stays.
const collectAt = 200

// CollectLess lets the process collect garbage half as often as usual, unless GOGC says how often. It is for mains: it
// holds for the whole process.
func CollectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
}
