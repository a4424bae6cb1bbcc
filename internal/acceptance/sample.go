package acceptance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"holdfast/internal/flow/compile"
	"holdfast/internal/operation"
	"holdfast/internal/source"
	"holdfast/internal/target"
)

// sample is an event that starts the flow, as its source would send it.
type sample struct {
	body    map[string]any
	headers http.Header // besides the signature
	topic   string
	account string
	derived bool   // made up from the flow file
	from    string // the file that gave it, when it was not
}

// The identity of the sample, wherever the source keeps it.
const (
	accountSample  = "acceptance.example"
	eventSample    = "acceptance-event-1"
	deliverySample = "acceptance-delivery-1"
	deliverySecond = "acceptance-delivery-2"
	sampleBytesMax = 256 << 10
)

// makeSample reads samples/FLOW.json beside the flow files, or makes an event up from what the flow asks for; then it
// plans the flow for it, because an event that starts nothing proves nothing.
func (p *plan) makeSample() (sample, error) {
	s := p.blank()
	s.from = "samples/" + p.file.Name + ".json"
	raw, err := fs.ReadFile(p.options.Flows, s.from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.body, err = infer(p.flow, p.file.Require, s.topic); err != nil {
			return s, err
		}
		s.derived = true
	case err != nil:
		return s, wrongCall("read %s: %w", s.from, err)
	default:
		if s.body, err = readSample(raw); err != nil {
			return s, wrongCall("%s: %w", s.from, err)
		}
	}
	p.identify(&s)
	return s, p.accepts(s)
}

// blank is an event of the flow without a body yet.
func (p *plan) blank() sample {
	return sample{topic: p.file.Trigger.Topics[0], account: cmp.Or(p.file.Account, accountSample), headers: http.Header{}}
}

func readSample(raw []byte) (map[string]any, error) {
	if len(raw) > sampleBytesMax {
		return nil, fmt.Errorf("the sample has more than %d bytes", sampleBytesMax)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var body map[string]any
	if err := d.Decode(&body); err != nil {
		return nil, fmt.Errorf("a sample is one JSON object, the body as the source sends it: %w", err)
	}
	return body, nil
}

// identify puts account, topic and ids where the source has them. What a sample file says stands.
func (p *plan) identify(s *sample) {
	c := p.source
	s.put(c.EventID, p.event)
	s.put(c.DeliveryID, p.delivery)
	if v, ok := s.put(c.Topic, s.topic); ok {
		s.topic = v
	}
	if v, ok := s.put(c.Account, s.account); ok {
		s.account = v
	}
}

// put sets the first of the alternatives, unless one of them is there; it answers what stands.
func (s *sample) put(fields []source.Field, value string) (string, bool) {
	for _, f := range fields {
		if v, ok := at(s.body, f.Path); f.From == source.FromBody && ok && v != "" {
			return fmt.Sprint(v), true
		}
	}
	if len(fields) == 0 {
		return "", false
	}
	switch first := fields[0]; first.From {
	case source.FromBody:
		set(s.body, first.Path, value)
	case source.FromHeader:
		s.headers.Set(first.Name, value)
	case source.FromConstant:
		return first.Name, true
	}
	return value, true
}

func at(v any, path []string) (any, bool) {
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, len(path) > 0
}

func set(object map[string]any, path []string, value string) {
	for _, name := range path[:len(path)-1] {
		next, ok := object[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[name] = next
		}
		object = next
	}
	object[path[len(path)-1]] = value
}

// accepts plans the flow for the sample.
func (p *plan) accepts(s sample) error {
	out, err := p.flow.Plan(compile.Input{
		Event: compile.Event{ID: "ev_sample", Source: p.source.Name, Account: s.account, Topic: s.topic, Occurred: operation.TimeMin},
		Body:  s.bytes(), HoleReference: target.HoleReference,
	})
	if err != nil {
		return err
	}
	if out.Outcome == compile.OutcomeStages {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "flow %s: the sample event is not planned into its stages (%s: %s)", p.file.Name, out.Outcome, out.Reason)
	for _, problem := range out.Problems {
		fmt.Fprintf(&b, "\n  %s:%d: %s", problem.File, problem.At.Line, problem.Detail)
	}
	if !s.derived {
		fmt.Fprintf(&b, "\nChange %s so that the flow starts.", s.from)
		return &CallError{errors.New(b.String())}
	}
	fmt.Fprintf(&b, "\nThe sample was made up from the flow file. Put a real one beside it, as %s: the JSON body exactly as %s sends it, topic %q. This is what was tried:\n%s",
		s.from, p.source.Name, s.topic, s.shown())
	return &CallError{errors.New(b.String())}
}

// bytes is the body on the wire; the same sample always gives the same bytes.
func (s sample) bytes() []byte {
	raw, err := json.Marshal(s.body)
	if err != nil { // decoded JSON and texts always encode
		return nil
	}
	return raw
}

func (s sample) shown() string {
	raw, err := json.MarshalIndent(s.body, "", "  ")
	if err != nil {
		return ""
	}
	return string(raw)
}

// second is the same event as another subscription of the source tells it: another delivery id and one member more.
// False when the source has no delivery id apart from the event's, so that there is no second one to tell apart.
func (p *plan) second() (sample, bool) {
	c := p.source
	if len(c.DeliveryID) == 0 || len(c.EventID) == 0 || c.DeliveryID[0].String() == c.EventID[0].String() {
		return sample{}, false
	}
	body, err := readSample(p.sample.bytes())
	if err != nil {
		return sample{}, false
	}
	s := p.sample
	s.body, s.headers = body, p.sample.headers.Clone()
	f := c.DeliveryID[0]
	switch f.From {
	case source.FromHeader:
		s.headers.Set(f.Name, deliverySecond)
	case source.FromBody:
		set(s.body, f.Path, deliverySecond)
	default:
		return sample{}, false
	}
	s.body["told_by"] = "second subscription"
	return s, true
}
