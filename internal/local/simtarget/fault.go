package simtarget

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind names a fault switch.
type Kind string

// The fault switches. The last four contradict the target's documentation.
const (
	KindResetBeforeFirstByte Kind = "reset-before-first-byte"
	KindResetAfterHeaders    Kind = "reset-after-headers"
	KindResetAfterRequest    Kind = "reset-after-request"
	KindBrokenBefore         Kind = "5xx-before"
	KindProxyBefore          Kind = "proxy-403-before"
	KindLimited              Kind = "429"
	KindRedirect             Kind = "redirect"
	KindStoredError          Kind = "stored-error"
	KindLateCommit           Kind = "late-commit"
	KindLostAfterCommit      Kind = "lost-after-commit"
	KindHangAfterCommit      Kind = "hang-after-commit"
	KindHalfAnswer           Kind = "half-answer"
	KindLateAnswer           Kind = "late-answer"
	KindBrokenAfter          Kind = "5xx-after"
	KindUnreadable           Kind = "unreadable-200"
	KindProxyAfter           Kind = "proxy-403-after"
	KindKeepaliveBreak       Kind = "keepalive-break"
	KindSlowVisibility       Kind = "slow-visibility"
	KindSeveralMatches       Kind = "several-matches"
	KindTruncatedPage        Kind = "truncated-page"
	KindForeignRecord        Kind = "foreign-record"
	KindKeyForgotten         Kind = "key-forgotten"
	KindNotUnique            Kind = "not-unique"
	KindShortWindow          Kind = "short-window"
	KindRefusedAfter         Kind = "4xx-after"
	KindKeyIgnored           Kind = "key-ignored"
)

// MatchEffects and MatchLookups are the values of Fault.Match that are not a route's name.
const (
	MatchEffects = "effects"
	MatchLookups = "lookups"
)

// Fault is one switch. It works on the next Count matching requests, or on each matching request with
// Probability, or on at most Count of them with Probability.
type Fault struct {
	ID          string   `json:"id"`
	Target      string   `json:"target"`
	Kind        Kind     `json:"kind"`
	Count       int      `json:"count,omitempty"`
	Probability float64  `json:"probability,omitempty"`
	Delay       Duration `json:"delay,omitzero"`
	Skip        int      `json:"skip,omitempty"`  // matching requests that pass first
	Match       string   `json:"match,omitempty"` // route name, "effects", "lookups"; empty: where the kind makes sense
	Used        int      `json:"used"`
}

// Duration is a length of time that reads and writes as text such as "30s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

type stage int

const (
	atAccept  stage = iota // the connection is there, nothing was read
	atHeaders              // the head was read, the body not yet
	atRequest              // the request was read to its end
	modifying              // changes how the target behaves, not what the wire does
)

type reach int

const (
	anyRoute reach = iota
	effectRoutes
	lookupRoutes
	listRoutes
	keyRoutes
	naturalRoutes
	recordRoutes // lookups, and effects with a natural key
)

// kindInfo is what a kind does; page and errors show its sentence.
type kindInfo struct {
	kind          Kind
	stage         stage
	reach         reach
	needsDelay    bool
	contradiction bool
	says          string
}

func kinds() []kindInfo {
	return []kindInfo{
		{KindResetBeforeFirstByte, atAccept, anyRoute, false, false, "the connection is reset as soon as it is accepted"},
		{KindResetAfterHeaders, atHeaders, anyRoute, false, false, "reset after the request's head; no effect"},
		{KindResetAfterRequest, atRequest, anyRoute, false, false, "reset after the whole request; no effect"},
		{KindBrokenBefore, atRequest, anyRoute, false, false, "internal error before any effect"},
		{KindProxyBefore, atRequest, anyRoute, false, false, "a firewall's 403 page; no effect"},
		{KindLimited, atRequest, anyRoute, false, false, "over the rate limit, before any effect; delay is Retry-After"},
		{KindRedirect, atRequest, anyRoute, false, false, "307 to another place; no effect"},
		{KindStoredError, atRequest, keyRoutes, false, false, "internal error without effect, stored under the key"},
		{KindLateCommit, atRequest, effectRoutes, true, false, "no answer ever; the effect happens after the delay"},
		{KindLostAfterCommit, atRequest, effectRoutes, false, false, "the effect happens, then the connection is reset"},
		{KindHangAfterCommit, atRequest, effectRoutes, false, false, "the effect happens, no answer comes, the connection stays open"},
		{KindHalfAnswer, atRequest, anyRoute, false, false, "half of the answer, then the connection ends"},
		{KindLateAnswer, atRequest, anyRoute, true, false, "the effect happens now, the answer comes after the delay"},
		{KindBrokenAfter, atRequest, effectRoutes, false, false, "internal error after the effect"},
		{KindUnreadable, atRequest, anyRoute, false, false, "200 with a body that cannot be read"},
		{KindProxyAfter, atRequest, effectRoutes, false, false, "a firewall's 403 page after the effect"},
		{KindKeepaliveBreak, atRequest, anyRoute, false, false, "a good answer; the next request on the connection is cut"},
		{KindSlowVisibility, modifying, lookupRoutes, true, false, "lookups show a record only after the delay"},
		{KindSeveralMatches, modifying, listRoutes, false, false, "a lookup finds two"},
		{KindTruncatedPage, modifying, listRoutes, false, false, "a page comes empty although more follows"},
		{KindForeignRecord, modifying, recordRoutes, false, false, "somebody else's record stands where ours is looked for"},
		{KindKeyForgotten, modifying, keyRoutes, false, false, "the memory of keys is wiped"},
		{KindNotUnique, modifying, naturalRoutes, false, true, "the unique value is not honoured"},
		{KindShortWindow, modifying, keyRoutes, true, true, "keys are forgotten after the delay already"},
		{KindRefusedAfter, atRequest, effectRoutes, false, true, "a rejection after the effect"},
		{KindKeyIgnored, modifying, keyRoutes, false, true, "the key is not looked at"},
	}
}

