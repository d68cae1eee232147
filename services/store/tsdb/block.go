package tsdb

// Blocks: immutable files of samples and their rollups. Everything in a block that is read is checked by its CRC-32C
// before it is believed.
//
// FILE "SEQUENCE.block", 16 hexadecimal digits; made as ".tmp", synced, renamed, the folder synced. Version 4. Read too are
// version 3, in which histograms have no sums, and version 2, which knows no rollups of ten minutes and half an hour either. Numbers are little-endian, u is uvarint, v is
// varint. Stored means: as zstd when that is shorter, which the lengths tell.
//
//	header, 80 bytes:
//	  0 "CISTBLK2" · 8 uint32 version · 12 uint32 flags (1: the last of its flush) · 16 int64 least time · 24 int64
//	  greatest time (ms) · 32 uint64 through: the journal's position before which every entry is in this flush's blocks
//	  or an older one's · 40 uint64 rank · 48 int64 when it was made (ms) · 56 20 bytes 0 · 76 uint32 CRC of the bytes before
//	data: for each series, ascending by key, up to five chunks, one behind the other: its samples, its rollups of a
//	  minute, of ten, of half an hour (these two only of histograms), and of an hour. Chunk: u number of frames; when it
//	  is 1 and the samples': byte encoding, the frame's bytes,
//	  uint32 CRC of all that; else u length of the headers, for each frame its header as frame.appendHeader writes it
//	  (the first one's time counts from the series' least) and uint32 CRC of its bytes, uint32 CRC of all that, then the
//	  frames' bytes
//	index, from the index offset:
//	  pages of series, pageSeries each: v as in blockindex.go; stored, each
//	  postings of labels that many series have: bytes, then their uint32 CRC
//	  pages of labels, stored, each
//	  names: what Metrics tells; stored
//	  directory: stored
//	meta: u number of blocks this one replaces, each u sequence
//	footer, 96 bytes:
//	  0 uint64 directory's offset · 8 uint32 its length · 12 its length before compression · 16 its CRC · 20 uint32
//	  number of series · 24 uint64 samples · 32 uint64 meta's offset · 40 uint32 its length · 44 its CRC · 48 uint64
//	  index offset · 56 uint64 bytes of the minutes' chunks · 64 of the hours' · 72 of those of ten minutes and of half
//	  hours · 80 4 bytes 0 · 84 uint32 CRC of the bytes before · 88 "CISTEND2"
//
// Rank says which of two blocks is newer where both have a sample: that of a flush is its sequence, that of a merge the
// greatest of those it replaces. The blocks of one flush (one for each day it has samples of) have the same "through",
// and only with the last one are they there: a crash in between leaves blocks whose "through" is beyond what a last one
// vouches for, and opening removes them, because the journal still holds their samples: its checkpoint has not passed
// it. A block that replaces others has all they had: opening removes those that are still there.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"

	"github.com/klauspost/compress/zstd"
)

const (
	blockMagic   = "CISTBLK2"
	blockEnd     = "CISTEND2"
	blockVersion = 4
	oldestBlock  = 2 // the oldest version that is read
	blockHeader  = 80
	blockFooter  = 96
	blockSuffix  = ".block"
	// What opening could not make sense of: nothing of it is served.
	damagedSuffix = ".damaged"
	// What a repair has replaced, or given up: kept in case somebody can make more of it, otherwise forgotten.
	repairedSuffix = ".repaired"

	flagLast = 1
)

// The chunks of a series. Those between the minute and the hour are there for histograms, so that few records have to be
// decoded at the ends of a window; they are let go with the minutes.
const (
	trackRaw = iota
	trackMinute
	trackTen
	trackHalf
	trackHour
	tracks
)

// trackWidth is how long a record of a track stands for, in ms; 0 is a sample. Each is a multiple of the one before.
var trackWidth = [tracks]int64{0, 60_000, 600_000, 1_800_000, 3_600_000}

