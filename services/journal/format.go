// Package journal is an append-only log in segment files with many named readers: the ingest path's write-ahead log, the
// alerts' outbox, later the agents' store-and-forward. What it promises:
//
//   - An entry that Append has returned survives the process's death (kill -9): it was handed to the kernel, by a write
//     or in the mapped pre-commit buffer. One that Sync has covered survives a power cut.
//   - Entries come back in the order in which they were appended, each once, whole, and checked.
//   - What one Append was given is written together; on an error none of it counts as written.
//   - A subscriber's checkpoint is durable when Checkpoint returns, and never beyond what a power cut would leave.
//   - A segment is removed only when every subscriber's checkpoint has passed it; without a subscriber nothing is. A
//     mark (Mark) pins the journal like a subscriber, so that Rewind can go back there.
//   - Opening repairs what a crash left: a torn tail is cut off, a half-made segment removed, the pre-commit buffer
//     written out. Damage elsewhere is skipped by readers, counted, and never hides the entries behind it.
//   - One process writes, or with Options.Shared several, taking turns by a file lock; a writer that dies in its turn
//     leaves a torn tail that the next one cuts. Within a process one Journal is safe for many goroutines.
package journal

// The files of a journal:
//
//	LOCK                    held by the process that writes; with Shared, while it writes
//	BASE.journal            a segment; BASE is the position of its first byte, 16 hexadecimal digits
//	NAME.subscriber         a checkpoint
//	NAME.mark               a mark, in the same form
//	PRECOMMIT               the pre-commit buffer: precommit.go
//
// A position counts bytes through all segments, headers included, so that it grows for ever and says by itself how far
// behind a subscriber is. All numbers are little-endian.
//
// Segment header, 32 bytes, durable before the first entry is written:
//
//	0  8 bytes  "CISTJRNL"
//	8  uint32   version, 2
//	12 uint32   flags; 1: groups may be in it, compressed
//	16 uint64   base
//	24 uint32   0
//	28 uint32   CRC-32C of the bytes before
//
// Record:
//
//	0  uint32   length of the data; bit 31 is always set, bit 30 marks a group, bits 28 and 29 are for later
//	4  uint32   CRC-32C of the data, begun with the length field instead of 0
//	8  …        data: an entry
//
// A group is entries that were compressed together. Its data: uvarint number of entries, uvarint length before
// compression, uvarint length compressed, LZ4 block, zeroes. Unpacked it is for each entry uvarint length and data. The
// position behind the i-th of its n entries, from 0, is the group's plus i+1, and behind the last where the group ends;
// the zeroes make it long enough for that.
//
// A length field of zero is no record; readers stop there. Subscriber file: "CISTSUB1", uint64 position, CRC-32C of both.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"cistern/services/platform/vfs"

	"github.com/pierrec/lz4/v4"
)

