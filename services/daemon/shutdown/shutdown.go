// Package shutdown ends the reading of sockets in order. What the kernel has in a connection's buffer it has acknowledged to
// the sender, and packets in its buffer are not sent again: both are read until nothing more comes.
package shutdown

import (
	"sync/atomic"
	"time"
)

const (
	// Quiet is how long nothing may come before reading ends.
	Quiet = 200 * time.Millisecond
	// MaxWait bounds how long a sender that does not stop may delay the end.
	MaxWait = 2 * time.Second
)

// End is the end of what one server reads. The zero value has not begun.
type End struct{ by atomic.Int64 } // ns since 1970

// Begin begins it. Whoever waits in a read must be given its deadline again.
func (e *End) Begin() { e.by.CompareAndSwap(0, time.Now().Add(MaxWait).UnixNano()) }

// Begun says whether it has begun.
func (e *End) Begun() bool { return e.by.Load() != 0 }

// Limit sets the deadline of the next read: idle from now, and less when the end has begun. set is the socket's
// SetDeadline or SetReadDeadline; what it says is of no use, since a read of a closed socket says it as well.
func (e *End) Limit(set func(time.Time) error, idle time.Duration) {
	_ = set(time.Now().Add(idle))
	// After that, so that it does not matter when the end begins meanwhile.
	if by := e.by.Load(); by != 0 {
		_ = set(time.Unix(0, min(by, time.Now().Add(Quiet).UnixNano())))
	}
}
