package bundle

import "golang.org/x/sys/unix"

func freeBytes(dir string) (int64, error) {
	var s unix.Statvfs_t
	if err := unix.Statvfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Frsize), nil
}