func infoOf(k Kind) (kindInfo, bool) {
	for _, info := range kinds() {
		if info.kind == k {
			return info, true
		}
	}
	return kindInfo{}, false
}

func (r reach) covers(route *Route) bool {
	if r == anyRoute {
		return true
	}
	if route == nil {
		return false
	}
	effect, lookup := route.Effect != nil, route.Get != nil || route.List != nil
	switch r {
	case effectRoutes:
		return effect
	case lookupRoutes:
		return lookup
	case listRoutes:
		return route.List != nil
	case keyRoutes:
		return effect && route.Effect.Key != nil
	case naturalRoutes:
		return effect && route.Effect.Natural != nil
	}
	return lookup || effect && route.Effect.Natural != nil
}

// checkFault says what is wrong with a switch for one target.
func checkFault(spec Spec, f Fault) error {
	info, known := infoOf(f.Kind)
	switch {
	case !known:
		return fmt.Errorf("unknown kind %q; known: %s", f.Kind, kindNames())
	case f.Count < 0 || f.Skip < 0 || !(f.Probability >= 0 && f.Probability <= 1):
		return errors.New("count and skip have to be 0 or more, probability between 0 and 1")
	case f.Count == 0 && f.Probability == 0:
		return errors.New("say for how many requests: give count, or probability, or both")
	case f.Delay < 0 || time.Duration(f.Delay) > faultDelayMax:
		return fmt.Errorf("delay has to be between 0 and %s", faultDelayMax)
	case info.needsDelay && f.Delay == 0:
		return fmt.Errorf("%s needs a delay, for example 90s", f.Kind)
	}
	if info.stage == atAccept && f.Match != "" {
		return fmt.Errorf("%s happens before there is a request, so match has to be empty", f.Kind)
	}
	for i := range spec.Routes {
		if info.reach.covers(&spec.Routes[i]) && f.matchesRoute(&spec.Routes[i]) {
			return nil
		}
	}
	return fmt.Errorf("target %s has no route for %s with match %q; routes: %s, or effects, lookups", spec.Target, f.Kind, f.Match, routeNames(spec))
}

func (f Fault) matchesRoute(r *Route) bool {
	switch {
	case f.Match == "":
		return true
	case r == nil:
		return false
	case f.Match == MatchEffects:
		return r.Effect != nil
	case f.Match == MatchLookups:
		return r.Get != nil || r.List != nil
	}
	return f.Match == r.Name
}

func kindNames() string {
	var names []string
	for _, info := range kinds() {
		names = append(names, string(info.kind))
	}
	return strings.Join(names, ", ")
}

func routeNames(s Spec) string {
	var names []string
	for _, r := range s.Routes {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// faultSet holds the switches of all targets.
type faultSet struct {
	mu     sync.Mutex
	rng    *rand.Rand
	made   int
	faults []*armed
}

// armed is a switch that can strike, with what its kind does.
type armed struct {
	Fault
	info kindInfo
}

func (s *faultSet) add(f Fault) (Fault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) >= faultsMax {
		return f, fmt.Errorf("%d switches are set already; remove some first", faultsMax)
	}
	s.made++
	f.ID, f.Used = "f"+strconv.Itoa(s.made), 0
	info, _ := infoOf(f.Kind)
	s.faults = append(s.faults, &armed{f, info})
	return f, nil
}

// any is true when a switch is set.
func (s *faultSet) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults) > 0
}

// remove drops the switches of a target, or the one with the id; empty texts match all.
func (s *faultSet) remove(target, id string) (removed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.faults)
	s.faults = slices.DeleteFunc(s.faults, func(f *armed) bool {
		return (target == "" || f.Target == target) && (id == "" || f.ID == id)
	})
	return before - len(s.faults)
}

func (s *faultSet) list() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Fault{}
	for _, f := range s.faults {
		out = append(out, f.Fault)
	}
	return out
}

// take uses up switches of one target at one stage: the first that strikes, or for modifying ones all of them.
// routes are the routes that the request can still be.
func (s *faultSet) take(target string, at stage, routes ...*Route) (struck []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Target != target || f.info.stage != at || !f.applies(routes) || !f.strikes(s.rng) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		f.Used++
		struck = append(struck, f.Fault)
		if at != modifying {
			break
		}
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *armed) bool { return f.Count > 0 && f.Used >= f.Count })
	return struck
}

func (f *armed) applies(routes []*Route) bool {
	if f.info.stage == atAccept {
		return true
	}
	return slices.ContainsFunc(routes, func(r *Route) bool {
		return f.info.reach.covers(r) && f.matchesRoute(r)
	})
}

func (f *Fault) strikes(rng *rand.Rand) bool {
	return f.Probability == 0 || rng.Float64() < f.Probability
}