// tracksOf are the tracks whose lengths a series' record has, by the block's version.
var tracksOf = map[uint32][]int{
	2:            {trackRaw, trackMinute, trackHour},
	3:            {trackRaw, trackMinute, trackTen, trackHalf, trackHour},
	blockVersion: {trackRaw, trackMinute, trackTen, trackHalf, trackHour},
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BlockInfo describes a block.
type BlockInfo struct {
	ID      string
	MinTime int64 // ms
	MaxTime int64
	Series  int
	Samples int64 // 0 when only rollups are left
	Bytes   int64
	Index   int64 // bytes of it that are no samples
	Rollups int64 // bytes of it that are rollups
	Made    int64 // ms
}

// block is an open block. Its file is closed with the last reference.
type block struct {
	BlockInfo
	through   journal.Position
	rank      uint64
	last      bool
	sequence  uint64
	version   uint32
	parents   []uint64
	fs        vfs.FS
	path      string
	file      vfs.File
	directory extent
	end       int64 // of chunks and index
	tracks    [tracks]int64

	references atomic.Int64
	damaged    atomic.Bool // something in it was found damaged since it was opened

	// The directory is read when it is needed, and let go when it was not for a while.
	indexMu sync.Mutex
	cached  *blockIndex
	lastUse time.Time

	sizesMu sync.Mutex
	sizesOf map[string][]Size // by label
}

// extent is a stretch of a file that is checked and perhaps compressed.
type extent struct {
	offset      int64
	length, raw uint32
	sum         uint32
}

func blockName(sequence uint64) string { return fmt.Sprintf("%016x%s", sequence, blockSuffix) }

func parseBlockName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, blockSuffix)
	sequence, err := strconv.ParseUint(digits, 16, 64)
	return sequence, ok && err == nil && len(digits) == 16
}

// errDamaged: the block's own bytes are wrong, as opposed to a disk that does not answer.
var errDamaged = errors.New("the block is damaged")

func openBlock(fsys vfs.FS, folder string, sequence uint64) (*block, error) {
	path := filepath.Join(folder, blockName(sequence))
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	b := &block{fs: fsys, path: path, file: file, sequence: sequence}
	b.ID = strings.TrimSuffix(filepath.Base(path), blockSuffix)
	b.references.Store(1)
	if err := b.readEnds(); err != nil {
		file.Close()
		return nil, fmt.Errorf("block %s: %w", b.ID, err)
	}
	return b, nil
}

func (b *block) readEnds() error {
	size, err := b.file.Size()
	if err != nil {
		return err
	}
	if size < blockHeader+blockFooter {
		return fmt.Errorf("%w: it is only %d bytes long", errDamaged, size)
	}
	var header [blockHeader]byte
	var footer [blockFooter]byte
	if _, err := b.file.ReadAt(header[:], 0); err != nil {
		return err
	}
	if _, err := b.file.ReadAt(footer[:], size-blockFooter); err != nil {
		return err
	}
	le := binary.LittleEndian
	if string(header[:7]) == blockMagic[:7] && header[7] != blockMagic[7] {
		return fmt.Errorf("it is of format %q, which this Cistern does not know", header[:8])
	}
	if string(header[:8]) != blockMagic || crc32.Checksum(header[:76], castagnoli) != le.Uint32(header[76:]) {
		return fmt.Errorf("%w: its header", errDamaged)
	}
	b.version = le.Uint32(header[8:])
	if flags := le.Uint32(header[12:]); b.version < oldestBlock || b.version > blockVersion || flags&^flagLast != 0 {
		return fmt.Errorf("its version is %d (flags %x), which this Cistern does not know; a newer one wrote it", b.version, flags)
	}
	if string(footer[88:]) != blockEnd || crc32.Checksum(footer[:84], castagnoli) != le.Uint32(footer[84:]) {
		return fmt.Errorf("%w: its footer", errDamaged)
	}
	b.last = le.Uint32(header[12:])&flagLast != 0
	b.MinTime, b.MaxTime = int64(le.Uint64(header[16:])), int64(le.Uint64(header[24:]))
	b.through, b.rank = journal.Position(le.Uint64(header[32:])), le.Uint64(header[40:])
	b.Made = int64(le.Uint64(header[48:]))
	b.directory = extent{int64(le.Uint64(footer[0:])), le.Uint32(footer[8:]), le.Uint32(footer[12:]), le.Uint32(footer[16:])}
	b.Series, b.Samples, b.Bytes = int(le.Uint32(footer[20:])), int64(le.Uint64(footer[24:])), size
	metaOffset, metaLength := int64(le.Uint64(footer[32:])), int64(le.Uint32(footer[40:]))
	b.tracks = [tracks]int64{trackMinute: int64(le.Uint64(footer[56:])), trackHour: int64(le.Uint64(footer[64:]))}
	b.end = metaOffset
	b.Index, b.Rollups = size-int64(le.Uint64(footer[48:])), b.tracks[trackMinute]+b.tracks[trackHour]+int64(le.Uint64(footer[72:]))
	if metaOffset < blockHeader || metaOffset+metaLength != size-blockFooter {
		return fmt.Errorf("%w: its footer", errDamaged)
	}
	meta := make([]byte, metaLength)
	if _, err := b.file.ReadAt(meta, metaOffset); err != nil {
		return err
	}
	if crc32.Checksum(meta, castagnoli) != le.Uint32(footer[44:]) {
		return fmt.Errorf("%w: its list of parents", errDamaged)
	}
	r := entryReader{rest: meta}
	n := r.uvarint()
	for range min(n, uint64(len(meta))) {
		b.parents = append(b.parents, r.uvarint())
	}
	if r.bad {
		return fmt.Errorf("%w: its list of parents", errDamaged)
	}
	return nil
}

