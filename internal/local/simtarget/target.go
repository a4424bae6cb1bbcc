package simtarget

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const timeShape = "2006-01-02T15:04:05.000Z"

// target is one simulated system. Everything below mu changes only while it is held.
type target struct {
	sim  *Sim
	spec *Spec

	mu          sync.Mutex
	epoch       int // grows with each reset; what was begun before does not commit after
	rng         *rand.Rand
	collections map[string]*collection
	keys        map[string]*keyEntry
	tally       tally
}

func newTarget(s *Sim, spec *Spec, seed uint64) *target {
	h := fnv.New64a()
	h.Write([]byte(spec.Target))
	t := &target{sim: s, spec: spec, rng: rand.New(rand.NewPCG(seed, h.Sum64()))}
	t.reset()
	return t
}

// reset forgets everything but the data file and the open connections. The caller holds mu, or is newTarget.
func (t *target) reset() {
	t.epoch++
	t.keys = map[string]*keyEntry{}
	t.collections = map[string]*collection{}
	for name, spec := range t.spec.Collections {
		t.collections[name] = newCollection(spec)
	}
	t.tally = newTally()
}

// reply is an answer ready for the wire.
type reply struct {
	status int
	header map[string]string
	body   []byte
}

// outcome is what one request led to.
type outcome struct {
	reply  reply
	action Action
	until  time.Time // when the reply may go; zero: at once
	done   func()    // called then, before the reply
	fault  Kind
}

