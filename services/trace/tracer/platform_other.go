//go:build !linux

package tracer

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"cistern/services/trace/statistics"
)

const platform = statistics.Illumos

// attributes: SMF's contract ends what a tracer leaves behind.
func attributes(int) *syscall.SysProcAttr { return nil }

// cpuTime is how long a process has been on a processor.
func cpuTime(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/usage", pid))
	if err != nil {
		return 0, false
	}
	return parseUsage(text)
}

// probeTime is not known here.
func probeTime(int) time.Duration { return 0 }
