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
	number int
	heard  bool
}

func (w *world) sendersDone() bool {
	for _, s := range w.senders {
		if !s.heard {
			return false
		}
	}
	return true
}

func (s *sender) body() []byte {
	return fmt.Appendf(nil, `{"type":"%s.requested","timestamp":"%s","data":{"request_id":"%s"}}`, s.event.flow, start.Add(s.event.after).Format(time.RFC3339), s.event.request)
}

// deliver is the sender's actor.
func (s *sender) deliver() {
	w := s.w
	w.backUp()
	for wait := 5 * time.Second; ; wait = min(wait*2, time.Hour) {
		switch w.choose(kindSender, s.event.id) {
		case senderTwice:
			w.spawn("sender "+s.event.id+" again", func() { s.post(s.body(), false) })
		case senderAgain:
			w.at(w.now.Add(30*time.Minute), func() { w.spawn("sender "+s.event.id+" later", func() { s.post(s.body(), false) }) })
		case senderDeaf:
			s.post(s.body(), false)
		case senderRubbish:
			s.reject([]byte(`{"type":`), false)
		case senderForged:
			s.reject(s.body(), true)
		}
		if s.post(s.body(), false)/100 == 2 {
			s.heard = true
			return
		}
		w.sleep(wait)
	}
}

// reject sends what must be refused and change nothing.
func (s *sender) reject(body []byte, forged bool) {
	status := s.post(body, forged)
	s.w.reach("R13")
	if status/100 == 2 {
		s.w.fail("R13", fmt.Sprintf("a delivery that is rubbish or forged was answered %d", status))
	}
}

// post makes one delivery and answers the status; 0 when no answer came.
func (s *sender) post(body []byte, forged bool) int {
	w := s.w
	header, err := source.Sign(w.standard(), source.NewSecret(secretOf("sources/standard")), s.event.id, w.now, body)
	if err != nil {
		panic(err)
	}
	if forged {
		header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	}
	req := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "POST /hooks/{source}", RawPath: "/hooks/standard", PathParameters: map[string]string{"source": "standard"},
		Headers: map[string]string{}, Body: string(body),
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
	out, err := w.invoke("WebhookFunction", raw, func(c *invocation) { c.refuse = forged || len(body) < len(s.body()) })
	if err != nil {
		return 0
	}
	var answer intake.Response
	if json.Unmarshal(out, &answer) != nil {
		return 0
	}
	w.answered(s, answer.StatusCode, body, forged)
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
