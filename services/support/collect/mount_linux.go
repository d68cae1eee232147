package collect

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// mount puts a disk's file system at dir, in this process' own view of the file system. It tries the kinds
// of file system that a person's USB disk has.
func mount(device, dir string) (unmount func() error, err error) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	var failed error
	for _, kind := range []string{"vfat", "exfat", "ext4", "ntfs3"} {
		options := ""
		if kind != "ext4" {
			options = "umask=077"
		}
		err := unix.Mount(device, dir, kind, flags, options)
		if err == nil {
			return func() error { return errors.Join(syncDisk(dir), unix.Unmount(dir, 0)) }, nil
		}
		// ENODEV: this kernel does not know it; EINVAL: it is another kind.
		if !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EINVAL) {
			failed = err
		}
	}
	if failed == nil {
		failed = fmt.Errorf("it holds no file system that can be written here (FAT, exFAT, ext4, NTFS)")
	}
	return nil, failed
}

// syncDisk writes out this disk and no other: sync(2) waits for ever for a pool whose disks are gone.
func syncDisk(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(fd), unix.Close(fd))
}
