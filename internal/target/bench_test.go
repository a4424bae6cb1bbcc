package target_test

import (
	"testing"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

func BenchmarkRender(b *testing.B) {
	p := shipped(b)["hubspot-task"]
	d, content := to(b, p), contents()["hubspot-task"]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := target.Render(p, testOp, content, d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFillAndDigest(b *testing.B) {
	r := render(b, "resend-email")
	refs := map[string]operation.Reference{"crm_task": "7714"}
	b.ReportAllocs()
	for b.Loop() {
		filled, err := target.Fill(r, testOp, refs)
		if err != nil || filled.Digest() == "" {
			b.Fatal(err)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	p := shipped(b)["hubspot-task"]
	a := target.Answer{Status: 200, Complete: true, Body: []byte(`{"status":"COMPLETE","results":[{"id":"7714","new":true,"properties":{"hs_task_subject":"Call"}}]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if target.Classify(p, testOp, a).Outcome != operation.OutcomeExecuted {
			b.Fatal("not executed")
		}
	}
}
