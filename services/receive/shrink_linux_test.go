package receive

import (
	"testing"

	"golang.org/x/sys/unix"
)

func (s *socket) shrink(t *testing.T) {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<10); err != nil {
		t.Fatal(err)
	}
}
