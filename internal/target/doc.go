// Package target knows how each target is asked to carry out an operation, what its answers prove, and how it
// can be asked later what happened. All of that is data: one profile file per target (targets/*.yaml).
//
// It promises that nothing is believed about a target without a documentation page and a date; that the frozen
// request and its digest are the same bytes on every machine; that one Send puts at most one request on the wire
// (R2); and that an outcome is only what the answer, or the count of bytes sent, proves (R3, R4).
//
// It never decides whether an operation may be sent, never stores anything, never sends twice, and never puts
// content, answers or secrets into a text.
//
// Read it in this order: profile.go (what a profile says), render.go and hole.go (content to request),
// engine.go (one request), classify.go and lookup.go (what the answer proves), catalogue.go (the same, for people).
package target
