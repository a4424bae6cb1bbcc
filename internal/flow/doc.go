// Package flow reads flow files: what to do for an event, written in YAML by people.
//
// It promises that a file is either understood completely or refused with every mistake it has, each with file,
// line, column and what is allowed there. It holds the nouns of a flow, the static match of an event to its
// flows, and the plan that is pinned on a run.
//
// It never evaluates an expression and links no expression language (that is package compile), so the webhook
// can use it; it never reads a clock, never makes randomness, and never sees an event's data.
//
// Read it in this order: file.go (the nouns), parse.go and stage.go (the file format), check.go (what holds
// between the parts), load.go (a directory of files), plan.go (what a run keeps).
package flow
