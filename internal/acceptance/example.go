package acceptance

import (
	"net/http"

	"holdfast/internal/source"
)

// Example is an event that starts a flow, as its source sends it. Only the signature is missing.
type Example struct {
	Flow   string
	Source source.Config
	Body   []byte
	Header http.Header // where the source names account, topic and event there
	// Derived says that the body was made up from the flow file.
	Derived bool
}

// ExampleOf is an event for the flow that o names. event is its id: two examples with one id are deliveries of one event.
// With a body of the caller's, only the headers are made for it. Its error says what to do.
func ExampleOf(o Options, event string, body []byte) (Example, error) {
	p, err := read(o)
	if err != nil {
		return Example{}, err
	}
	p.event, p.delivery = event, event
	var s sample
	if body == nil {
		s, err = p.makeSample()
	} else {
		s, err = p.given(body)
	}
	if err != nil {
		return Example{}, err
	}
	if body == nil {
		body = s.bytes()
	}
	return Example{Flow: p.file.Name, Source: p.source, Body: body, Header: s.headers, Derived: s.derived}, nil
}

// given is what stands beside a body that is sent as it is.
func (p *plan) given(body []byte) (sample, error) {
	s := p.blank()
	var err error
	if s.body, err = readSample(body); err != nil {
		return s, &CallError{err}
	}
	p.identify(&s)
	return s, nil
}
