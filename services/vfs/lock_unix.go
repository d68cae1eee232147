//go:build unix

package vfs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lock uses the record locks of POSIX, because Linux and illumos both have them; they end with the process, also after
// kill -9.
func lock(file *os.File) error {
	err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	return err
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
