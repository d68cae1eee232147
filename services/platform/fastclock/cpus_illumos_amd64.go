package fastclock

import (
	"runtime"
	"syscall"
	"unsafe"
)

// As x/sys calls libc (unix/syscall_illumos.go): it has no processor_bind. libc.so.1 exports it (lib/libc/port/mapfile-vers).

//go:cgo_import_dynamic libc_processor_bind processor_bind "libc.so"
//go:linkname procProcessorBind libc_processor_bind

var procProcessorBind uintptr

// sysvicall6 is the standard library's, in cpus_illumos_amd64.s.
func sysvicall6(function, n, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno)

// Of uts/common/sys/procset.h and sys/types.h: the calling thread.
const lwpID, myID = 8, -1

// bindThread is processor_bind(P_LWPID, P_MYID, cpu, NULL). It needs no privilege for a thread of one's own.
func bindThread(cpu int) error {
	me, processor := int32(myID), int32(cpu)
	_, _, err := sysvicall6(uintptr(unsafe.Pointer(&procProcessorBind)), 4, lwpID, uintptr(me), uintptr(processor), 0, 0, 0)
	if err != 0 {
		return err
	}
	return nil
}

// onEachCPU runs f on every processor that is online, bound to it; false when that cannot be done.
func onEachCPU(f func(cpu int)) bool { return bindEach(bindThread, runtime.NumCPU(), f) }
