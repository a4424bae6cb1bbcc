// Package structure holds tests that keep the project's layout and its deployed template true.
//
// It promises that a rule about where things may stand is a red test, not a memory: who may read the time, what a
// function links, which role may do what. It never holds code that runs in the product.
package structure
