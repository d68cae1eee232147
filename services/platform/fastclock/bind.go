package fastclock

import "runtime"

// noProcessor is processor_bind's PBIND_NONE: the thread runs wherever the system likes.
const noProcessor = -1

// mostProcessors is above the number of any processor of illumos on x86 (NCPU in uts/i86pc/sys/machparam.h is 256).
const mostProcessors = 1024

// bindEach runs f on each of the online processors, with this thread bound to it. bind is processor_bind(2) of the calling thread:
// numbers of processors may have gaps, and one that is not there is refused. False when not all were reached, as in a processor set:
// where this thread cannot go another one may.
func bindEach(bind func(cpu int) error, online int, f func(cpu int)) bool {
	runtime.LockOSThread()
	reached := 0
	for cpu := 0; cpu < mostProcessors && reached < online; cpu++ {
		if bind(cpu) != nil {
			continue
		}
		f(cpu)
		reached++
	}
	// The thread is given up with its binding when the binding cannot be undone.
	if bind(noProcessor) == nil {
		runtime.UnlockOSThread()
	}
	return reached == online
}