func (b *block) acquire() { b.references.Add(1) }

func (b *block) release() {
	if b.references.Add(-1) > 0 {
		return
	}
	b.file.Close()
}

var (
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxStored))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err)
		}
		return e
	})
)

// maxStored bounds what a compressed extent may unpack to.
const maxStored = 1 << 30

// read returns an extent's bytes, checked and unpacked.
func (b *block) read(x extent) ([]byte, error) {
	if x.offset < blockHeader || x.offset+int64(x.length) > b.end || x.raw > maxStored {
		return nil, fmt.Errorf("block %s: %w: a part lies outside", b.ID, errDamaged)
	}
	bytes := make([]byte, x.length)
	if _, err := b.file.ReadAt(bytes, x.offset); err != nil {
		return nil, fmt.Errorf("reading block %s: %w", b.ID, err)
	}
	if crc32.Checksum(bytes, castagnoli) != x.sum {
		return nil, fmt.Errorf("block %s: %w: its index", b.ID, errDamaged)
	}
	if x.raw == x.length {
		return bytes, nil
	}
	raw, err := zstdDecoder().DecodeAll(bytes, make([]byte, 0, x.raw))
	if err != nil || len(raw) != int(x.raw) {
		return nil, fmt.Errorf("block %s: %w: its index", b.ID, errDamaged)
	}
	return raw, nil
}

// index is the block's index, its directory read if it is not in memory.
func (b *block) index() (*blockIndex, error) {
	b.indexMu.Lock()
	defer b.indexMu.Unlock()
	b.lastUse = time.Now()
	if b.cached != nil {
		return b.cached, nil
	}
	bytes, err := b.read(b.directory)
	if err != nil {
		return nil, err
	}
	x, err := parseDirectory(b, bytes)
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", b.ID, err)
	}
	b.cached = x
	return x, nil
}

// forget lets an index go that was not used since.
func (b *block) forget(since time.Time) {
	b.indexMu.Lock()
	defer b.indexMu.Unlock()
	if b.lastUse.Before(since) {
		b.cached = nil
	}
}

// A chunk that is not larger is read in one piece; of others the frames that are wanted.
const wholeChunk = 64 << 10

// frames reads one of a series' chunks; it has none when the list is empty. The frames' bytes may be left out: fill
// brings them.
func (b *block) frames(s *blockSeries, track int) ([]frame, error) {
	frames, _, err := b.framesInto(nil, nil, s, track)
	return frames, err
}

// framesInto is frames, which reads into memory that the caller has, or more, and returns it: the frames' bytes are in it.
// The frames take the place of those in list when there is room.
func (b *block) framesInto(memory []byte, list []frame, s *blockSeries, track int) (_ []frame, _ []byte, err error) {
	offset, length := s.offset, int64(s.lengths[track])
	for i := range track {
		offset += int64(s.lengths[i])
	}
	if length == 0 {
		return nil, memory, nil
	}
	if offset < blockHeader || length < 5 || offset+length > b.end {
		return nil, memory, fmt.Errorf("block %s: %w: a series lies outside", b.ID, errDamaged)
	}
	bytes, err := b.bytesInto(memory, offset, min(length, wholeChunk))
	if err != nil {
		return nil, memory, err
	}
	if length > wholeChunk { // the headers may be longer still
		r := entryReader{rest: bytes}
		r.uvarint()
		need := int64(r.uvarint()) + 2*binary.MaxVarintLen64
		if need > length {
			return nil, memory, fmt.Errorf("block %s: %w: a series' frames", b.ID, errDamaged)
		}
		if need > wholeChunk {
			if bytes, err = b.bytesInto(nil, offset, need); err != nil {
				return nil, memory, err
			}
		}
	}
	frames, err := parseChunk(list, bytes, offset, length, s, track)
	if err != nil {
		return nil, memory, fmt.Errorf("block %s: %w: the samples of a series", b.ID, err)
	}
	return frames, bytes, nil
}

