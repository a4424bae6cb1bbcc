package simtarget_test

import (
	"fmt"
	"strconv"
	"testing"

	"holdfast/internal/local/simtarget"
)

// resetEvery keeps the benchmarks' targets as small as those of one simulated run.
const resetEvery = 1000

// BenchmarkExchange makes new requests, so that each of the first five is an effect of its own.
func BenchmarkExchange(b *testing.B) {
	key := func(i int) string { return "op_" + strconv.Itoa(i) }
	cases := []struct {
		name, target string
		request      func(i int) step
	}{
		{"generic-key", "generic-key", func(i int) step { return step{"POST", "/effects", post, key(i), 0} }},
		{"hubspot-upsert", "hubspot", func(i int) step { return step{"POST", tasks + "/batch/upsert", upsertBody(key(i), "Call"), "", 0} }},
		{"hubspot-create", "hubspot", func(i int) step { return step{"POST", tasks, `{"properties":{"hf_op":"op_a"}}`, "", 0} }},
		{"resend-send", "resend", func(i int) step { return step{"POST", "/emails", mail, key(i), 0} }},
		{"shopify-create", "shopify-admin", func(i int) step { return step{"POST", graphql, discount("CODE" + strconv.Itoa(i)), "", 0} }},
		{"lookup", "generic-lookup", func(int) step { return step{"GET", "/effects?operation_id=op_0", "", "", 0} }},
		{"shopify-lookup", "shopify-admin", func(int) step { return step{"POST", graphql, byCode("code0"), "", 0} }},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			s := newBench(b)
			b.ReportAllocs()
			requests := make([][]byte, resetEvery)
			for i := range requests {
				requests[i] = c.request(i).bytes()
			}
			for i := 0; b.Loop(); i++ {
				if i%resetEvery == 0 {
					s.Reset()
				}
				ex, err := s.Exchange(c.target, requests[i%resetEvery])
				if err != nil || ex.Status >= 300 {
					b.Fatal(fmt.Sprintf("%d %s", ex.Status, ex.Answer), err)
				}
			}
		})
	}
}

// BenchmarkNew makes one simulation of all targets from loaded data and ends it.
func BenchmarkNew(b *testing.B) {
	newBench(b)
	specs, err := shipped()
	if err != nil {
		b.Fatal(err)
	}
	c := newStill()
	b.ReportAllocs()
	for b.Loop() {
		simtarget.New(simtarget.Options{Clock: c, Specs: specs, Seed: 7}).Close()
	}
}

func newBench(b *testing.B) *simtarget.Sim {
	b.Helper()
	return newDirect(b, newStill(), 7, func(simtarget.Commit) {})
}
