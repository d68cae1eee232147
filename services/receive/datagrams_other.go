//go:build !linux

package receive

// Elsewhere: one packet a call, by several readers of one socket; the kernel's drops are not told.

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"time"
)

func socketCount() int { return 1 }

func readersPerSocket() int { return min(runtime.GOMAXPROCS(0), 4) }

func share(string, string, syscall.RawConn) error { return nil }

// enlarge asks for a large receive buffer, and for less where the system's limit refuses it.
func enlarge(socket packetConn) int {
	for size := wantedBuffer; size >= 64<<10; size /= 2 {
		if socket.SetReadBuffer(size) == nil {
			return size
		}
	}
	return 0
}

func drops(packetConn) (n uint64, known bool) { return 0, false }

func (d *Datagrams) read(socket packetConn) {
	buffer := make([]byte, maxPacket)
	packets := make([][]byte, 1)
	for {
		var n int
		var err error
		// The other way makes an address for each packet.
		if udp, ok := socket.(*net.UDPConn); ok {
			n, _, err = udp.ReadFromUDPAddrPort(buffer)
		} else {
			n, _, err = socket.ReadFrom(buffer)
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		d.packets.Add(1)
		d.bytes.Add(uint64(n))
		packets[0] = buffer[:n]
		d.take(packets)
	}
}
