package target_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// Two clocks may drift apart by the bound without anybody having slept. The later of them decides, whichever it is.
func TestR03_FenceTakesTheLaterOfTwoClocks(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)
	const timeout, skew = 10 * time.Second, 5 * time.Second
	until, hour := operation.TimeOf(start.Add(time.Minute)), operation.TimeOf(start.Add(time.Hour))
	for name, tc := range map[string]struct {
		wall, mono    time.Duration
		lease, window operation.Time
		want          error
	}{
		"lease too short by the wall only":  {52 * time.Second, 48 * time.Second, until, 0, target.ErrLeaseShort},
		"window too short by the wall only": {52 * time.Second, 48 * time.Second, hour, until, target.ErrWindowShort},
		"window too short by mono only":     {48 * time.Second, 52 * time.Second, hour, until, target.ErrWindowShort},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &stillClock{wall: start}
			fence := target.NewFence(c, tc.lease, tc.window, timeout, skew)
			c.wall, c.mono = start.Add(tc.wall), tc.mono
			if got := fence(); !errors.Is(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
