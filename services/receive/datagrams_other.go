//go:build !linux

package receive

// Elsewhere: one packet a call, by several readers of one socket; the kernel's drops are not told.

import (
	"net"
	"runtime"
	"syscall"
	"time"
)

func socketCount() int { return 1 }

func readersPerSocket() int { return min(runtime.GOMAXPROCS(0), 4) }

func share(string, string, syscall.RawConn) error { return nil }

type socket struct{ packetConn }

func open(connection packetConn) (*socket, error) { return &socket{connection}, nil }

func (s *socket) wake() { _ = s.SetReadDeadline(past) }

func (s *socket) close() error { return s.Close() }

// enlarge asks for a large receive buffer, and for less where the system's limit refuses it.
func (s *socket) enlarge() int {
	for size := wantedBuffer; size >= 64<<10; size /= 2 {
		if s.SetReadBuffer(size) == nil {
			return size
		}
	}
	return 0
}

func (s *socket) drops() (n uint64, known bool) { return 0, false }

func (d *Datagrams) read(s *socket) {
	buffer := make([]byte, maxPacket)
	packets := make([][]byte, 1)
	for {
		var n int
		var err error
		// The other way makes an address for each packet.
		if udp, ok := s.packetConn.(*net.UDPConn); ok {
			n, _, err = udp.ReadFromUDPAddrPort(buffer)
		} else {
			n, _, err = s.ReadFrom(buffer)
		}
		if err != nil {
			if d.closed.Load() {
				return
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		d.packets.Add(1)
		d.bytes.Add(uint64(n))
		packets[0] = buffer[:n]
		d.take(packets)
	}
}
