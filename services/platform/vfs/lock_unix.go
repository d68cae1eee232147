//go:build unix

package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lock uses the record locks of POSIX, because Linux and illumos both have them; they end with the process, also after
// kill -9.
func lock(file *os.File) error {
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &whole)
	if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
		return err
	}
	// Who holds it, unless that ends just now or lives where its number says nothing to us.
	if unix.FcntlFlock(file.Fd(), unix.F_GETLK, &whole) == nil && whole.Type != unix.F_UNLCK && whole.Pid > 0 {
		return fmt.Errorf("%w (process %d)", ErrLocked, whole.Pid)
	}
	return ErrLocked
}

type mapping struct{ bytes []byte }

func (m *mapping) Bytes() []byte { return m.bytes }

func (m *mapping) Close() error {
	bytes := m.bytes
	m.bytes = nil
	return unix.Munmap(bytes)
}

func mapFile(file *os.File, size int) (Mapping, error) {
	bytes, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &mapping{bytes}, nil
}
