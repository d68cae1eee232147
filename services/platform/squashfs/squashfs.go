// Package squashfs finds out how long the squashfs is that begins a partition or a file.
package squashfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// ErrNone is returned when no squashfs begins there.
var ErrNone = errors.New("no squashfs begins here")

// padding is what mksquashfs fills an image up to.
const padding = 4096

// Used is how many bytes the file system itself says that it uses. Squashfs 4.0: the superblock begins with "hsqs", and at
// offset 40 is that number, 64 bits, little-endian.
func Used(image io.ReaderAt) (int64, error) {
	head := make([]byte, 48)
	if _, err := image.ReadAt(head, 0); err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(head, []byte("hsqs")) {
		return 0, ErrNone
	}
	used := int64(binary.LittleEndian.Uint64(head[40:]))
	if used < int64(len(head)) || used > 1<<50 {
		return 0, ErrNone
	}
	return used, nil
}

// Length is how long the image is as mksquashfs has written it: Used, filled up to whole blocks of 4 KiB. Checksums of an
// image are over so much.
func Length(image io.ReaderAt) (int64, error) {
	used, err := Used(image)
	if err != nil {
		return 0, err
	}
	return (used + padding - 1) &^ (padding - 1), nil
}
