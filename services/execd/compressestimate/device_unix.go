//go:build unix

package compressestimate

import (
	"io/fs"
	"syscall"
)

// deviceOf tells file systems apart: two datasets are two devices.
func deviceOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev)
	}
	return 0
}
