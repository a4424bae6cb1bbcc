package simtarget

import (
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
	late        int // commits that are still to come
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
	t.keys, t.late = map[string]*keyEntry{}, 0
	t.collections = map[string]*collection{}
	t.tally = newTally()
}

// collection returns what a target keeps of one kind, made when it is first asked for.
func (t *target) collection(name string) *collection {
	if c := t.collections[name]; c != nil {
		return c
	}
	c := newCollection(t.spec, name)
	t.collections[name] = c
	return c
}

// reply is an answer ready for the wire.
type reply struct {
	status int
	header []headerField // by name
	body   []byte
}

type headerField struct{ name, value string }

// set writes a header field, over the one of that name.
func (r *reply) set(name, value string) {
	at, found := slices.BinarySearchFunc(r.header, name, func(h headerField, name string) int { return strings.Compare(h.name, name) })
	if found {
		r.header[at].value = value
		return
	}
	r.header = slices.Insert(r.header, at, headerField{name, value})
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
	c := call{x: x, route: route}
	if t.sim.faults.any() {
		t.strike(&c)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tally.requests++
	out := t.carryOut(c)
	out.fault = c.wire.Kind
	return out
}

// strike finds the switches that this request uses up.
func (t *target) strike(c *call) {
	c.mods = map[Kind]Fault{}
	for _, f := range t.sim.faults.take(t.spec.Target, modifying, c.route) {
		c.mods[f.Kind] = f
	}
	for _, f := range t.sim.faults.take(t.spec.Target, atRequest, c.route) {
		c.wire = f
	}
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
		if r := &t.spec.Routes[i]; x.matches(r) {
			x.route = r
			return r
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

func (t *target) scope(x *exchange) *scope {
	return &scope{x: x, now: t.sim.clock.Now().UTC(), request: func() string {
		if x.id == "" {
			x.id = newID("uuid", t.rng)
		}
		return x.id
	}}
}

func (t *target) rejection(c call, sc *scope) *Answer {
	for i, r := range c.route.Rejects {
		if t.rejects(r, sc) {
			return &c.route.Rejects[i].Answer
		}
	}
	return nil
}

func (t *target) rejects(r Reject, sc *scope) bool {
	switch {
	case r.Longer != nil:
		return len([]rune(r.Longer.Of.text(sc))) > r.Longer.Than
	case r.Equals != nil:
		return r.Equals.Of.text(sc) == r.Equals.To.text(sc)
	case r.Absent != nil:
		return len(t.visible(*r.Absent, sc)) == 0
	}
	v, _ := r.Missing.value(sc)
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
func (t *target) render(a Answer, sc *scope) reply {
	r := reply{status: a.Status}
	for name, tpl := range a.Headers {
		r.set(name, tpl.text(sc))
	}
	body, ok := a.body(sc)
	if !ok {
		return r
	}
	if a.Headers["Content-Type"].text(sc) == "" {
		r.set("Content-Type", "application/json; charset=utf-8")
	}
	r.body = body
	return r
}

// body is the answer's body; ok is false when it has none.
func (a Answer) body(sc *scope) (body []byte, ok bool) {
	if mapping, isMapping := a.Body.node.(fields); isMapping && sc.x.field == nil {
		return mapping.write(make([]byte, 0, answerBodyBytes), sc)
	}
	tree, ok := a.Body.value(sc)
	if !ok || tree == nil {
		return nil, false
	}
	if text, isText := tree.(string); isText {
		return []byte(text), true
	}
	return appendJSON(make([]byte, 0, answerBodyBytes), selected(tree, sc.x)), true
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
	return reply{http.StatusForbidden, []headerField{{"Content-Type", "text/html; charset=utf-8"}}, []byte(proxyPage)}
}

// beforeEffect carries out the switches that leave no effect.
func (t *target) beforeEffect(c call, sc *scope) (outcome, bool) {
	switch c.wire.Kind {
	case KindResetAfterRequest:
		return outcome{action: ActionCut}, true
	case KindProxyBefore:
		return outcome{reply: proxyReply()}, true
	case KindLimited:
		r := t.render(t.spec.Failures.Limited, sc)
		if seconds := int(time.Duration(c.wire.Delay).Seconds()); seconds > 0 {
			r.set("Retry-After", strconv.Itoa(seconds))
		}
		return outcome{reply: r}, true
	case KindRedirect:
		return outcome{reply: reply{status: http.StatusTemporaryRedirect, header: []headerField{{"Location", c.x.path + "?moved=1"}}}}, true
	case KindBrokenBefore:
		stored := c.route != nil && c.route.Effect != nil && c.route.Effect.Key != nil && c.route.Effect.Key.StoresErrors
		return outcome{reply: t.render(t.spec.Failures.Broken, sc)}, !stored
	}
	return outcome{}, false
}

// afterEffect carries out the switches that spoil a good answer.
func (t *target) afterEffect(c call, good reply) outcome {
	out := outcome{reply: good}
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
		out.reply = t.render(t.spec.Failures.Broken, t.scope(c.x))
	case KindRefusedAfter:
		out.reply = t.render(t.spec.Failures.Refused, t.scope(c.x))
	case KindProxyAfter:
		out.reply = proxyReply()
	case KindUnreadable:
		out.reply = reply{http.StatusOK, []headerField{{"Content-Type", "application/json"}}, []byte(`{"id": "`)}
	}
	return out
}
