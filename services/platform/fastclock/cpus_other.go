//go:build !linux

package fastclock

// onEachCPU is not known here, so the clock is the system's. illumos could do it with processor_bind(2), which neither the
// standard library nor x/sys calls; its own clock is read without a system call, so little would be won.
func onEachCPU(func(cpu int)) bool { return false }
