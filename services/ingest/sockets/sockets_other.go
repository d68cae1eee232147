//go:build !linux

package sockets

// Enlarge asks for a large receive buffer, and for less where the system's limit refuses it; 0 when even little is refused.
func Enlarge(s Socket, wanted int) (granted int) {
	for size := wanted; size >= 64<<10; size /= 2 {
		if s.SetReadBuffer(size) == nil {
			return size
		}
	}
	return 0
}

func droppedBy(Socket) (drops uint32, known bool) { return 0, false }
