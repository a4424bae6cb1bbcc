package sim

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Schedule is a world written down: what happens at the source, who acts from outside, and which faults strike. People's
// and processes' small numbers still come from the seed. A person can write one, and a failing seed becomes one.
type Schedule struct {
	Seed   uint64
	Events []event
	Acts   []act
	Faults []Fault
	Until  time.Duration // the adversary's time
	Sweeps time.Duration // the least time between two sweeps
}

// Fault is one choice of the adversary: the Nth time that an actor of this name comes to such a boundary.
type Fault struct {
	Actor  string
	Kind   kind
	Where  string
	Nth    int
	Option int
}

type boundary struct {
	actor string
	kind  kind
	where string
}

// replay strikes where a schedule says.
type replay struct {
	faults map[boundary]map[int]int // the options by the how-manieth time
	seen   map[boundary]int
}

func newReplay(faults []Fault) *replay {
	r := &replay{faults: map[boundary]map[int]int{}, seen: map[boundary]int{}}
	for _, f := range faults {
		b := boundary{f.Actor, f.Kind, f.Where}
		if r.faults[b] == nil {
			r.faults[b] = map[int]int{}
		}
		r.faults[b][f.Nth] = f.Option
	}
	return r
}

func (r *replay) strike(actor string, k kind, where string) int {
	b := boundary{actor, k, where}
	at := r.faults[b]
	if at == nil {
		return 0
	}
	r.seen[b]++
	return at[r.seen[b]]
}

// missed are the faults whose boundary nobody came to often enough.
func (r *replay) missed(faults []Fault) []Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return r.seen[boundary{f.Actor, f.Kind, f.Where}] >= f.Nth })
}

// recorder writes a drawn world down as a schedule.
type recorder struct {
	seen   map[boundary]int
	faults []Fault
}

func (r *recorder) note(actor string, k kind, where string, option int) {
	b := boundary{actor, k, where}
	r.seen[b]++
	if option != 0 {
		r.faults = append(r.faults, Fault{actor, k, where, r.seen[b], option})
	}
}

// kindNames are the kinds as a schedule writes them.
var kindNames = [kinds]string{
	"store", "states", "invoke", "dial", "write", "arrive", "target", "answer", "mail", "person", "sender", "outside", "order",
}

