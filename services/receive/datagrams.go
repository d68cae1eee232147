// Package receive takes packets and lines off the network for the inputs that have no request and no answer: as many
// packets at once as the kernel hands over, every drop of the kernel's counted, and connections that cannot pile up.
package receive

// Datagrams: UDP, and Unix datagram sockets. How packets come in batches is the operating system's; see
// datagrams_linux.go and datagrams_other.go.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxPacket is more than a UDP packet can have.
	maxPacket = 64 << 10
	// wantedBuffer is how much the kernel is asked to hold while we are not scheduled: PEERS.md's measurements show no
	// loss with this much.
	wantedBuffer = 64 << 20
)

// packetConn is what UDP and Unix datagram sockets have in common.
type packetConn interface {
	net.PacketConn
	syscall.Conn
	SetReadBuffer(bytes int) error
}

// Datagrams is one address that packets come to, by one socket or several.
type Datagrams struct {
	// Take is given packets in the order of a socket; they are only valid during the call. Several goroutines call it.
	take    func(packets [][]byte)
	sockets []*socket
	address string
	buffer  int
	pause   time.Duration

	packets, bytes, cut atomic.Uint64
	done                sync.WaitGroup

	mu     sync.Mutex // guards the sockets' life
	closed atomic.Bool
	drops  uint64 // as last seen
	known  bool
}

// UDP opens address, with as many sockets as are good for it, and hands packets to take until Close.
func UDP(address string, take func(packets [][]byte)) (*Datagrams, error) {
	d := &Datagrams{take: take}
	config := net.ListenConfig{Control: share}
	for len(d.sockets) < socketCount() {
		connection, err := config.ListenPacket(context.Background(), "udp", address)
		if err != nil {
			_ = d.Close()
			return nil, fmt.Errorf("listening on %s/udp: %w", address, err)
		}
		if address = connection.LocalAddr().String(); d.address == "" { // port 0 is the same one for all
			d.address = address
		}
		if err := d.add(connection.(*net.UDPConn)); err != nil {
			_ = d.Close()
			return nil, fmt.Errorf("listening on %s/udp: %w", address, err)
		}
	}
	d.serve()
	return d, nil
}

// Unix opens a Unix datagram socket at path. Anyone on this machine may send to it, as to a port. A stale socket is
// removed, anything else is not.
func Unix(path string, take func(packets [][]byte)) (*Datagrams, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is in the way: it is not a socket; remove it, or give another path", path)
		}
		if probe, err := net.Dial("unixgram", path); err == nil {
			probe.Close()
			return nil, fmt.Errorf("another process has %s open already; stop it first", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing the stale socket %s: %w", path, err)
		}
	}
	connection, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	d := &Datagrams{take: take, address: path}
	if err := errors.Join(os.Chmod(path, 0o666), d.add(connection)); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	d.serve()
	return d, nil
}

func (d *Datagrams) add(connection packetConn) error {
	one, err := open(connection)
	if err != nil {
		connection.Close()
		return err
	}
	d.sockets, d.buffer = append(d.sockets, one), one.enlarge()
	return nil
}

func (d *Datagrams) serve() {
	// Waiting a moment before the next look makes batches of packets that come one by one, and saves a wake-up for each.
	// It is only done where the buffer holds four times what a million small packets a second bring meanwhile: the
	// kernel counts some 768 bytes for one, of twice the size it grants.
	const perMicrosecond = 768 / 2 * 4
	if pause := time.Duration(d.buffer/perMicrosecond) * time.Microsecond; pause >= 200*time.Microsecond {
		d.pause = min(pause, time.Millisecond)
	}
	for _, socket := range d.sockets {
		for range readersPerSocket() {
			d.done.Go(func() { d.read(socket) })
		}
	}
}

// Addr is the address, of the first socket; the path of a Unix socket.
func (d *Datagrams) Addr() string { return d.address }

// Packets is how many came.
func (d *Datagrams) Packets() uint64 { return d.packets.Load() }

// Bytes is how many bytes they had.
func (d *Datagrams) Bytes() uint64 { return d.bytes.Load() }

// Cut is how many packets were longer than 64 KiB; only Unix sockets can have such. Of those the front is taken.
func (d *Datagrams) Cut() uint64 { return d.cut.Load() }

// BufferBytes is what the kernel granted each socket as receive buffer; 0 when it does not say.
func (d *Datagrams) BufferBytes() int { return d.buffer }

// Sockets is how many there are.
func (d *Datagrams) Sockets() int { return len(d.sockets) }

// Drops is how many packets the kernel dropped because a buffer was full; known is false where it does not say.
func (d *Datagrams) Drops() (n uint64, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed.Load() {
		d.countDrops()
	}
	return d.drops, d.known
}

func (d *Datagrams) countDrops() {
	d.drops, d.known = 0, len(d.sockets) > 0
	for _, one := range d.sockets {
		n, known := one.drops()
		d.drops, d.known = d.drops+n, d.known && known
	}
}

// Close ends receiving, and returns when everything received was handed on.
func (d *Datagrams) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	for _, one := range d.sockets {
		one.wake()
	}
	d.done.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countDrops()
	var all error
	for _, one := range d.sockets {
		all = errors.Join(all, one.close())
	}
	return all
}
