package simtarget_test

import (
	"testing"
	"time"

	"holdfast/internal/local/simtarget"
)

func TestStoredErrorStaysUnderTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "resend", Kind: simtarget.KindStoredError})
	for range 3 {
		w.wantStatus(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), 500)
	}
	w.wantEffects("resend", 0)
	w.clock.Move(24 * time.Hour)
	w.wantStatus(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), 200)
}

func TestTargetThatStoresErrorsStoresThem(t *testing.T) {
	t.Parallel()
	cases := []struct {
		kind    simtarget.Kind
		effects int
	}{{simtarget.KindBrokenBefore, 0}, {simtarget.KindBrokenAfter, 1}}
	for _, c := range cases {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fault(simtarget.Fault{Target: "generic-stored-error", Kind: c.kind})
			first := w.call("generic-stored-error", "POST", "/effects", post, "Idempotency-Key", "k")
			again := w.call("generic-stored-error", "POST", "/effects", post, "Idempotency-Key", "k")
			w.wantStatus(again, 500)
			if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("replay header %q then %q", first.header.Get("Idempotent-Replayed"), again.header.Get("Idempotent-Replayed"))
			}
			w.wantEffects("generic-stored-error", c.effects)
		})
	}
}

func TestErrorBeforeOrAfterIsNotStoredElsewhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []simtarget.Kind{simtarget.KindBrokenBefore, simtarget.KindBrokenAfter} {
		w := newWorld(t)
		w.fault(simtarget.Fault{Target: "resend", Kind: kind})
		w.wantStatus(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "k"), 500)
		w.wantStatus(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "k"), 200)
		w.wantEffects("resend", 1)
	}
}

func TestForgottenAndIgnoredKeysMakeSecondEffects(t *testing.T) {
	t.Parallel()
	for _, kind := range []simtarget.Kind{simtarget.KindKeyForgotten, simtarget.KindKeyIgnored} {
		w := newWorld(t)
		w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
		w.fault(simtarget.Fault{Target: "resend", Kind: kind})
		w.wantStatus(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), 200)
		w.wantEffects("resend", 2)
		w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
		w.wantEffects("resend", 2)
	}
}

func TestShortWindowContradictsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "resend", Kind: simtarget.KindShortWindow, Delay: hour, Probability: 1})
	w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
	w.clock.Move(59 * time.Minute)
	w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
	w.wantEffects("resend", 1)
	w.clock.Move(time.Minute)
	w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
	w.wantEffects("resend", 2)
}

func TestNotUniqueMakesASecondRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.call("generic-natural", "PUT", "/effects/op_a", post)
	w.fault(simtarget.Fault{Target: "generic-natural", Kind: simtarget.KindNotUnique})
	second := w.call("generic-natural", "PUT", "/effects/op_a", post)
	if w.wantField(second, "new", true); second.field("id") == first.field("id") {
		t.Error("the same record came back")
	}
	if by := w.sim.Effects()["generic-natural"].ByOperation; by["op_a"] != 2 {
		t.Errorf("by operation %v, want two", by)
	}
}

func TestForeignRecordStandsInThePlaceOfOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(simtarget.Fault{Target: "shopify-admin", Kind: simtarget.KindForeignRecord, Match: "create"})
	taken := w.call("shopify-admin", "POST", graphql, discount("SPRING"))
	w.wantField(taken, "data.made.userErrors.0.code", "TAKEN")
	w.wantEffects("shopify-admin", 0)
	found := w.call("shopify-admin", "POST", graphql, byCode("SPRING"))
	w.wantField(found, "data.codeDiscountNodeByCode.codeDiscount.title", "Summer sale")

	w.fault(simtarget.Fault{Target: "hubspot", Kind: simtarget.KindForeignRecord, Match: "upsert"})
	w.wantField(w.call("hubspot", "POST", tasks+"/batch/upsert", upsertBody("op_a", "Call")), "results.0.new", false)
	w.wantEffects("hubspot", 0)
}

func TestForeignRecordInALookup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.call("generic-natural", "PUT", "/effects/op_a", post)
	w.fault(simtarget.Fault{Target: "generic-natural", Kind: simtarget.KindForeignRecord, Match: "read"})
	foreign := w.call("generic-natural", "GET", "/effects/op_a", "")
	w.wantField(foreign, "content.made_by", "somebody else")
	w.wantField(w.call("generic-natural", "GET", "/effects/op_a", ""), "id", ours.field("id"))
}

func TestSeveralMatchesAndTruncatedPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const find = "/effects?operation_id=op_a"
	w.fault(simtarget.Fault{Target: "generic-lookup", Kind: simtarget.KindSeveralMatches})
	w.wantField(w.call("generic-lookup", "GET", find, ""), "total", 2.0)
	ours := w.call("generic-lookup", "POST", "/effects", post, "X-Operation-Id", "op_a")
	w.clock.Move(time.Minute)
	w.fault(simtarget.Fault{Target: "generic-lookup", Kind: simtarget.KindSeveralMatches})
	two := w.call("generic-lookup", "GET", find, "")
	w.wantField(two, "results.0.id", ours.field("id"))
	if id := two.field("results.1.id"); id == nil || id == ours.field("id") {
		t.Errorf("second match %v, want another record", id)
	}
	w.fault(simtarget.Fault{Target: "generic-lookup", Kind: simtarget.KindTruncatedPage})
	short := w.call("generic-lookup", "GET", find, "")
	w.wantField(short, "results.0", nil)
	w.wantField(w.call("generic-lookup", "GET", find+"&after="+short.field("next").(string), ""), "results.0.id", ours.field("id"))
	w.wantEffects("generic-lookup", 1)
}

func TestProbabilityIsSeeded(t *testing.T) {
	t.Parallel()
	var counts [2]int
	for i := range counts {
		w := newWorld(t)
		w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindBrokenBefore, Probability: 0.5})
		for range 200 {
			w.call("generic-none", "POST", "/effects", post)
		}
		counts[i] = w.effects("generic-none")
	}
	if counts[0] != counts[1] || counts[0] == 0 || counts[0] == 200 {
		t.Errorf("effects %v, want equal numbers between 0 and 200", counts)
	}
}
