package sim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/intake"
	"holdfast/internal/source"
)

// sender delivers one event until it hears a 2xx, as senders do.
type sender struct {
	w      *world
	event  event
	heard  bool
	gaveUp bool
}

func (w *world) sendersDone() bool {
	for _, s := range w.senders {
		if !s.heard && !s.gaveUp {
			return false
		}
	}
	return true
}

func (s *sender) body() []byte {
	return fmt.Appendf(nil, `{"type":"%s.requested","timestamp":"%s","data":{"request_id":"%s"}}`, s.event.flow, start.Add(s.event.after).Format(time.RFC3339), s.event.key())
}

// deliver is the sender's actor.
func (s *sender) deliver() {
	w := s.w
	w.backUp()
	for wait := 5 * time.Second; ; wait = min(wait*2, time.Hour) {
		switch w.choose(kindSender, s.event.id) {
		case senderGivesUp:
			s.gaveUp = true
		case senderTwice:
			w.spawn("sender "+s.event.id+" again", func() { s.post(delivery{body: s.body()}) })
		case senderAgain:
			w.at(w.now.Add(30*time.Minute), func() { w.spawn("sender "+s.event.id+" later", func() { s.post(delivery{body: s.body()}) }) })
		case senderDeaf:
			s.post(delivery{body: s.body()})
		case senderRubbish:
			s.reject(delivery{body: []byte(`{"type":`)})
		case senderForged:
			s.reject(delivery{body: s.body(), forged: true})
		case senderStale:
			s.reject(delivery{body: s.body(), age: staleAge})
		}
		if s.post(delivery{body: s.body()})/100 == 2 {
			s.heard = true
			return
		}
		if s.gaveUp {
			return
		}
		w.sleep(wait)
	}
}

// delivery is one notification as it is sent.
type delivery struct {
	body   []byte
	forged bool
	age    time.Duration // of its signature
	refuse bool          // it must be refused and change nothing
}

// staleAge is older than any source's tolerance.
const staleAge = 2 * time.Hour

// reject sends what must be refused and change nothing.
func (s *sender) reject(d delivery) {
	d.refuse = true
	status := s.post(d)
	s.w.reach("R13")
	if status/100 == 2 {
		s.w.fail("R13", fmt.Sprintf("a delivery that is rubbish, forged or stale was answered %d", status))
	}
}

// post makes one delivery and answers the status; 0 when no answer came.
func (s *sender) post(d delivery) int {
	w := s.w
	header, err := source.Sign(w.standard(), source.NewSecret(secretOf("sources/standard")), s.event.id, w.now.Add(-d.age), d.body)
	if err != nil {
		panic(err)
	}
	if d.forged {
		header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	}
	req := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "POST /hooks/{source}", RawPath: "/hooks/standard", PathParameters: map[string]string{"source": "standard"},
		Headers: map[string]string{}, Body: string(d.body),
	}
	req.RequestContext.HTTP.Method = "POST"
	req.RequestContext.HTTP.Path = "/hooks/standard"
	for name := range header {
		req.Headers[name] = header.Get(name)
	}
	raw, err := json.Marshal(req)
	if err != nil {
		panic(err)
	}
	w.deliveries++
	out, err := w.invoke("WebhookFunction", raw, func(c *invocation) { c.refuse = d.refuse })
	if err != nil {
		return 0
	}
	var answer intake.Response
	if json.Unmarshal(out, &answer) != nil {
		return 0
	}
	w.answered(s, answer.StatusCode, d.refuse)
	return answer.StatusCode
}

func (w *world) standard() source.Config {
	for _, c := range w.lab.sources {
		if c.Name == "standard" {
			return c
		}
	}
	panic("the shipped sources lack standard.yaml")
}