// handle carries out one request.
func (t *target) handle(x *exchange) outcome {
	route := t.route(x)
	mods := map[Kind]Fault{}
	for _, f := range t.sim.faults.take(t.spec.Target, modifying, route) {
		mods[f.Kind] = f
	}
	var wire Fault
	for _, f := range t.sim.faults.take(t.spec.Target, atRequest, route) {
		wire = f
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tally.requests++
	out := t.carryOut(call{x: x, route: route, wire: wire, mods: mods})
	out.fault = wire.Kind
	return out
}

// call is one request with what was found out about it.
type call struct {
	x     *exchange
	route *Route
	wire  Fault
	mods  map[Kind]Fault
}

func (c call) has(k Kind) bool {
	_, ok := c.mods[k]
	return ok
}

func (t *target) route(x *exchange) *Route {
	for i := range t.spec.Routes {
		if params, ok := x.matches(&t.spec.Routes[i]); ok {
			x.params = params
			return &t.spec.Routes[i]
		}
	}
	return nil
}

// carryOut goes through the layers in the order in which they stand in front of the target's data.
func (t *target) carryOut(c call) outcome {
	sc := t.scope(c.x)
	if out, stopped := t.beforeEffect(c, sc); stopped {
		return out
	}
	if a := t.spec.Auth; a != nil && c.x.header.Get(a.Header) == "" {
		return t.afterEffect(c, t.render(a.Missing, sc))
	}
	if c.route == nil {
		return t.afterEffect(c, t.render(t.spec.Unrouted, sc))
	}
	if refusal := t.rejection(c, sc); refusal != nil {
		return t.afterEffect(c, t.render(*refusal, sc))
	}
	switch {
	case c.route.Effect != nil:
		return t.effect(c, sc)
	case c.route.Get != nil:
		return t.afterEffect(c, t.get(c, sc))
	case c.route.List != nil:
		return t.afterEffect(c, t.list(c, sc))
	}
	return t.afterEffect(c, t.archive(c, sc))
}

func (t *target) scope(x *exchange) scope {
	return scope{x: x, now: t.sim.clock.Now().UTC().Format(timeShape), request: newID("uuid", t.rng)}
}

func (t *target) rejection(c call, sc scope) *Answer {
	for i, r := range c.route.Rejects {
		if t.rejects(r, sc) {
			return &c.route.Rejects[i].Answer
		}
	}
	return nil
}

func (t *target) rejects(r Reject, sc scope) bool {
	switch {
	case r.Longer != nil:
		return len([]rune(r.Longer.Of.text(sc))) > r.Longer.Than
	case r.Equals != nil:
		return r.Equals.Of.text(sc) == r.Equals.To.text(sc)
	case r.Absent != nil:
		return len(t.visible(*r.Absent, sc)) == 0
	}
	v, _ := evalText(r.Missing, sc)
	return isBlank(v)
}

func isBlank(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return textOf(v) == ""
}

// render makes the wire form of an answer; a GraphQL answer holds only what was asked for.
func (t *target) render(a Answer, sc scope) reply {
	r := reply{status: a.Status, header: map[string]string{}}
	for name, tpl := range a.Headers {
		r.header[name] = tpl.text(sc)
	}
	body, ok := a.Body.value(sc)
	if !ok || body == nil {
		return r
	}
	if r.header["Content-Type"] == "" {
		r.header["Content-Type"] = "application/json; charset=utf-8"
	}
	if text, isText := body.(string); isText {
		r.body = []byte(text)
		return r
	}
	r.body, _ = json.Marshal(selected(body, sc.x)) // a tree of decoded YAML and JSON always encodes
	return r
}

func selected(body any, x *exchange) any {
	doc, isDoc := body.(map[string]any)
	if !isDoc || x.field == nil {
		return body
	}
	data, isData := doc["data"].(map[string]any)
	if !isData {
		return body
	}
	out := make(map[string]any, len(doc))
	for name, v := range doc {
		out[name] = v
	}
	out["data"] = map[string]any{x.field.Alias: project(data[x.field.Name], x.field.SelectionSet)}
	return out
}

const proxyPage = "<!doctype html><html><head><title>403 Forbidden</title></head>" +
	"<body><h1>Request blocked</h1><p>This request was blocked by the web application firewall.</p></body></html>\n"

func proxyReply() reply {
	return reply{http.StatusForbidden, map[string]string{"Content-Type": "text/html; charset=utf-8"}, []byte(proxyPage)}
}

// beforeEffect carries out the switches that leave no effect.
func (t *target) beforeEffect(c call, sc scope) (outcome, bool) {
	switch c.wire.Kind {
	case KindResetAfterRequest:
		return outcome{action: ActionCut}, true
	case KindProxyBefore:
		return outcome{reply: proxyReply()}, true
	case KindLimited:
		r := t.render(t.spec.Failures.Limited, sc)
		if seconds := int(time.Duration(c.wire.Delay).Seconds()); seconds > 0 {
			r.header["Retry-After"] = strconv.Itoa(seconds)
		}
		return outcome{reply: r}, true
	case KindRedirect:
		return outcome{reply: reply{status: http.StatusTemporaryRedirect, header: map[string]string{"Location": c.x.path + "?moved=1"}}}, true
	case KindBrokenBefore:
		stored := c.route != nil && c.route.Effect != nil && c.route.Effect.Key != nil && c.route.Effect.Key.StoresErrors
		return outcome{reply: t.render(t.spec.Failures.Broken, sc)}, !stored
	}
	return outcome{}, false
}

// afterEffect carries out the switches that spoil a good answer.
func (t *target) afterEffect(c call, good reply) outcome {
	out := outcome{reply: good}
	sc := t.scope(c.x)
	switch c.wire.Kind {
	case KindLostAfterCommit:
		out.action = ActionCut
	case KindHangAfterCommit, KindLateCommit:
		out.action = ActionHang
	case KindHalfAnswer:
		out.action = ActionHalf
	case KindKeepaliveBreak:
		out.action = ActionAnswerThenCut
	case KindLateAnswer:
		out.until = t.sim.clock.Now().Add(time.Duration(c.wire.Delay))
	case KindBrokenAfter:
		out.reply = t.render(t.spec.Failures.Broken, sc)
	case KindRefusedAfter:
		out.reply = t.render(t.spec.Failures.Refused, sc)
	case KindProxyAfter:
		out.reply = proxyReply()
	case KindUnreadable:
		out.reply = reply{http.StatusOK, map[string]string{"Content-Type": "application/json"}, []byte(`{"id": "`)}
	}
	return out
}
