//go:build !linux

package statsd

// Elsewhere: one packet a call; the kernel's drops are not told.

import (
	"errors"
	"net"
	"time"
)

// prepare asks for a large receive buffer, and for less where the system's limit refuses it.
func prepare(connection *net.UDPConn) int {
	for size := wantedBuffer; size >= 64<<10; size /= 2 {
		if connection.SetReadBuffer(size) == nil {
			return size
		}
	}
	return 0
}

func (s *Server) receive() {
	buffer := make([]byte, maxPacket)
	for {
		n, _, err := s.udp.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.packets.Add(1)
		s.aggregator.Packet(buffer[:n])
	}
}
