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
	std := t.Std()
	year, month, day := std.Date()
	hour, minute, second := std.Clock()
	b := []byte(timeLayout)
	for _, f := range [...]struct{ at, width, value int }{
		{0, 4, year}, {5, 2, int(month)}, {8, 2, day}, {11, 2, hour}, {14, 2, minute}, {17, 2, second}, {20, 3, std.Nanosecond() / 1e6},
	} {
		for i := f.at + f.width - 1; i >= f.at; i-- {
			b[i] = byte('0' + f.value%10)
			f.value /= 10
		}
	}
	return string(b)
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
	t, ok := parseTime(s)
	if !ok {
		return 0, fmt.Errorf("%q is not an instant such as 2026-11-29T18:00:00.000Z", s)
	}
	if t < TimeMin || t > TimeMax {
		return 0, fmt.Errorf("instant %s is outside 2020 to 2100", s)
	}
	return t, nil
}

// parseTime reads exactly timeLayout. A record holds dozens of instants, so it is written for them and not for layouts.
func parseTime(s string) (Time, bool) {
	if len(s) != len(timeLayout) {
		return 0, false
	}
	var fields [7]int // year, month, day, hour, minute, second, millisecond
	n := 0
	for i := range len(s) {
		if c := timeLayout[i]; c < '0' || c > '9' {
			if s[i] != c {
				return 0, false
			}
			n++
			continue
		}
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		fields[n] = fields[n]*10 + int(s[i]-'0')
	}
	std := time.Date(fields[0], time.Month(fields[1]), fields[2], fields[3], fields[4], fields[5], fields[6]*1e6, time.UTC)
	year, month, day := std.Date()
	hour, minute, second := std.Clock()
	same := year == fields[0] && int(month) == fields[1] && day == fields[2] && hour == fields[3] && minute == fields[4] && second == fields[5]
	return Time(std.UnixMilli()), same
}

func earliest(a, b Time) Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

func latest(a, b Time) Time { return max(a, b) }
