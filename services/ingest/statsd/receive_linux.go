package statsd

// Linux: several sockets on one port, among which the kernel spreads the senders; recvmmsg takes what is there in one
// call; the socket itself says what the kernel dropped.
//
// The sockets are not with Go's poller. That would be woken by each packet that arrives, also while the reader lets
// them pile up, and each time costs more than to receive a packet.

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"cistern/services/ingest/sockets"

	"golang.org/x/sys/unix"
)

// endpoint is a socket, and an event that ends the wait for packets.
type endpoint struct {
	fd, wake int

	mu     sync.Mutex // guards the following, and fd from being closed
	closed bool
}

func defaultReaders() int { return min(runtime.NumCPU(), 8) }

// readersOf is how many goroutines read one socket: each has its own.
func readersOf(int, string) int { return 1 }

// listenUDP opens n sockets on one address. A sender's packets all come to the same one, so that they keep their order.
func listenUDP(address string, n int) (endpoints []*endpoint, err error) {
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
			return endpoints, err
		}
		one, err := adopt(connection.(*net.UDPConn))
		if err != nil {
			return endpoints, err
		}
		endpoints = append(endpoints, one)
	}
	return endpoints, nil
}

// adopt takes a socket out of the hands of Go's poller.
func adopt(connection interface {
	syscall.Conn
	Close() error
}) (*endpoint, error) {
	defer connection.Close()
	raw, err := connection.SyscallConn()
	if err != nil {
		return nil, err
	}
	e := &endpoint{}
	var failed error
	if err := raw.Control(func(fd uintptr) { e.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	if e.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		unix.Close(e.fd)
		return nil, err
	}
	return e, nil
}

// prepare enlarges the receive buffer, past the system's limit where we may.
func (s *socket) prepare(wanted int) {
	s.buffer = sockets.EnlargeDescriptor(s.fd, wanted)
	s.measureDrops()
}

// measureDrops asks the kernel.
func (s *socket) measureDrops() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if now, known := sockets.Dropped(s.fd); known {
		s.drops.Note(now)
	}
}

// stop lets the reader take what the kernel still holds, and end.
func (e *endpoint) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		_, _ = unix.Write(e.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// close gives the descriptors back; the reader has ended.
func (e *endpoint) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	unix.Close(e.wake)
	return unix.Close(e.fd)
}

// await returns when there is a packet, or with stopped when there is an end.
func (e *endpoint) await() (stopped bool) {
	both := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}, {Fd: int32(e.wake), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(both, -1)
		if err == nil {
			return both[1].Revents != 0
		}
		if err != unix.EINTR {
			time.Sleep(10 * time.Millisecond)
		}
	}
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

// nameSize is the room for a sender's address: struct sockaddr_in6.
const nameSize = unix.SizeofSockaddrInet6

// senderOf is the address that the kernel wrote; not valid for a Unix socket's.
func senderOf(name *[nameSize]byte, length uint32) netip.Addr {
	switch family := *(*uint16)(unsafe.Pointer(name)); {
	case length >= unix.SizeofSockaddrInet4 && family == unix.AF_INET:
		return netip.AddrFrom4([4]byte(name[4:8]))
	case length >= nameSize && family == unix.AF_INET6:
		return netip.AddrFrom16([16]byte(name[8:24])).Unmap()
	}
	return netip.Addr{}
}

func (s *socket) receive(reader *shard) {
	// Outside of Go's heap, whose collector would count what is never touched.
	memory, err := unix.Mmap(-1, 0, batchPackets*stride, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		memory = make([]byte, batchPackets*stride)
	} else {
		defer func() { _ = unix.Munmap(memory) }()
	}
	messages := make([]message, batchPackets)
	vectors := make([]unix.Iovec, batchPackets)
	names := make([][nameSize]byte, batchPackets)
	from := make([]netip.Addr, 0, batchPackets)
	for i := range messages {
		vectors[i].Base = &memory[i*stride]
		vectors[i].SetLen(maxPacket)
		messages[i].header.Iov = &vectors[i]
		messages[i].header.SetIovlen(1)
		messages[i].header.Name = &names[i][0]
		messages[i].header.Namelen = nameSize
	}
	packets := make([][]byte, 0, batchPackets)
	clock := reader.a.clock
	var last time.Time // when to end
	for {
		// Never blocks, and takes some tens of microseconds: Go's scheduler need not know.
		r, _, failed := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&messages[0])), batchPackets, unix.MSG_DONTWAIT, 0, 0)
		if failed != 0 {
			switch {
			case failed == unix.EINTR:
			case failed != unix.EAGAIN:
				time.Sleep(10 * time.Millisecond)
			case !last.IsZero():
				return
			case s.await():
				last = time.Now().Add(maxRest)
			}
			continue
		}
		packets, from = packets[:0], from[:0]
		for i := range int(r) {
			m := &messages[i]
			packet := memory[i*stride : i*stride+int(m.length)]
			sender := senderOf(&names[i], m.header.Namelen)
			m.header.Namelen = nameSize // the kernel has written how much it needed
			if reason := reader.a.senders.Unwanted(sender); reason != "" {
				reader.unwanted(sender, reason)
				continue
			}
			if m.header.Flags&unix.MSG_TRUNC != 0 {
				s.truncated.Add(1)
				packet = reader.cut(packet, sender)
			}
			packets, from = append(packets, packet), append(from, sender)
		}
		s.packets.Add(uint64(r))
		reader.packetsFrom(packets, from, clock.Now())
		switch {
		case !last.IsZero():
			if time.Now().After(last) {
				return
			}
		case r < batchPackets/4 && s.pause > 0:
			time.Sleep(s.pause)
		}
	}
}
