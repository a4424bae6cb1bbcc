// Package ledger keeps events, runs and operations in one DynamoDB table.
//
// It promises that of any number of rivals exactly one write wins, that a writer whose answer was lost
// recognises its own write instead of losing to it (R1), that a recorded outcome cannot be pushed out by what
// is written beside it (R12), and that nothing is written for a table that is a copy of another one.
//
// It never decides what an operation may do next, never sends anything, never reads an index to decide, never
// lets a settled operation be claimed, and never sets an expiry on the content of an open operation.
//
// Read conditions.go first: every condition of every write is there, with the race it closes.
package ledger
