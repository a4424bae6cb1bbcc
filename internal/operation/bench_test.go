package operation_test

import (
	"testing"
	"time"

	"holdfast/internal/operation"
)

// doubt is an operation whose answer was lost, as the sweep and the pages meet it.
func doubt(b testing.TB) (*operation.Operation, operation.Policy) {
	b.Helper()
	p := operation.Policy{
		Protection: operation.ProtectionKey, KeyWindow: 24 * time.Hour, KeyMargin: time.Hour, ReplaysMax: 3, Lookup: true, AbsentCounts: true,
		Visible: 30 * time.Second, LookupEvery: 30 * time.Second, LookupsMax: 3, Quiet: time.Minute, AttemptsMax: 3,
		BackoffMin: time.Second, BackoffMax: time.Minute, Factor: 2, Timeout: 10 * time.Second, Lease: time.Minute, Skew: 5 * time.Second,
	}
	s := story{t: b, p: p, now: t0}
	s.propose(standing())
	s.claim("at_1", false)
	s.lost("at_1")
	return s.op, p
}

func BenchmarkNext(b *testing.B) {
	op, p := doubt(b)
	b.ReportAllocs()
	for b.Loop() {
		operation.Next(op, p, t0+1)
	}
}

func BenchmarkApply(b *testing.B) {
	op, p := doubt(b)
	f := operation.Looked{At: t0 + 40_000, Result: operation.LookAbsent}
	b.ReportAllocs()
	for b.Loop() {
		if _, refused := operation.Apply(op, f, p); refused != nil {
			b.Fatal(refused)
		}
	}
}