const (
	segmentMagic  = "CISTJRNL"
	segmentSuffix = ".journal"
	version       = 2
	headerBytes   = 32

	entryHeaderBytes = 8
	present          = 1 << 31
	grouped          = 1 << 30
	flagGroups       = 1
	lengthMask       = 1<<28 - 1

	subscriberMagic  = "CISTSUB1"
	subscriberSuffix = ".subscriber"
	markSuffix       = ".mark"
	precommitName    = "PRECOMMIT"

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

func makeHeader(base Position, flags uint32) []byte {
	header := make([]byte, headerBytes)
	copy(header, segmentMagic)
	binary.LittleEndian.PutUint32(header[8:], version)
	binary.LittleEndian.PutUint32(header[12:], flags)
	binary.LittleEndian.PutUint64(header[16:], uint64(base))
	binary.LittleEndian.PutUint32(header[28:], crc32.Checksum(header[:28], castagnoli))
	return header
}

func checkHeader(file vfs.File, base Position) (flags uint32, err error) {
	var header [headerBytes]byte
	if _, err := file.ReadAt(header[:], 0); err != nil {
		return 0, fmt.Errorf("reading the header of segment %s: %w", base, err)
	}
	flags = binary.LittleEndian.Uint32(header[12:])
	switch {
	case string(header[:8]) != segmentMagic,
		crc32.Checksum(header[:28], castagnoli) != binary.LittleEndian.Uint32(header[28:]),
		Position(binary.LittleEndian.Uint64(header[16:])) != base:
		return 0, fmt.Errorf("segment %s: %w", base, errHeader)
	case binary.LittleEndian.Uint32(header[8:]) != version || flags&^flagGroups != 0:
		return 0, fmt.Errorf("segment %s has version %d, which this Cistern does not know",
			base, binary.LittleEndian.Uint32(header[8:]))
	}
	return flags, nil
}

// recordSum is a record's checksum.
func recordSum(length uint32, data []byte) uint32 { return crc32.Update(length, castagnoli, data) }

func appendRecord(buffer, data []byte, bits uint32) []byte {
	length := uint32(len(data)) | present | bits
	buffer = binary.LittleEndian.AppendUint32(buffer, length)
	buffer = binary.LittleEndian.AppendUint32(buffer, recordSum(length, data))
	return append(buffer, data...)
}

func appendEntry(buffer, data []byte) []byte { return appendRecord(buffer, data, 0) }

// group is entries being compressed together.
type group struct {
	raw     []byte
	count   int
	packed  []byte
	scratch []byte
	lz4     lz4.Compressor
}

func (g *group) add(data []byte) {
	g.raw = binary.AppendUvarint(g.raw, uint64(len(data)))
	g.raw = append(g.raw, data...)
	g.count++
}

// append writes the group as one record behind buffer, and empties it.
func (g *group) append(buffer []byte) []byte {
	if g.count == 0 {
		return buffer
	}
	bound := lz4.CompressBlockBound(len(g.raw))
	if cap(g.packed) < bound {
		g.packed = make([]byte, bound)
	}
	n, err := g.lz4.CompressBlock(g.raw, g.packed[:bound])
	packed := g.packed[:n]
	if err != nil || n == 0 || n >= len(g.raw) { // it does not get shorter: kept as it is, which equal lengths tell
		packed = g.raw
	}
	data := binary.AppendUvarint(g.scratch[:0], uint64(g.count))
	data = binary.AppendUvarint(data, uint64(len(g.raw)))
	data = binary.AppendUvarint(data, uint64(len(packed)))
	data = append(data, packed...)
	for len(data) < g.count {
		data = append(data, 0)
	}
	g.scratch, g.raw, g.count = data, g.raw[:0], 0
	return appendRecord(buffer, data, grouped)
}

// unpack returns the entries of a group, as unpacked bytes that eachEntry walks through.
func unpack(data, into []byte) (count int, raw []byte, err error) {
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			return 0, nil, errNoEntry
		}
		numbers[i], data = n, data[size:]
	}
	if numbers[1] > 2*MaxEntry || numbers[2] > uint64(len(data)) || numbers[0] > numbers[1] {
		return 0, nil, errNoEntry
	}
	if numbers[1] == numbers[2] {
		return int(numbers[0]), append(into[:0], data[:numbers[2]]...), nil
	}
	if numbers[1] == 0 { // no group unpacks to nothing, and lz4's assembly (4.1.33) writes to where such a slice begins: to 0
		return 0, nil, errNoEntry
	}
	if uint64(cap(into)) < numbers[1] {
		into = make([]byte, numbers[1])
	}
	n, err := lz4.UncompressBlock(data[:numbers[2]], into[:numbers[1]])
	if err != nil || uint64(n) != numbers[1] {
		return 0, nil, errNoEntry
	}
	return int(numbers[0]), into[:n], nil
}

// errHeader: it says nothing, but what is behind it can be read all the same: each record says itself what it is.
var errHeader = errors.New("the header is damaged")

