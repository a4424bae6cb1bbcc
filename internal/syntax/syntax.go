// Package syntax says where a YAML file stops being YAML.
//
// It promises the line from which on the file cannot be read, which the YAML library names only roughly: often it names
// the beginning of the block around it, or none.
//
// It never reads the meaning of a file.
package syntax

import (
	"bytes"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// readBytesMax bounds what is read to find a line, in bytes over all tries; where it is spent, the library's own line
// stands. A file that reads up to its mistake spends next to nothing; one bracket that is never closed spends it all.
const readBytesMax = 1 << 20

var libraryLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// Fault is the line, counted from 1, and the complaint of an error that reading src as YAML gave.
func Fault(src []byte, err error) (line int, problem string) {
	line, problem = 1, err.Error()
	if m := libraryLine.FindStringSubmatch(problem); m != nil {
		problem = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	if n := firstUnreadable(src); n > 0 {
		line = n
	}
	return line, problem
}

// firstUnreadable is the first line that no continuation makes good: everything before it reads, and from it on nothing
// does. 0 when that cannot be told.
func firstUnreadable(src []byte) int {
	lines := bytes.SplitAfter(src, []byte("\n"))
	end, left := len(src), readBytesMax
	for n := len(lines); n > 0; n-- {
		if left -= end; left < 0 {
			return 0
		}
		if reads(src[:end]) {
			return min(n+1, len(lines))
		}
		end -= len(lines[n-1])
	}
	return 1
}

func reads(src []byte) bool {
	var doc yaml.Node
	return yaml.Unmarshal(src, &doc) == nil
}
