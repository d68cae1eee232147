package statsd

// Linux: several sockets on one port, among which the kernel spreads the senders; recvmmsg takes what is there in one
// call; the socket itself says what the kernel dropped.

import (
	"context"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetConn is what net.UDPConn and net.UnixConn have in common here.
type packetConn interface {
	syscall.Conn
	SetReadDeadline(time.Time) error
	Close() error
}

func defaultReaders() int { return min(runtime.NumCPU(), 8) }

// readersOf is how many goroutines read one socket: each has its own.
func readersOf(int, string) int { return 1 }

// listenUDP opens n sockets on one address. A sender's packets all come to the same one, so that they keep their order.
func listenUDP(address string, n int) (connections []packetConn, err error) {
	share := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		if err != nil {
			return err
		}
		return failed
	}}
	for range n {
		connection, err := share.ListenPacket(context.Background(), "udp", address)
		if err != nil {
			return connections, err
		}
		connections = append(connections, connection.(*net.UDPConn))
	}
	return connections, nil
}

// prepare enlarges the receive buffer, past the system's limit where we may.
func (s *socket) prepare(wanted int) {
	raw, err := s.connection.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, wanted) != nil {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, wanted)
		}
		granted, _ := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
		s.buffer = granted / 2 // the kernel doubles what it is asked for, for its own book-keeping
	})
	s.measureDrops()
}

// dropMeter reads SO_MEMINFO's last figure: the packets that did not fit into this socket's buffer.
type dropMeter struct {
	mu    sync.Mutex
	told  bool
	drops uint32
}

const (
	soMemInfo    = 55
	memInfoDrops = 8 // its place among the numbers
)

func (m *dropMeter) known() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

// measureDrops asks the kernel. A socket that was closed keeps its last figure.
func (s *socket) measureDrops() {
	raw, err := s.connection.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		var numbers [16]uint32
		size := uint32(unsafe.Sizeof(numbers))
		_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, soMemInfo,
			uintptr(unsafe.Pointer(&numbers)), uintptr(unsafe.Pointer(&size)), 0)
		if failed != 0 || size < 4*(memInfoDrops+1) {
			return
		}
		s.meter.mu.Lock()
		defer s.meter.mu.Unlock()
		now := numbers[memInfoDrops]
		s.drops.Add(uint64(now - s.meter.drops)) // also right when the kernel's 32 bits wrap
		s.meter.drops, s.meter.told = now, true
	})
}

// message is the kernel's struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
	_      uint32
}

// stride keeps the beginnings of the buffers apart in the caches: 64 KiB sharp would all fall into the same place.
// Pages that no packet reaches are never touched, so it costs little memory.
const stride = maxPacket + 4096 + 192

func (s *socket) receive(reader *shard) {
	raw, err := s.connection.SyscallConn()
	if err != nil {
		return
	}
	memory := make([]byte, batchPackets*stride)
	messages := make([]message, batchPackets)
	vectors := make([]unix.Iovec, batchPackets)
	for i := range messages {
		vectors[i].Base = &memory[i*stride]
		vectors[i].SetLen(maxPacket)
		messages[i].header.Iov = &vectors[i]
		messages[i].header.SetIovlen(1)
	}
	packets := make([][]byte, 0, batchPackets)
	n, failed := 0, syscall.Errno(0)
	// Made once: a closure for each call would be an allocation for each.
	take := func(fd uintptr) bool {
		for {
			r, _, e := syscall.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&messages[0])), batchPackets, unix.MSG_DONTWAIT, 0, 0)
			switch {
			case e == syscall.EINTR:
			case e == syscall.EAGAIN:
				return false
			default:
				n, failed = int(r), e
				return true
			}
		}
	}
	clock := reader.a.clock
	var last time.Time // when to end
	for {
		if !last.IsZero() {
			// The deadline has passed, so that the runtime would not read any more.
			more := false
			if raw.Control(func(fd uintptr) { more = take(fd) }) != nil || !more || time.Now().After(last) {
				return
			}
		} else if err := raw.Read(take); err != nil {
			last = time.Now().Add(drainFor)
			continue
		}
		if failed != 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		packets = packets[:0]
		for i := range n {
			m := &messages[i]
			if m.header.Flags&unix.MSG_TRUNC != 0 {
				s.truncated.Add(1)
			}
			packets = append(packets, memory[i*stride:i*stride+int(m.length)])
		}
		s.packets.Add(uint64(n))
		reader.packets(packets, clock.Now())
		if n < batchPackets/4 && s.pause > 0 && last.IsZero() {
			time.Sleep(s.pause)
		}
	}
}
