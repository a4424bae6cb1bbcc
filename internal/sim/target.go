package sim

import (
	"time"

	"holdfast/internal/local/simtarget"
)

// faultOf is the simulated target's switch for each option.
var faultOf = map[int]simtarget.Kind{
	targetUnavailable: simtarget.KindLimited, targetLimited: simtarget.KindLimited, targetBroken: simtarget.KindBrokenBefore,
	targetBrokenAfter: simtarget.KindBrokenAfter, targetProxy: simtarget.KindProxyBefore, targetProxyAfter: simtarget.KindProxyAfter,
	targetStoredError: simtarget.KindStoredError, targetSlowToShow: simtarget.KindSlowVisibility, targetUnreadable: simtarget.KindUnreadable,
	targetRedirect: simtarget.KindRedirect, targetTruncated: simtarget.KindTruncatedPage, targetSeveral: simtarget.KindSeveralMatches,
}

// slowToShow is how late an effect is shown at most: what the targets document.
const slowToShow = 20 * time.Second

// target carries out one request, with what the adversary does there. It does not park.
func (w *world) target(sender *actor, name string, request []byte) (simtarget.Exchange, error) {
	if option := w.tape.choose(sender, kindTarget, name); option != 0 {
		w.struck(sender, kindTarget, option, name)
		f := simtarget.Fault{Target: name, Kind: faultOf[option], Count: 1}
		switch option {
		case targetSlowToShow:
			f.Delay = simtarget.Duration(slowToShow)
		case targetLimited:
			f.Delay = simtarget.Duration(time.Minute)
		}
		_, _ = w.sim.SetFault(f) // a target that knows no such thing refuses it
	}
	ex, err := w.sim.Exchange(name, request)
	w.sim.ClearFaults(name, "")
	return ex, err
}
