//go:build !linux

package statsd

// Elsewhere: one socket and several readers, of which one receives while the others work on what they have. The kernel's
// drops are not told.

import (
	"errors"
	"net"
	"os"
	"runtime"
	"time"
)

type packetConn interface {
	net.PacketConn
	SetReadBuffer(int) error
}

func defaultReaders() int { return min(runtime.NumCPU(), 4) }

func readersOf(n int, network string) int {
	if network == "udp" {
		return n
	}
	return 1
}

func listenUDP(address string, _ int) ([]packetConn, error) {
	connection, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	return []packetConn{connection.(*net.UDPConn)}, nil
}

// prepare asks for a large receive buffer, and for less where the system's limit refuses it.
func (s *socket) prepare(wanted int) {
	for size := wanted; size >= 64<<10; size /= 2 {
		if s.connection.SetReadBuffer(size) == nil {
			s.buffer = size
			return
		}
	}
}

type dropMeter struct{}

func (*dropMeter) known() bool { return false }

func (*socket) measureDrops() {}

// receive takes packets until no more is there, or the batch is full. Batches are numbered by the clock while the socket
// is held, so that a gauge's changes count in the order in which they came, whichever reader is the first to be done.
func (s *socket) receive(reader *shard) {
	buffers := make([][]byte, batchPackets)
	for i := range buffers {
		buffers[i] = make([]byte, maxPacket)
	}
	packets := make([][]byte, 0, batchPackets)
	var last time.Time // when to end
	for {
		packets = packets[:0]
		s.turn.Lock()
		var failed error
		if !s.patience(false) {
			if last.IsZero() {
				last = time.Now().Add(drainFor)
			}
			_ = s.connection.SetReadDeadline(time.Now().Add(time.Millisecond))
		}
		for len(packets) < batchPackets {
			n, _, err := s.connection.ReadFrom(buffers[len(packets)])
			if err != nil {
				failed = err
				break
			}
			if packets = append(packets, buffers[len(packets)][:n]); len(packets) == 1 {
				// From here on only what comes within a moment.
				_ = s.connection.SetReadDeadline(time.Now().Add(time.Millisecond))
			}
		}
		received := reader.a.clock.Now()
		s.turn.Unlock()
		s.packets.Add(uint64(len(packets)))
		if len(packets) > 0 {
			reader.packets(packets, received)
		}
		switch {
		case !last.IsZero() && (len(packets) == 0 || time.Now().After(last)) || errors.Is(failed, net.ErrClosed):
			return
		case len(packets) == 0 && !errors.Is(failed, os.ErrDeadlineExceeded):
			time.Sleep(10 * time.Millisecond)
		}
	}
}
