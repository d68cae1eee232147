package install

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget empties the cache of a disk, so that what is read next comes from it; of a plain file as far as the kernel likes.
func forget(disk *os.File) {
	_, _ = unix.IoctlRetInt(int(disk.Fd()), unix.BLKFLSBUF)
	_ = unix.Fadvise(int(disk.Fd()), 0, 0, unix.FADV_DONTNEED)
}
