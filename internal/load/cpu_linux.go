package load

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/clock"
)

// threadTime is the processor time that the calling thread has used, to the nanosecond. What others use of the machine is
// not in it. The clock stands in where the system does not say.
func threadTime(c clock.Clock) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return c.Mono()
	}
	return time.Duration(t.Nano())
}

// availableBytes is the memory that can be taken without swapping; 0 when the system does not say. A limit of a
// container counts when it is lower.
func availableBytes() uint64 {
	n := meminfo("MemAvailable:")
	if limit, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if max, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64); err == nil && max < n {
			return max
		}
	}
	return n
}

func meminfo(name string) uint64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != name {
			continue
		}
		kib, err := strconv.ParseUint(words[1], 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
