//go:build !linux

package statsd

// Elsewhere: one socket and several readers, of which one receives while the others work on what they have. The kernel's
// drops are not told.

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/ingest/sockets"
)

// endpoint is a socket that readers share.
type endpoint struct {
	connection packetConn
	turn       sync.Mutex // to receive

	mu       sync.Mutex // guards the following together with the deadline
	stopping bool
}

type packetConn interface {
	net.PacketConn
	sockets.Socket
}

func defaultReaders() int { return min(runtime.NumCPU(), 4) }

func readersOf(n int, network string) int {
	if network == "udp" {
		return n
	}
	return 1
}

func listenUDP(address string, _ int) ([]*endpoint, error) {
	connection, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	return []*endpoint{{connection: connection.(*net.UDPConn)}}, nil
}

func adopt(connection packetConn) (*endpoint, error) { return &endpoint{connection: connection}, nil }

// prepare asks for a large receive buffer.
func (s *socket) prepare(wanted int) { s.buffer = sockets.Enlarge(s.connection, wanted) }

func (*socket) measureDrops() {}

func (e *endpoint) close() error { return e.connection.Close() }

// stop lets the readers take what the kernel still holds, and end.
func (e *endpoint) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopping = true
	_ = e.connection.SetReadDeadline(time.Now())
}

// patience lets a reader wait for a packet: for ever, until the socket is to be closed; then for a moment.
func (e *endpoint) patience() (stopping bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var deadline time.Time
	if e.stopping {
		deadline = time.Now().Add(time.Millisecond)
	}
	_ = e.connection.SetReadDeadline(deadline)
	return e.stopping
}

// receive takes packets until no more is there, or the batch is full. Batches are numbered by the clock while the socket
// is held, so that a gauge's changes count in the order in which they came, whichever reader is the first to be done.
func (s *socket) receive(reader *shard) {
	buffers := make([][]byte, batchPackets)
	for i := range buffers {
		buffers[i] = make([]byte, maxPacket+1) // by which a packet is known that was too long
	}
	packets := make([][]byte, 0, batchPackets)
	from := make([]netip.Addr, 0, batchPackets)
	var last time.Time // when to end
	for {
		packets, from = packets[:0], from[:0]
		came := 0
		s.turn.Lock()
		if s.patience() && last.IsZero() {
			last = time.Now().Add(maxRest)
		}
		var failed error
		for len(packets) < batchPackets {
			n, address, err := s.connection.ReadFrom(buffers[len(packets)])
			if err != nil {
				failed = err
				break
			}
			if came++; came == 1 {
				// From here on only what comes within a moment.
				_ = s.connection.SetReadDeadline(time.Now().Add(time.Millisecond))
			}
			sender := senders.Address(address)
			if reason := reader.a.senders.Unwanted(sender); reason != "" {
				reader.unwanted(sender, reason)
				continue
			}
			packet := buffers[len(packets)][:n]
			if n > maxPacket {
				s.truncated.Add(1)
				packet = reader.cut(packet, sender)
			}
			packets, from = append(packets, packet), append(from, sender)
		}
		received := reader.a.clock.Now()
		s.turn.Unlock()
		s.packets.Add(uint64(came))
		if len(packets) > 0 {
			reader.packetsFrom(packets, from, received)
		}
		switch {
		case !last.IsZero() && (came == 0 || time.Now().After(last)) || errors.Is(failed, net.ErrClosed):
			return
		case came == 0 && !errors.Is(failed, os.ErrDeadlineExceeded):
			time.Sleep(10 * time.Millisecond)
		}
	}
}
