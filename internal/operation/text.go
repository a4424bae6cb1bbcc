package operation

import "fmt"

// Text forms: stored in the ledger and shown on pages; permanent.
var (
	statusText = [statusCount]string{"proposed", "in_flight", "ready", "unknown", "held", "confirmed", "failed", "declined", "abandoned"}
	eventText  = [eventStatusCount]string{"received", "planned", "held", "refused"}
	runText    = [runStatusCount]string{"started", "done", "not_applicable", "held", "stopped"}
	actionText = [actionCount]string{"ask", "wait", "look_up", "send", "replay", "done"}
	outText    = [3]string{"unknown", "not_executed", "executed"}
	protText   = [3]string{"none", "key", "natural_key"}
	orderText  = [2]string{"look_up", "replay"}
)

func text(table []string, i uint8) ([]byte, error) {
	if int(i) >= len(table) {
		return nil, fmt.Errorf("value %d has no text form", i)
	}
	return []byte(table[i]), nil
}

func index(table []string, b []byte, what string) (uint8, error) {
	for i, s := range table {
		if s == string(b) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("%q is no %s (allowed: %v)", b, what, table)
}

func show(table []string, i uint8) string {
	if int(i) >= len(table) {
		return fmt.Sprintf("%d?", i)
	}
	return table[i]
}

// String and the text forms of each enumeration.

func (s Status) String() string               { return show(statusText[:], uint8(s)) }
func (s Status) MarshalText() ([]byte, error) { return text(statusText[:], uint8(s)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Status) UnmarshalText(b []byte) error {
	i, err := index(statusText[:], b, "status of an operation")
	*s = Status(i)
	return err
}

func (s EventStatus) String() string               { return show(eventText[:], uint8(s)) }
func (s EventStatus) MarshalText() ([]byte, error) { return text(eventText[:], uint8(s)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *EventStatus) UnmarshalText(b []byte) error {
	i, err := index(eventText[:], b, "status of an event")
	*s = EventStatus(i)
	return err
}

func (s RunStatus) String() string               { return show(runText[:], uint8(s)) }
func (s RunStatus) MarshalText() ([]byte, error) { return text(runText[:], uint8(s)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *RunStatus) UnmarshalText(b []byte) error {
	i, err := index(runText[:], b, "status of a run")
	*s = RunStatus(i)
	return err
}

func (a Action) String() string               { return show(actionText[:], uint8(a)) }
func (a Action) MarshalText() ([]byte, error) { return text(actionText[:], uint8(a)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Action) UnmarshalText(b []byte) error {
	i, err := index(actionText[:], b, "action")
	*a = Action(i)
	return err
}

func (o Outcome) String() string               { return show(outText[:], uint8(o)) }
func (o Outcome) MarshalText() ([]byte, error) { return text(outText[:], uint8(o)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Outcome) UnmarshalText(b []byte) error {
	i, err := index(outText[:], b, "outcome")
	*o = Outcome(i)
	return err
}

func (p Protection) String() string               { return show(protText[:], uint8(p)) }
func (p Protection) MarshalText() ([]byte, error) { return text(protText[:], uint8(p)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Protection) UnmarshalText(b []byte) error {
	i, err := index(protText[:], b, "protection")
	*p = Protection(i)
	return err
}

func (o Order) String() string               { return show(orderText[:], uint8(o)) }
func (o Order) MarshalText() ([]byte, error) { return text(orderText[:], uint8(o)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Order) UnmarshalText(b []byte) error {
	i, err := index(orderText[:], b, "order of recovery")
	*o = Order(i)
	return err
}