// errNoEntry: at this place no whole, undamaged entry begins.
var errNoEntry = errors.New("no entry here")

// segmentReader reads the entries of one segment through a window.
type segmentReader struct {
	file   io.ReaderAt
	size   int64 // how far entries may reach
	offset int64 // where the next entry is looked for
	window []byte
	at     int64 // where the window begins in the file

	// The group that is being read: what it holds, what is left of it, and where it ends.
	group, rest []byte
	left        int
	groupEnd    int64
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

// record reads the record at offset; its data is valid until the next call. errNoEntry when there is none.
func (r *segmentReader) record(offset int64) (data []byte, bits uint32, err error) {
	header, err := r.bytes(offset, entryHeaderBytes)
	if err != nil {
		return nil, 0, err
	}
	if header == nil {
		return nil, 0, errNoEntry
	}
	length, sum := binary.LittleEndian.Uint32(header), binary.LittleEndian.Uint32(header[4:])
	if length&present == 0 || length&^(present|grouped|lengthMask) != 0 || length&lengthMask > maxRecord {
		return nil, 0, errNoEntry
	}
	whole, err := r.bytes(offset, entryHeaderBytes+int(length&lengthMask))
	if err != nil {
		return nil, 0, err
	}
	if whole == nil || recordSum(length, whole[entryHeaderBytes:]) != sum {
		return nil, 0, errNoEntry
	}
	return whole[entryHeaderBytes:], length & grouped, nil
}

// maxRecord is the largest record: a group of the largest entry that does not compress.
const maxRecord = MaxEntry + 64<<10

// next reads the next entry. When no record begins at the reader's place it looks for one behind, byte by byte: skipped
// says how many bytes were passed over. errNoEntry when there is none up to the end; the place is then left as it was.
func (r *segmentReader) next() (data []byte, skipped int64, err error) {
	if r.left > 0 {
		return r.fromGroup(), 0, nil
	}
	for offset := r.offset; offset+entryHeaderBytes <= r.size; offset++ {
		data, bits, err := r.record(offset)
		if err == nil && bits&grouped != 0 {
			length := len(data)
			if r.left, r.group, err = unpack(data, r.group); err == nil && r.left > 0 {
				r.rest, r.offset, r.groupEnd = r.group, offset, offset+entryHeaderBytes+int64(length)
				return r.fromGroup(), skipped, nil
			}
			r.left = 0
		}
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

// fromGroup is the next entry of the group that was unpacked; offset counts entries until the last.
func (r *segmentReader) fromGroup() []byte {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) { // a group whose checksum is right is not wrong inside
		n, size = 0, min(len(r.rest), 1)
	}
	data := r.rest[size : size+int(n)]
	r.rest = r.rest[size+int(n):]
	r.offset++
	if r.left--; r.left == 0 {
		r.offset = r.groupEnd
	}
	return data
}

// seek makes offset the place. In a segment with groups it may be inside one: the records are walked to find it.
func (r *segmentReader) seek(offset int64, groups bool) error {
	if r.left > 0 && r.offset == offset || !groups && r.offset == offset {
		return nil
	}
	r.left, r.offset = 0, offset
	if !groups || offset <= headerBytes {
		return nil
	}
	for at := int64(headerBytes); at < offset; {
		header, err := r.bytes(at, entryHeaderBytes)
		if err != nil {
			return err
		}
		if header == nil {
			return nil
		}
		length := binary.LittleEndian.Uint32(header)
		end := at + entryHeaderBytes + int64(length&lengthMask)
		if length&present == 0 || end > r.size { // damage: what follows is searched for from offset on
			return nil
		}
		if end > offset {
			r.offset = at
			for r.offset < offset {
				before := r.offset
				if _, _, err := r.next(); err != nil || r.offset <= before || r.left == 0 {
					r.left = 0
					r.offset = max(offset, r.offset)
					return nil
				}
			}
			return nil
		}
		at = end
	}
	return nil
}
