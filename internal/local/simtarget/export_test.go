package simtarget

import "github.com/vektah/gqlparser/v2/ast"

// Seen by the tests of this package only.
var (
	AppendJSON    = appendJSON
	OperationMark = operationMark
)

// DocumentsMax is the bound of what Remembered counts.
const DocumentsMax = documentsMax

// Remembered parses all texts and says how many documents are kept then.
func Remembered(texts []string) int {
	d := documents{parsed: map[string]*ast.QueryDocument{}}
	for _, text := range texts {
		d.parse(text)
	}
	return len(d.parsed)
}
