package fastclock

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onEachCPU runs f on every processor this process may use, bound to it; false when that cannot be done.
func onEachCPU(f func(cpu int)) bool {
	runtime.LockOSThread()
	// The thread is given up with its binding when the binding cannot be taken back.
	var before unix.CPUSet
	if unix.SchedGetaffinity(0, &before) != nil {
		runtime.UnlockOSThread()
		return false
	}
	for cpu := range len(before) * 64 {
		if !before.IsSet(cpu) {
			continue
		}
		var one unix.CPUSet
		one.Set(cpu)
		if unix.SchedSetaffinity(0, &one) == nil {
			f(cpu)
		}
	}
	if unix.SchedSetaffinity(0, &before) == nil {
		runtime.UnlockOSThread()
	}
	return true
}
