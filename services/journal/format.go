// Package journal is an append-only log in segment files with many named readers: the ingest path's write-ahead log and
// the alerts' outbox. What it promises:
//
//   - An entry that Append has returned survives the process's death (kill -9): it was handed to the kernel. One that
//     Sync has covered survives a power cut.
//   - Entries come back in the order in which they were appended, each once, whole, and checked.
//   - A subscriber's checkpoint is durable when Checkpoint returns, and never beyond what a power cut would leave.
//   - A segment is removed only when every subscriber's checkpoint has passed it; without a subscriber nothing is.
//   - Opening repairs what a crash left: a torn tail is cut off, a half-made segment removed. Damage elsewhere is
//     skipped by readers, counted, and never hides the entries behind it.
package journal

// The files of a journal:
//
//	LOCK                    held by the process that writes
//	BASE.journal            a segment; BASE is the position of its first byte, 16 hexadecimal digits
//	NAME.subscriber         a checkpoint
//
// A position counts bytes through all segments, headers included, so that it grows for ever and says by itself how far
// behind a subscriber is. All numbers are little-endian.
//
// Segment header, 32 bytes, durable before the first entry is written:
//
//	0  8 bytes  "CISTJRNL"
//	8  uint32   version, 1
//	12 uint32   flags, 0 (1 will mean that entries may be compressed with LZ4)
//	16 uint64   base
//	24 uint32   0
//	28 uint32   CRC-32C of the bytes before
//
// Entry:
//
//	0  uint32   length of the data; bit 31 is always set, bits 28 to 30 are for later
//	4  uint32   CRC-32C of the length field and the data
//	8  …        data
//
// A length field of zero is room not written yet: a writer may lay out a segment in advance (the mapped pre-commit
// buffer to come) and readers stop there. Subscriber file: "CISTSUB1", uint64 position, CRC-32C of both.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"cistern/services/vfs"
)

const (
	segmentMagic  = "CISTJRNL"
	segmentSuffix = ".journal"
	version       = 1
	headerBytes   = 32

	entryHeaderBytes = 8
	present          = 1 << 31
	lengthMask       = 1<<28 - 1

	subscriberMagic  = "CISTSUB1"
	subscriberSuffix = ".subscriber"

	// MaxEntry is the largest entry: far above any batch of samples, far below what would hurt to hold in memory.
	MaxEntry = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Position is a place in a journal: everything before it. That of an entry is the place behind it, so a checkpoint at
// an entry's position means that the entry was read. Opaque to users, but it orders.
type Position uint64

func (p Position) String() string { return fmt.Sprintf("%016x", uint64(p)) }

// ParsePosition reads what String wrote.
func ParsePosition(text string) (Position, error) {
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != 16 {
		return 0, fmt.Errorf("%q is not a position of a journal", text)
	}
	return Position(n), nil
}

func segmentName(base Position) string { return base.String() + segmentSuffix }

func parseSegmentName(name string) (Position, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return 0, false
	}
	base, err := ParsePosition(digits)
	return base, err == nil
}

func makeHeader(base Position) []byte {
	header := make([]byte, headerBytes)
	copy(header, segmentMagic)
	binary.LittleEndian.PutUint32(header[8:], version)
	binary.LittleEndian.PutUint64(header[16:], uint64(base))
	binary.LittleEndian.PutUint32(header[28:], crc32.Checksum(header[:28], castagnoli))
	return header
}

func checkHeader(file vfs.File, base Position) error {
	var header [headerBytes]byte
	if _, err := file.ReadAt(header[:], 0); err != nil {
		return fmt.Errorf("reading the header of segment %s: %w", base, err)
	}
	switch {
	case string(header[:8]) != segmentMagic,
		crc32.Checksum(header[:28], castagnoli) != binary.LittleEndian.Uint32(header[28:]),
		Position(binary.LittleEndian.Uint64(header[16:])) != base:
		return fmt.Errorf("the header of segment %s is damaged", base)
	case binary.LittleEndian.Uint32(header[8:]) != version || binary.LittleEndian.Uint32(header[12:]) != 0:
		return fmt.Errorf("segment %s has version %d, which this Cistern does not know; a newer one wrote it",
			base, binary.LittleEndian.Uint32(header[8:]))
	}
	return nil
}

func appendEntry(buffer, data []byte) []byte {
	start := len(buffer)
	buffer = binary.LittleEndian.AppendUint32(buffer, uint32(len(data))|present)
	sum := crc32.Update(crc32.Checksum(buffer[start:], castagnoli), castagnoli, data)
	buffer = binary.LittleEndian.AppendUint32(buffer, sum)
	return append(buffer, data...)
}

// errNoEntry: at this place no whole, undamaged entry begins.
var errNoEntry = errors.New("no entry here")

// segmentReader reads the entries of one segment through a window.
type segmentReader struct {
	file   vfs.File
	size   int64 // how far entries may reach
	offset int64 // where the next entry is looked for
	window []byte
	at     int64 // where the window begins in the file
}

// bytes returns n bytes of the file from offset on, nil when the segment ends before.
func (r *segmentReader) bytes(offset int64, n int) ([]byte, error) {
	if offset+int64(n) > r.size {
		return nil, nil
	}
	if offset < r.at || offset+int64(n) > r.at+int64(len(r.window)) {
		want := min(int64(max(n, 128<<10)), r.size-offset)
		if int64(cap(r.window)) < want {
			r.window = make([]byte, want)
		}
		r.window = r.window[:want]
		if _, err := r.file.ReadAt(r.window, offset); err != nil && !errors.Is(err, io.EOF) {
			r.window = r.window[:0]
			return nil, err
		}
		r.at = offset
	}
	return r.window[offset-r.at:][:n], nil
}

// entry reads the entry at offset; its data is valid until the next call. errNoEntry when there is none.
func (r *segmentReader) entry(offset int64) ([]byte, error) {
	header, err := r.bytes(offset, entryHeaderBytes)
	if err != nil {
		return nil, err
	}
	if header == nil {
		return nil, errNoEntry
	}
	length := binary.LittleEndian.Uint32(header)
	if length&present == 0 || length&^(present|lengthMask) != 0 || length&lengthMask > MaxEntry {
		return nil, errNoEntry
	}
	whole, err := r.bytes(offset, entryHeaderBytes+int(length&lengthMask))
	if err != nil {
		return nil, err
	}
	if whole == nil {
		return nil, errNoEntry
	}
	sum := crc32.Update(crc32.Checksum(whole[:4], castagnoli), castagnoli, whole[entryHeaderBytes:])
	if sum != binary.LittleEndian.Uint32(whole[4:]) {
		return nil, errNoEntry
	}
	return whole[entryHeaderBytes:], nil
}

// next reads the next entry. When none begins at the reader's place it looks for one behind, byte by byte: skipped says
// how many bytes were passed over. errNoEntry when there is none up to the end; the place is then left as it was.
func (r *segmentReader) next() (data []byte, skipped int64, err error) {
	for offset := r.offset; offset+entryHeaderBytes <= r.size; offset++ {
		data, err = r.entry(offset)
		if err == nil {
			r.offset = offset + entryHeaderBytes + int64(len(data))
			return data, skipped, nil
		}
		if !errors.Is(err, errNoEntry) {
			return nil, 0, err
		}
		skipped++
	}
	return nil, 0, errNoEntry
}
