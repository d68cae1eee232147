package receive

// Linux: recvmmsg takes what is there in one call, SO_REUSEPORT spreads the senders over several sockets, and the
// kernel says how much it dropped.

import (
	"errors"
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

// socket is out of the Go runtime's hands: its poller would be woken for every packet, whether anybody waits or not.
type socket struct{ fd int }

// open takes a connection over.
func open(connection packetConn) (*socket, error) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return nil, err
	}
	s, inner := &socket{}, error(nil)
	if err := raw.Control(func(fd uintptr) { s.fd, inner = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if inner != nil {
		return nil, inner
	}
	_ = connection.Close()
	if err := unix.SetNonblock(s.fd, false); err != nil {
		return nil, errors.Join(err, s.close())
	}
	// wake is what ends waiting; this is for the case that it does not.
	return s, unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
}

func (s *socket) wake() { _ = unix.Shutdown(s.fd, unix.SHUT_RD) }

func (s *socket) close() error { return unix.Close(s.fd) }

// enlarge enlarges the receive buffer, past the system's limit where we may, and returns the buffer's size.
func (s *socket) enlarge() int {
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, wantedBuffer) != nil {
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, wantedBuffer)
	}
	granted, _ := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return granted / 2 // the kernel doubles what it is asked for, for its own book-keeping
}

// drops reads the socket's own counter: the ninth figure of SO_MEMINFO.
func (s *socket) drops() (n uint64, known bool) {
	var figures [16]uint32
	size := uint32(unsafe.Sizeof(figures))
	_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&figures)), uintptr(unsafe.Pointer(&size)), 0)
	return uint64(figures[8]), failed == 0 && size >= 9*4
}

// message is struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

func (d *Datagrams) read(s *socket) {
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
	pause := unix.NsecToTimespec(d.pause.Nanoseconds())
	for {
		flags, last := uintptr(unix.MSG_WAITFORONE), d.closed.Load()
		if last {
			flags = unix.MSG_DONTWAIT
		}
		n, _, failed := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&messages[0])), batchPackets, flags, 0, 0)
		count := int(n)
		if failed != 0 {
			if last && failed != unix.EINTR {
				return
			}
			if failed != unix.EINTR && failed != unix.EAGAIN {
				time.Sleep(10 * time.Millisecond)
			}
			continue
		}
		if last && messages[0].length == 0 { // what a socket that was shut down gives for ever
			return
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
		if bytes == 0 {
			continue
		}
		d.packets.Add(uint64(count))
		d.bytes.Add(uint64(bytes))
		d.take(packets[:count])
		if d.pause > 0 && count < batchPackets {
			_ = unix.Nanosleep(&pause, nil)
		}
	}
}
