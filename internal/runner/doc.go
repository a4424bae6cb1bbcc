// Package runner carries a run from its event to its end: it plans, asks, executes and reconciles.
//
// It promises the order load facts, decide, write the intent, act, record the proof; that nothing is sent without a
// claim written first; and that the approved bytes are what is sent (R5). It never decides by itself whether
// something may be sent: operation.Next and operation.NextRun do. It never starts a goroutine.
package runner
