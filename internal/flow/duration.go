package flow

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// DurationMin and DurationMax bound every duration in a flow file.
const (
	DurationMin = Duration(time.Minute)
	DurationMax = Duration(365 * day)

	day = 24 * time.Hour
)

// Duration is a length of time that a flow file gives. A day is always 24 hours.
type Duration time.Duration

var durationForm = regexp.MustCompile(`^(?:(\d{1,3})d)?(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$`)

var durationUnits = []time.Duration{day, time.Hour, time.Minute, time.Second}

// ParseDuration reads whole days, hours, minutes and seconds, largest first: "3d", "20h", "1d12h", "90m".
func ParseDuration(text string) (Duration, error) {
	m := durationForm.FindStringSubmatch(text)
	if m == nil || text == "" {
		return 0, fmt.Errorf("%q is not a duration; write whole numbers with d, h, m or s, such as 3d, 20h or 1h30m", text)
	}
	var sum time.Duration
	for i, unit := range durationUnits {
		if m[i+1] != "" {
			n, _ := strconv.Atoi(m[i+1]) // at most eight digits, by the pattern
			sum += time.Duration(n) * unit
		}
	}
	if d := Duration(sum); d < DurationMin || d > DurationMax {
		return 0, fmt.Errorf("%q is not between %s and %s", text, DurationMin, DurationMax)
	}
	return Duration(sum), nil
}

// Std is the duration as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is the form that ParseDuration reads; parts of a second are cut off.
func (d Duration) String() string {
	var b strings.Builder
	rest := time.Duration(d)
	for i, letter := range []string{"d", "h", "m", "s"} {
		if n := rest / durationUnits[i]; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, letter)
			rest -= n * durationUnits[i]
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// MarshalText is String; the zero Duration is empty.
func (d Duration) MarshalText() ([]byte, error) {
	if d == 0 {
		return nil, nil
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (d *Duration) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*d = 0
		return nil
	}
	v, err := ParseDuration(string(b))
	*d = v
	return err
}
