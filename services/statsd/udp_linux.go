package statsd

// Linux: recvmmsg takes what is there in one call, SO_RXQ_OVFL counts what the kernel dropped.

import (
	"encoding/binary"
	"errors"
	"net"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

const batchPackets = 64

// prepare enlarges the receive buffer, past the system's limit where we may, and asks for the drop counter. It returns
// the buffer's size.
func prepare(connection *net.UDPConn) int {
	raw, err := connection.SyscallConn()
	if err != nil {
		return 0
	}
	granted := 0
	_ = raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, wantedBuffer) != nil {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, wantedBuffer)
		}
		granted, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	})
	return granted / 2 // the kernel doubles what it is asked for, for its own book-keeping
}

func (s *Server) receive() {
	// ReadBatch is the same system call for both families.
	connection := ipv4.NewPacketConn(s.udp)
	messages := make([]ipv4.Message, batchPackets)
	for i := range messages {
		// Pages of a buffer that no packet reaches are never touched, so 64 times 64 KiB cost little memory.
		messages[i].Buffers = [][]byte{make([]byte, maxPacket)}
		messages[i].OOB = make([]byte, unix.CmsgSpace(4))
	}
	packets := make([][]byte, 0, batchPackets)
	var lastDrops uint32
	for {
		n, err := connection.ReadBatch(messages, 0)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		packets = packets[:0]
		for i := range messages[:n] {
			packets = append(packets, messages[i].Buffers[0][:messages[i].N])
			if drops, ok := dropCount(messages[i].OOB[:messages[i].NN]); ok && drops != lastDrops {
				s.drops.Add(uint64(drops - lastDrops)) // also right when the kernel's 32 bits wrap
				lastDrops = drops
			}
		}
		s.packets.Add(uint64(n))
		s.aggregator.Packets(packets)
	}
}

func dropCount(control []byte) (uint32, bool) {
	if len(control) < unix.CmsgLen(4) {
		return 0, false
	}
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, false
	}
	for _, one := range all {
		if one.Header.Level == unix.SOL_SOCKET && one.Header.Type == unix.SO_RXQ_OVFL && len(one.Data) >= 4 {
			return binary.NativeEndian.Uint32(one.Data), true
		}
	}
	return 0, false
}
