package sockets

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Enlarge asks the kernel to hold so many bytes, past the system's limit where we may, and returns how many it will; 0 when
// it does not say.
func Enlarge(s Socket, wanted int) (granted int) {
	control(s, func(fd int) { granted = EnlargeDescriptor(fd, wanted) })
	return granted
}

// EnlargeDescriptor is Enlarge for a socket that is not with Go's poller.
func EnlargeDescriptor(fd, wanted int) (granted int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, wanted) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, wanted)
	}
	granted, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return granted / 2 // the kernel doubles what it is asked for, for its own book-keeping
}

// SO_MEMINFO's last figure is how many packets did not fit into a socket's buffer (include/uapi/linux/sock_diag.h).
const (
	soMemInfo    = 55
	memInfoDrops = 8 // its place among the numbers
)

// Dropped is how many datagrams the kernel dropped of a socket since it was opened, modulo 2^32.
func Dropped(fd int) (drops uint32, known bool) {
	var numbers [16]uint32
	size := uint32(unsafe.Sizeof(numbers))
	_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, soMemInfo,
		uintptr(unsafe.Pointer(&numbers)), uintptr(unsafe.Pointer(&size)), 0)
	if failed != 0 || size < 4*(memInfoDrops+1) {
		return 0, false
	}
	return numbers[memInfoDrops], true
}

func droppedBy(s Socket) (drops uint32, known bool) {
	control(s, func(fd int) { drops, known = Dropped(fd) })
	return drops, known
}

func control(s Socket, work func(fd int)) {
	if raw, err := s.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { work(int(fd)) })
	}
}
