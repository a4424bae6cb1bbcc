package operation

import (
	"fmt"
	"time"
)

// Time is an instant in milliseconds since 1970 UTC; the zero value means "not set". Its text form is
// RFC 3339 in UTC with exactly three decimals, so that texts sort as the instants do.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

// TimeMin and TimeMax bound every stored instant: one outside of 2020 to 2100 was written in another unit.
const (
	TimeMin = Time(1577836800000)
	TimeMax = Time(4102444800000)
)

// TimeOf converts, cutting off below the millisecond; a zero time.Time becomes the zero Time.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Std converts back, in UTC.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Add moves an instant by d; the zero Time stays unset.
func (t Time) Add(d time.Duration) Time {
	if t == 0 {
		return 0
	}
	return t + Time(d.Milliseconds())
}

// Sub is the duration from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// String is the text form; "" when unset.
func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(timeLayout)
}

// MarshalText refuses an instant outside of TimeMin..TimeMax.
func (t Time) MarshalText() ([]byte, error) {
	if t != 0 && (t < TimeMin || t > TimeMax) {
		return nil, fmt.Errorf("instant %d is outside 2020 to 2100: its unit must be milliseconds", int64(t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads the text form and nothing else.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := ParseTime(string(b))
	if err != nil {
		return err
	}
	*t = v
	return nil
}

// ParseTime reads the fixed-width text form; "" is the unset Time.
func ParseTime(s string) (Time, error) {
	if s == "" {
		return 0, nil
	}
	std, err := time.Parse(timeLayout, s)
	if err != nil || std.Format(timeLayout) != s {
		return 0, fmt.Errorf("%q is not an instant such as 2026-11-29T18:00:00.000Z", s)
	}
	t := TimeOf(std)
	if t < TimeMin || t > TimeMax {
		return 0, fmt.Errorf("instant %s is outside 2020 to 2100", s)
	}
	return t, nil
}

func earliest(a, b Time) Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

func latest(a, b Time) Time { return max(a, b) }
