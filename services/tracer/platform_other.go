//go:build !linux

package tracer

import (
	"syscall"
	"time"

	"cistern/services/statistics"
)

const platform = statistics.Illumos

// attributes: SMF's contract ends what a tracer leaves behind.
func attributes(int) *syscall.SysProcAttr { return nil }

// cpuTime is not read here yet.
func cpuTime(int) (time.Duration, bool) { return 0, false }

// probeTime is not known here.
func probeTime(int) time.Duration { return 0 }