// String is the schedule as a file.
func (s *Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nuntil %s sweeps %s\n", s.Seed, s.Until, s.Sweeps)
	for _, e := range s.Events {
		fmt.Fprintf(&b, "event %s %s %s after %s\n", e.id, e.flow, e.request, e.after)
	}
	for _, a := range s.Acts {
		fmt.Fprintf(&b, "act %s after %s\n", options[kindOutside][a.option-1].name, a.after)
	}
	for _, f := range s.Faults {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// String is the fault as a line of a schedule.
func (f Fault) String() string {
	name := strconv.Itoa(f.Option)
	if f.Kind != kindOrder {
		name = options[f.Kind][f.Option-1].name
	}
	return fmt.Sprintf("fault %q %s %q %d %s", f.Actor, kindNames[f.Kind], f.Where, f.Nth, name)
}

// scheduleBytesMax bounds a schedule's file.
const scheduleBytesMax = 1 << 20

// scheduleEventsMax bounds a schedule's events.
const scheduleEventsMax = 50

// ReadSchedule reads a schedule's file. Errors name the line and what is allowed there.
func ReadSchedule(r io.Reader) (*Schedule, error) {
	raw, err := io.ReadAll(io.LimitReader(r, scheduleBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > scheduleBytesMax {
		return nil, fmt.Errorf("a schedule has at most %d bytes", scheduleBytesMax)
	}
	s := &Schedule{Until: time.Hour, Sweeps: time.Minute}
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(s.Events) == 0 {
		return nil, fmt.Errorf("after line %d: a schedule needs at least one event: event msg_1 %s r1 after 1s", n, flowsOf[0])
	}
	return s, nil
}

func (s *Schedule) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	var err error
	switch word {
	case "seed":
		if s.Seed, err = strconv.ParseUint(rest, 10, 64); err != nil {
			err = fmt.Errorf("%q is no seed; write a whole number from 0 on: seed 7", rest)
		}
	case "until":
		err = s.times(rest)
	case "event":
		err = s.event(rest)
	case "act":
		err = s.act(rest)
	case "fault":
		err = s.fault(rest)
	default:
		return fmt.Errorf("%q begins no line; a line begins with seed, until, event, act or fault", word)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	return nil
}

func (s *Schedule) times(rest string) error {
	var until, sweeps string
	if _, err := fmt.Sscanf(rest, "%s sweeps %s", &until, &sweeps); err != nil {
		return fmt.Errorf("write: until 1h sweeps 1m")
	}
	var err error
	if s.Until, err = span(until); err != nil {
		return err
	}
	s.Sweeps, err = span(sweeps)
	return err
}

// spanMax bounds every time of a schedule.
const spanMax = 40 * 24 * time.Hour

func span(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > spanMax {
		return 0, fmt.Errorf("%q is no time from 0s to %s", text, spanMax)
	}
	return d, nil
}

func (s *Schedule) event(rest string) error {
	var e event
	var after string
	if _, err := fmt.Sscanf(rest, "%s %s %s after %s", &e.id, &e.flow, &e.request, &after); err != nil {
		return fmt.Errorf("write: event msg_1 %s r1 after 1s", flowsOf[0])
	}
	if !slices.Contains(flowsOf, e.flow) {
		return fmt.Errorf("there is no flow %q; use one of %s", e.flow, strings.Join(flowsOf, ", "))
	}
	if slices.ContainsFunc(s.Events, func(o event) bool { return o.id == e.id }) {
		return fmt.Errorf("there is an event %s already; each has an id of its own", e.id)
	}
	if len(s.Events) == scheduleEventsMax {
		return fmt.Errorf("a schedule has at most %d events", scheduleEventsMax)
	}
	var err error
	e.after, err = span(after)
	s.Events = append(s.Events, e)
	return err
}

func (s *Schedule) act(rest string) error {
	var name, after string
	if _, err := fmt.Sscanf(rest, "%s after %s", &name, &after); err != nil {
		return fmt.Errorf("write: act abort after 5m")
	}
	option, err := optionOf(kindOutside, name)
	if err != nil {
		return err
	}
	d, err := span(after)
	s.Acts = append(s.Acts, act{after: d, option: option})
	return err
}

func (s *Schedule) fault(rest string) error {
	var f Fault
	var k, name string
	if _, err := fmt.Sscanf(rest, "%q %s %q %d %s", &f.Actor, &k, &f.Where, &f.Nth, &name); err != nil {
		return fmt.Errorf(`write: fault "ExecuteFunction" store "UpdateItem" 1 lost`)
	}
	if f.Nth < 1 {
		return fmt.Errorf("%d is not the how-manieth time; the first is 1", f.Nth)
	}
	n := slices.Index(kindNames[:], k)
	if n < 0 {
		return fmt.Errorf("there is no boundary %q; use one of %s", k, strings.Join(kindNames[:], ", "))
	}
	f.Kind = kind(n)
	var err error
	if f.Kind == kindOrder {
		if f.Option, err = strconv.Atoi(name); err != nil || f.Option < 0 {
			return fmt.Errorf("%q is not who goes on: write its number, 0 for the first", name)
		}
	} else if f.Option, err = optionOf(f.Kind, name); err != nil {
		return err
	}
	s.Faults = append(s.Faults, f)
	return nil
}

func optionOf(k kind, name string) (int, error) {
	var known []string
	for i, o := range options[k] {
		if o.name == name {
			return i + 1, nil
		}
		known = append(known, o.name)
	}
	return 0, fmt.Errorf("%s knows no %q; use one of %s", kindNames[k], name, strings.Join(known, ", "))
}
