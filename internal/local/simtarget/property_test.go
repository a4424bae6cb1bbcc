package simtarget_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/local/simtarget"
)

// honest are the switches that spoil the wire and the answers but break no promise about keys.
var honest = []simtarget.Kind{
	simtarget.KindResetAfterHeaders, simtarget.KindResetAfterRequest, simtarget.KindBrokenBefore, simtarget.KindProxyBefore,
	simtarget.KindLimited, simtarget.KindRedirect, simtarget.KindStoredError, simtarget.KindLateCommit, simtarget.KindLostAfterCommit,
	simtarget.KindHangAfterCommit, simtarget.KindHalfAnswer, simtarget.KindLateAnswer, simtarget.KindBrokenAfter, simtarget.KindUnreadable,
	simtarget.KindProxyAfter, simtarget.KindKeepaliveBreak, simtarget.KindRefusedAfter,
}

// TestNeverTwoEffectsForOneKeyInsideItsWindow sends random requests under few keys, with any honest switch, and
// counts for itself how many windows each key has had: no key may have more effects than windows.
// HOLDFAST_SEED=n replays one seed.
func TestNeverTwoEffectsForOneKeyInsideItsWindow(t *testing.T) {
	t.Parallel()
	seeds, first := 200, rand.Uint64()
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds, first = 1, n
	}
	for i := range seeds {
		synctest.Test(t, func(t *testing.T) { runRandom(t, first+uint64(i)) })
		if t.Failed() {
			t.Fatalf("seed %d; replay with HOLDFAST_SEED=%d", first+uint64(i), first+uint64(i))
		}
	}
}

func runRandom(t *testing.T, seed uint64) {
	w, rng := newWorld(t), rand.New(rand.NewPCG(seed, 1))
	defer w.sim.Close()
	target := []string{"resend", "generic-stored-error"}[rng.IntN(2)]
	m := windows{opened: map[string]time.Time{}, count: map[string]int{}}
	for range 1 + rng.IntN(25) {
		w.randomStep(rng, target, &m)
		synctest.Wait()
		w.checkKeys(target, m)
	}
}

// windows counts the windows of each key from the sender's side.
type windows struct {
	opened map[string]time.Time
	count  map[string]int
}

func (m *windows) send(key string, now time.Time) {
	if at, ok := m.opened[key]; !ok || now.Sub(at) >= 24*time.Hour {
		m.opened[key] = now
		m.count[key]++
	}
}

func (w *world) randomStep(rng *rand.Rand, target string, m *windows) {
	minutes := func() time.Duration { return time.Duration(1+rng.IntN(30*60)) * time.Minute }
	switch rng.IntN(6) {
	case 0:
		w.clock.Move(minutes())
	case 1:
		w.fault(simtarget.Fault{Target: target, Kind: honest[rng.IntN(len(honest))], Count: 1 + rng.IntN(2), Delay: simtarget.Duration(minutes())})
	default:
		key := "op_" + strconv.Itoa(rng.IntN(2))
		m.send(key, w.clock.Now())
		path := "/effects"
		if target == "resend" {
			path = "/emails"
		}
		conn := w.pipe(target) // left open: a hanging or late answer stays in flight
		go func() {
			if write(conn, "POST", path, mail, "Idempotency-Key", key) == nil {
				read(conn)
			}
		}()
	}
}

func (w *world) checkKeys(target string, m windows) {
	w.t.Helper()
	effects := map[string]int{}
	for _, e := range w.sim.Effects()[target].List {
		effects[e.Key]++
	}
	for key, n := range effects {
		if n > m.count[key] {
			w.t.Errorf("%s: key %s has %d effects in %d windows", target, key, n, m.count[key])
		}
	}
}
