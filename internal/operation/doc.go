// Package operation is the decision core: what may be done next about one intended effect in one target, and
// how each fact changes what is known about it.
//
// It promises that no effect is asked for twice unless a rule allows it (R3), that doubt is never turned into
// "nothing happened" (R4), and that every (status, fact) pair has an answer. It never does I/O, never reads a
// clock, never makes randomness, and imports only the standard library.
//
// Read it in this order: noun.go (what exists), policy.go (what a target documents), next.go (the ladder that
// decides), fact.go and table.go (how facts change an operation), fold.go (status from all attempts).
package operation
