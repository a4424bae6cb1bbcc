// Package compile turns a flow file into something that can plan: it checks the file's expressions and contents
// against the targets, and works out for one event which operations it asks for.
//
// It promises that the same event always gives the same plan, that numbers keep every digit from the event to
// the content, and that an expression that cannot be evaluated holds the event instead of guessing. What an event
// carries is data: a `${` in it is never evaluated, and no message, reason or detail ever shows a value of it.
//
// It never does I/O, never reads a clock, never makes randomness, and never makes ids: a plan gives the typed
// parts of each business key, and the caller hashes them.
//
// Read it in this order: compile.go (a file becomes a Flow), plan.go (a Flow meets an event), template.go and
// expr.go (texts and expressions), number.go, compare.go and sorted.go (how expressions see JSON).
package compile
