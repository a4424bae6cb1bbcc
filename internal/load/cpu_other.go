//go:build !linux

package load

import (
	"time"

	"holdfast/internal/clock"
)

// threadTime is the time that passed: this system is not asked for a thread's own. Others' use of the machine is in it.
func threadTime(c clock.Clock) time.Duration { return c.Mono() }

// availableBytes is 0: this system is not asked.
func availableBytes() uint64 { return 0 }
