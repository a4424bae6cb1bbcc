// Package e2e holds the tests that prove the whole product through its real parts: the handlers by their Lambda
// signatures, the shipped state machine, the DynamoDB server, simulated targets on the wire, mails and the reviewer's
// page over HTTP.
//
// It promises that what happened at a target is judged by the target's own count alone. It never waits for time to
// pass: it moves the product's clock and waits for events.
package e2e
