package tsdb

// Blocks: immutable files, each with what one head held. Everything in a block that is read is checked by its CRC-32C
// before it is believed.
//
// FILE "SEQUENCE.block", 16 hexadecimal digits; made as ".tmp", synced, renamed, the folder synced. Version 1. Numbers
// are little-endian, u is uvarint, v is varint.
//
//	header, 64 bytes:
//	  0 "CISTBLK1" · 8 uint32 version · 12 uint32 flags 0 · 16 int64 least time · 24 int64 greatest time (ms)
//	  32 uint64 through: the journal's position before which every entry is in this block or an older one
//	  40 int64 when it was made (ms) · 48 12 bytes 0 · 60 uint32 CRC of the bytes before
//	data: for each series, ascending by key, its chunk:
//	  u number of frames; for each: byte encoding, u count, v least time (minus the previous frame's greatest), u
//	  greatest minus least time, u length; then the frames' bytes one after the other; uint32 CRC of the chunk
//	index:
//	  uint32 number of series n · n+1 × uint32 where the series' records begin, from the index's start
//	  uint32 number of labels m · m+1 × uint32 where the labels' records begin
//	  series record: u key length, key, byte kind, v least time, u greatest minus least time, u samples, u chunk's
//	    offset in the file, u its length
//	  label record, ascending by name and value: u name length, name, u value length, value, u number of series, then
//	    u the first series' number and the steps to the others
//	footer, 64 bytes:
//	  0 uint64 index offset · 8 uint64 index length · 16 uint32 index CRC · 20 uint32 series · 24 uint64 samples
//	  32 20 bytes 0 · 52 uint32 CRC of the bytes before · 56 "CISTBEND"
//
// Room to grow: frames of new encodings (rollups, cumulative histogram checkpoints) beside the samples' own, flags, and
// the zero bytes of header and footer.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/journal"
	"cistern/services/vfs"
)

const (
	blockMagic    = "CISTBLK1"
	blockEnd      = "CISTBEND"
	blockVersion  = 1
	blockHeader   = 64
	blockFooter   = 64
	blockSuffix   = ".block"
	damagedSuffix = ".damaged"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BlockInfo describes a block.
type BlockInfo struct {
	ID      string
	MinTime int64 // ms
	MaxTime int64
	Series  int
	Samples int64
	Bytes   int64
}

// block is an open block. Its file is closed and, when it was dropped, removed with the last reference.
type block struct {
	BlockInfo
	through  journal.Position
	sequence uint64
	fs       vfs.FS
	path     string
	file     vfs.File

	indexOffset, indexLength int64
	indexSum                 uint32
	references               atomic.Int64
	dropped                  atomic.Bool

	// The index is read when it is needed, and let go when it was not for a while.
	indexMu   sync.Mutex
	cached    *blockIndex
	lastUse   time.Time
	summaries map[string]summary
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
	if string(header[:8]) != blockMagic || crc32.Checksum(header[:60], castagnoli) != le.Uint32(header[60:]) {
		return fmt.Errorf("%w: its header", errDamaged)
	}
	if version, flags := le.Uint32(header[8:]), le.Uint32(header[12:]); version != blockVersion || flags != 0 {
		return fmt.Errorf("its version is %d (flags %x), which this Cistern does not know; a newer one wrote it", version, flags)
	}
	if string(footer[56:]) != blockEnd || crc32.Checksum(footer[:52], castagnoli) != le.Uint32(footer[52:]) {
		return fmt.Errorf("%w: its footer", errDamaged)
	}
	b.MinTime, b.MaxTime = int64(le.Uint64(header[16:])), int64(le.Uint64(header[24:]))
	b.through = journal.Position(le.Uint64(header[32:]))
	b.indexOffset, b.indexLength = int64(le.Uint64(footer[0:])), int64(le.Uint64(footer[8:]))
	b.indexSum, b.Series = le.Uint32(footer[16:]), int(le.Uint32(footer[20:]))
	b.Samples, b.Bytes = int64(le.Uint64(footer[24:])), size
	if b.indexOffset < blockHeader || b.indexLength < 0 || b.indexOffset+b.indexLength != size-blockFooter {
		return fmt.Errorf("%w: its footer", errDamaged)
	}
	return nil
}

func (b *block) acquire() { b.references.Add(1) }

func (b *block) release() {
	if b.references.Add(-1) > 0 {
		return
	}
	b.file.Close()
	if b.dropped.Load() {
		_ = b.fs.Remove(b.path) // if it fails, the next start drops the block again
	}
}

// index is the block's index, read if it is not in memory.
func (b *block) index() (*blockIndex, error) {
	b.indexMu.Lock()
	defer b.indexMu.Unlock()
	b.lastUse = time.Now()
	if b.cached != nil {
		return b.cached, nil
	}
	bytes := make([]byte, b.indexLength)
	if _, err := b.file.ReadAt(bytes, b.indexOffset); err != nil {
		return nil, fmt.Errorf("reading the index of block %s: %w", b.ID, err)
	}
	if crc32.Checksum(bytes, castagnoli) != b.indexSum {
		return nil, fmt.Errorf("block %s: %w: its index", b.ID, errDamaged)
	}
	x, err := parseIndex(bytes)
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

// chunk reads a series' frames.
func (b *block) chunk(s blockSeries) ([]frame, error) {
	if s.offset < blockHeader || s.length < 4 || s.offset+s.length > b.indexOffset {
		return nil, fmt.Errorf("block %s: %w: a series lies outside", b.ID, errDamaged)
	}
	bytes := make([]byte, s.length)
	if _, err := b.file.ReadAt(bytes, s.offset); err != nil {
		return nil, fmt.Errorf("reading block %s: %w", b.ID, err)
	}
	body, sum := bytes[:s.length-4], binary.LittleEndian.Uint32(bytes[s.length-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, fmt.Errorf("block %s: %w: a series' samples", b.ID, errDamaged)
	}
	frames, err := parseChunk(body)
	if err != nil {
		return nil, fmt.Errorf("block %s: %w", b.ID, err)
	}
	return frames, nil
}

func parseChunk(body []byte) ([]frame, error) {
	r := entryReader{rest: body}
	n := r.uvarint()
	if n > uint64(len(body)) {
		return nil, errDamaged
	}
	frames, lengths := make([]frame, n), make([]uint64, n)
	last := int64(0)
	for i := range frames {
		f := &frames[i]
		f.encoding, f.count = r.byte(), uint32(r.uvarint())
		f.minTime = last + r.varint()
		f.maxTime = f.minTime + int64(r.uvarint())
		lengths[i] = r.uvarint()
		last = f.maxTime
		// No encoding of samples needs less than two bits for each: what claims more would eat memory.
		if f.encoding < encodingAddition && uint64(f.count) > 8*lengths[i] {
			return nil, errDamaged
		}
	}
	for i := range frames {
		frames[i].bytes = r.take(lengths[i])
	}
	if r.bad {
		return nil, errDamaged
	}
	return frames, nil
}