// bytesInto reads into memory when there is enough of it.
func (b *block) bytesInto(memory []byte, offset, length int64) ([]byte, error) {
	if int64(cap(memory)) < length {
		memory = make([]byte, length)
	}
	bytes := memory[:length]
	if _, err := b.file.ReadAt(bytes, offset); err != nil {
		return nil, fmt.Errorf("reading block %s: %w", b.ID, err)
	}
	return bytes, nil
}

// fill reads the bytes of the first frames, as many as lie together and do not begin behind maxTime.
func (b *block) fill(frames []frame, maxTime int64) error {
	_, err := b.fillInto(nil, frames, maxTime)
	return err
}

// fillInto is fill into memory that the caller has, or more, which it returns.
func (b *block) fillInto(memory []byte, frames []frame, maxTime int64) ([]byte, error) {
	n, length := 1, int64(frames[0].length)
	for n < len(frames) && length < 256<<10 && frames[n].bytes == nil && frames[n].minTime <= maxTime {
		length += int64(frames[n].length)
		n++
	}
	memory, err := b.bytesInto(memory, frames[0].at, length)
	if err != nil {
		return nil, err
	}
	bytes := memory
	for i := range frames[:n] {
		f := &frames[i]
		f.bytes, bytes = bytes[:f.length:f.length], bytes[f.length:]
		if crc32.Checksum(f.bytes, castagnoli) != f.sum {
			return memory, fmt.Errorf("block %s: %w: the samples of a series", b.ID, errDamaged)
		}
	}
	return memory, nil
}

// parseChunk reads a chunk that lies at offset and is length bytes long; bytes is its beginning. The frames take the place
// of those in list when there is room.
func parseChunk(list []frame, bytes []byte, offset, length int64, s *blockSeries, track int) ([]frame, error) {
	r := entryReader{rest: bytes}
	n := r.uvarint()
	if n == 0 || n > uint64(length) || length < 5 {
		return nil, errDamaged
	}
	if n == 1 && track == trackRaw {
		if int64(len(bytes)) != length || crc32.Checksum(bytes[:length-4], castagnoli) != binary.LittleEndian.Uint32(bytes[length-4:]) {
			return nil, errDamaged
		}
		f := frame{encoding: r.byte(), count: uint32(s.samples), minTime: s.minTime, maxTime: s.maxTime}
		f.bytes = r.rest[:len(r.rest)-4]
		return []frame{f}, nil
	}
	headers := entryReader{rest: r.take(r.uvarint())}
	read := len(bytes) - len(r.rest)
	if sum := r.take(4); r.bad || crc32.Checksum(bytes[:read], castagnoli) != binary.LittleEndian.Uint32(sum) || n > uint64(len(headers.rest)) {
		return nil, errDamaged
	}
	frames := slices.Grow(list[:0], int(n))[:n]
	clear(frames)
	last, at := s.minTime, offset+int64(read)+4
	whole := int64(len(bytes)) == length
	for i := range frames {
		f := &frames[i]
		f.readHeader(&headers, last)
		f.sum = binary.LittleEndian.Uint32(headers.take4())
		f.at = at
		at += int64(f.length)
		last = f.maxTime
		if headers.bad || at > offset+length {
			return nil, errDamaged
		}
		if whole {
			f.bytes = r.take(uint64(f.length))
			if r.bad || crc32.Checksum(f.bytes, castagnoli) != f.sum {
				return nil, errDamaged
			}
		}
	}
	return frames, nil
}

// appendChunk is the inverse of parseChunk.
func appendChunk(dst []byte, frames []frame, minTime int64, track int) []byte {
	dst, behind := appendChunkHead(dst, frames, minTime, track)
	for i := range behind {
		dst = append(dst, behind[i].bytes...)
	}
	return dst
}

// appendChunkHead is what a chunk begins with; the bytes of the frames that it returns follow. A day of histograms is
// many megabytes, which need not stand in memory twice.
func appendChunkHead(dst []byte, frames []frame, minTime int64, track int) (_ []byte, behind []frame) {
	start := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(frames)))
	if len(frames) == 1 && track == trackRaw {
		dst = append(dst, frames[0].encoding)
		dst = append(dst, frames[0].bytes...)
		return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
	}
	var headers []byte
	last := minTime
	for i := range frames {
		headers = frames[i].appendHeader(headers, last)
		headers = binary.LittleEndian.AppendUint32(headers, crc32.Checksum(frames[i].bytes, castagnoli))
		last = frames[i].maxTime
	}
	dst = binary.AppendUvarint(dst, uint64(len(headers)))
	dst = append(dst, headers...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), frames
}
