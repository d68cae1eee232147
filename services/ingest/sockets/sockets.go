// Package sockets knows what the kernel does with a socket's datagrams: how many bytes of them it holds for a reader, and
// how many of them it dropped because more came.
package sockets

import (
	"sync"
	"syscall"
)

// Socket is a *net.UDPConn or a *net.UnixConn.
type Socket interface {
	syscall.Conn
	SetReadBuffer(bytes int) error
}

// Drops counts what the kernel dropped of one socket. The zero value is ready.
type Drops struct {
	mu    sync.Mutex
	last  uint32
	total uint64
	known bool
}

// Measure asks the kernel, and returns how many datagrams were dropped so far; known is false where it does not tell.
// Of a closed socket it returns what was there before.
func (d *Drops) Measure(s Socket) (total uint64, known bool) {
	now, told := droppedBy(s)
	d.mu.Lock()
	defer d.mu.Unlock()
	if told {
		d.note(now)
	}
	return d.total, d.known
}

// Note adds what the kernel says of a socket by its descriptor; see Dropped.
func (d *Drops) Note(now uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(now)
}

// Total is what was measured last.
func (d *Drops) Total() (total uint64, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total, d.known
}

func (d *Drops) note(now uint32) {
	d.total += uint64(now - d.last) // also right when the kernel's 32 bits wrap
	d.last, d.known = now, true
}
