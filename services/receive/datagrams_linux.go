package receive

// Linux: recvmmsg takes what is there in one call, SO_REUSEPORT spreads the senders over several sockets, and the
// kernel says how much it dropped.

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const batchPackets = 256

// stride is how far the packets' buffers are apart: a little more than a packet, or all would compete for the same
// lines of the processor's cache.
const stride = maxPacket + 192

// socketCount: the kernel gives a sender's packets to one of the sockets, so that more of them help with several senders.
func socketCount() int { return min(runtime.GOMAXPROCS(0), 8) }

func readersPerSocket() int { return 1 }

// share lets several sockets have one port; those of other users cannot join.
func share(network, _ string, raw syscall.RawConn) (err error) {
	control := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	return errors.Join(control, err)
}

// enlarge enlarges the receive buffer, past the system's limit where we may, and returns the buffer's size.
func enlarge(socket packetConn) (granted int) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, wantedBuffer) != nil {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, wantedBuffer)
		}
		granted, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
	})
	return granted / 2 // the kernel doubles what it is asked for, for its own book-keeping
}

// drops reads the socket's own counter: the ninth figure of SO_MEMINFO.
func drops(socket packetConn) (n uint64, known bool) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false
	}
	var figures [16]uint32
	size := uint32(unsafe.Sizeof(figures))
	_ = raw.Control(func(fd uintptr) {
		_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&figures)), uintptr(unsafe.Pointer(&size)), 0)
		known = failed == 0 && size >= 9*4
	})
	return uint64(figures[8]), known
}

// message is struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

func (d *Datagrams) read(socket packetConn) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	// Not the garbage collector's: pages that no packet reaches are never touched and cost nothing.
	memory, err := unix.Mmap(-1, 0, batchPackets*stride, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		memory = make([]byte, batchPackets*stride)
	} else {
		defer func() { _ = unix.Munmap(memory) }()
		_ = unix.Madvise(memory, unix.MADV_NOHUGEPAGE)
	}
	messages, vectors := make([]message, batchPackets), make([]unix.Iovec, batchPackets)
	for i := range messages {
		vectors[i].Base = &memory[i*stride]
		vectors[i].SetLen(maxPacket)
		messages[i].header.Iov = &vectors[i]
		messages[i].header.SetIovlen(1)
	}
	packets := make([][]byte, batchPackets)
	var count int
	var failed unix.Errno
	receive := func(fd uintptr) bool {
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&messages[0])), batchPackets, unix.MSG_DONTWAIT, 0, 0)
		count, failed = int(n), errno
		return errno != unix.EAGAIN && errno != unix.EINTR
	}
	for {
		err := raw.Read(receive)
		if errors.Is(err, net.ErrClosed) || d.closed.Load() && err != nil {
			return
		}
		if err != nil || failed != 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		bytes := 0
		for i := range count {
			n := int(messages[i].length)
			bytes += n
			packets[i] = memory[i*stride : i*stride+n : i*stride+n]
			if messages[i].header.Flags&unix.MSG_TRUNC != 0 {
				d.cut.Add(1)
			}
		}
		d.packets.Add(uint64(count))
		d.bytes.Add(uint64(bytes))
		d.take(packets[:count])
		if d.pause > 0 && count < batchPackets {
			time.Sleep(d.pause)
		}
	}
}
