package operation_test

import (
	"testing"
	"time"

	"holdfast/internal/operation"
)

const layout = "2006-01-02T15:04:05.000Z"

// FuzzTime holds the one text form of an instant to the standard library's.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"", "2026-11-29T18:00:00.000Z", "2024-02-29T23:59:59.999Z", "2025-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z",
		"2026-11-29T24:00:00.000Z", "2026-11-29T23:60:00.000Z", "2026-11-29T23:59:60.000Z", "2026-11-31T00:00:00.000Z", "2026-1-29T18:00:00.000Z",
		"2026-11-29T18:00:00.00Z", "2026-11-29 18:00:00.000Z", "2026-11-29T18:00:00.000z", "2026-11-29T18:00:00,000Z", "2020-01-01T00:00:00.000Z",
		"2019-12-31T23:59:59.999Z", "2100-01-01T00:00:00.001Z", "+026-11-29T18:00:00.000Z", "２026-11-29T18:00:00.0Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := operation.ParseTime(s)
		std, stdErr := time.Parse(layout, s)
		want := operation.TimeOf(std)
		ok := s == "" || stdErr == nil && std.Format(layout) == s && want >= operation.TimeMin && want <= operation.TimeMax
		if ok != (err == nil) {
			t.Fatalf("%q: %v; the standard library says %v, %v", s, err, std, stdErr)
		}
		if err != nil {
			return
		}
		if s != "" && got != want {
			t.Errorf("%q is %d; want %d", s, got, want)
		}
		if got.String() != s {
			t.Errorf("%q reads back as %q", s, got.String())
		}
	})
}

func TestTimeTextIsTheStandardLibrarys(t *testing.T) {
	t.Parallel()
	for at := operation.TimeMin; at <= operation.TimeMax; at += 86_399_977 * 13 { // every hour, day and month comes by
		if got, want := at.String(), at.Std().Format(layout); got != want {
			t.Fatalf("%d is %q; want %q", at, got, want)
		}
	}
}
