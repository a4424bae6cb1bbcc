package target

import (
	"errors"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
)

// Fence is asked right before the first byte of a request. An error means: send nothing.
type Fence func() error

// What a fence refuses for.
var (
	ErrLeaseShort  = errors.New("the lease does not last until the request's deadline")
	ErrWindowShort = errors.New("the key's window does not last until the request's deadline")
	ErrPaused      = errors.New("the wall clock and the monotonic clock disagree: the process was paused, or a clock was set")
)

// NewFence reads both clocks now and refuses later when, by either of them, less than timeout is left of the
// lease or of the key's window, or when the two clocks have drifted apart by more than skew. Both are needed: the
// monotonic clock may stand still while a machine sleeps, and the wall clock may be set back. A zero windowUntil
// means that no window limits this request.
//
//	claim ──── NewFence ──── dial, TLS ─────(frozen)───── first byte? ──▶ deadline
//	   └────────────────────────── lease ──────────────────┘ refused: another worker may hold the claim now
func NewFence(c clock.Clock, leaseUntil, windowUntil operation.Time, timeout, skew time.Duration) Fence {
	wall, mono := c.Now(), c.Mono()
	return func() error {
		byWall, byMono := c.Now().Sub(wall), c.Mono()-mono
		if (byWall - byMono).Abs() > skew {
			return ErrPaused
		}
		deadline := operation.TimeOf(wall.Add(max(byWall, byMono) + timeout))
		if deadline > leaseUntil {
			return ErrLeaseShort
		}
		if windowUntil != 0 && deadline > windowUntil {
			return ErrWindowShort
		}
		return nil
	}
}
