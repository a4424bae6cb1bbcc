package simtarget_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/local/simtarget"
)

func TestLateCommitHappensAfterALookupSaidAbsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fault(simtarget.Fault{Target: "generic-lookup", Kind: simtarget.KindLateCommit, Delay: hour})
		conn := w.pipe("generic-lookup")
		if err := write(conn, "POST", "/effects", post, "X-Operation-Id", "op_late"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := conn.Close(); err != nil { // the sender stopped waiting
			t.Fatal(err)
		}
		w.clock.Move(59 * time.Minute)
		synctest.Wait()
		w.wantField(w.call("generic-lookup", "GET", "/effects?operation_id=op_late", ""), "total", 0.0)
		w.wantEffects("generic-lookup", 0)
		w.clock.Move(2 * time.Minute)
		synctest.Wait()
		w.wantEffects("generic-lookup", 1)
		w.clock.Move(time.Minute)
		w.wantField(w.call("generic-lookup", "GET", "/effects?operation_id=op_late", ""), "total", 1.0)
	})
}

func TestLateCommitUnderAKeyIsOneEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fault(simtarget.Fault{Target: "resend", Kind: simtarget.KindLateCommit, Delay: hour})
		if err := write(w.pipe("resend"), "POST", "/emails", mail, "Idempotency-Key", "op_a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.wantField(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), "name", "concurrent_idempotent_requests")
		w.clock.Move(time.Hour)
		synctest.Wait()
		w.wantStatus(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), 200)
		w.wantEffects("resend", 1)
	})
}

func TestResetAndCloseStopWhatIsStillToCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range 2 {
			w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindLateCommit, Delay: hour})
			if err := write(w.pipe("generic-none"), "POST", "/effects", post); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			w.sim.Reset()
		}
		w.clock.Move(2 * time.Hour)
		synctest.Wait()
		w.wantEffects("generic-none", 0)
		w.fault(simtarget.Fault{Target: "generic-none", Kind: simtarget.KindLateCommit, Delay: hour})
		if err := write(w.pipe("generic-none"), "POST", "/effects", post); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.sim.Close() // the bubble fails when a goroutine is left
		w.wantEffects("generic-none", 0)
	})
}

func TestSlowVisibilityHidesForItsDelay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("generic-natural", "PUT", "/effects/op_a", post)
	w.fault(simtarget.Fault{Target: "generic-natural", Kind: simtarget.KindSlowVisibility, Delay: hour, Probability: 1})
	w.wantStatus(w.call("generic-natural", "GET", "/effects/op_a", ""), 404)
	w.clock.Move(time.Hour)
	w.wantStatus(w.call("generic-natural", "GET", "/effects/op_a", ""), 200)
}

func TestLateAnswerCommitsFirstAndHoldsTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fault(simtarget.Fault{Target: "resend", Kind: simtarget.KindLateAnswer, Delay: hour})
		conn := w.pipe("resend")
		if err := write(conn, "POST", "/emails", mail, "Idempotency-Key", "op_a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the first request is in the target
		again := w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a")
		w.wantField(again, "name", "concurrent_idempotent_requests")
		w.wantEffects("resend", 1)
		w.clock.Move(time.Hour)
		first, err := read(conn)
		if err != nil {
			t.Fatal(err)
		}
		w.wantStatus(first, 200)
		w.wantField(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), "id", first.field("id"))
		w.wantEffects("resend", 1)
	})
}

func TestKeyOfARunningRequestDoesNotExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.fault(simtarget.Fault{Target: "resend", Kind: simtarget.KindLateCommit, Delay: 30 * hour})
		if err := write(w.pipe("resend"), "POST", "/emails", mail, "Idempotency-Key", "op_a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.clock.Move(25 * time.Hour)
		w.wantField(w.call("resend", "POST", "/emails", mail, "Idempotency-Key", "op_a"), "name", "concurrent_idempotent_requests")
	})
}
