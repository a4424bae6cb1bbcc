package simtarget

// Seen by the tests of this package only.
var (
	AppendJSON    = appendJSON
	OperationMark = operationMark
)
