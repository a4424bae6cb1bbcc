// Package local runs the whole product on a laptop: the same handlers through their Lambda signatures, the shipped state
// machine, the routes of template.yaml, simulated targets, an outbox and a clock that a person can move.
//
// It promises to listen on loopback only and to reach handlers only as Lambda would. It holds no business rule: local is a
// way to run the product, never a second implementation of it.
package local
