package journal

// The pre-commit buffer: entries collect in a mapped file, which costs no system call and survives the process, and are
// written to the segment together: when it is full, when Flush or Sync is called, after FlushEvery, and on closing.
//
// FILE "PRECOMMIT": 0 "CISTPRE1" · 8 uint64 the position its first record will have · 16 uint64 how many bytes of
// records there are · 32 the records, as in a segment. Opening compares it with the segments: the journal ends where the
// buffer begins (nothing of it was written), where it would end (all was), or in between (the write was cut); the rest
// is written. Anything else is what a power cut left, and is forgotten: it was not promised.

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"cistern/services/vfs"
)

const (
	precommitMagic  = "CISTPRE1"
	precommitHeader = 32
	// MinPreCommit is the smallest buffer that makes sense.
	MinPreCommit = 4 << 10
)

type precommit struct {
	mapping vfs.Mapping
	bytes   []byte // behind the header
	used    int
	entries int
}

func (j *Journal) openPrecommit() error {
	if j.options.PreCommit == 0 {
		return j.drainPrecommit()
	}
	if j.options.PreCommit < MinPreCommit {
		return fmt.Errorf("a pre-commit buffer of %d bytes is too small: %d is the least", j.options.PreCommit, MinPreCommit)
	}
	if j.options.Shared {
		return fmt.Errorf("a journal that several processes write has no pre-commit buffer")
	}
	if err := j.drainPrecommit(); err != nil {
		return err
	}
	m, err := j.fs.Map(j.path(precommitName), precommitHeader+j.options.PreCommit)
	if err != nil {
		return err
	}
	copy(m.Bytes(), precommitMagic)
	j.pre = &precommit{mapping: m, bytes: m.Bytes()[precommitHeader:]}
	j.pre.reset(j.segments[len(j.segments)-1].end())
	return nil
}

func (p *precommit) reset(base Position) {
	header := p.mapping.Bytes()
	setUsed(header, 0) // first: a death in between leaves an empty buffer
	binary.LittleEndian.PutUint64(header[8:], uint64(base))
	p.used, p.entries = 0, 0
}

// setUsed stores how much there is, after the records themselves: an atomic store is not moved before them, and a process
// that dies takes nothing back that it stored. Both systems run on little-endian machines only.
func setUsed(header []byte, used int) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&header[16])), uint64(used))
}

// drainPrecommit writes what a process that died left in its buffer.
func (j *Journal) drainPrecommit() error {
	content, err := vfs.ReadFile(j.fs, j.path(precommitName))
	if vfs.NotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(content) < precommitHeader || string(content[:8]) != precommitMagic {
		return nil
	}
	base, used := Position(binary.LittleEndian.Uint64(content[8:])), binary.LittleEndian.Uint64(content[16:])
	end := j.segments[len(j.segments)-1].end()
	if used > uint64(len(content)-precommitHeader) {
		return nil
	}
	records := content[precommitHeader : precommitHeader+used]
	group := j.flags&flagGroups != 0
	switch {
	case group && end != base: // a group is written whole or not at all
		return nil
	case end < base || end > base+Position(used):
		return nil
	}
	rest := records[end-base:]
	// Only what is whole: after a power cut the pages may be of different times.
	whole := int64(0)
	reader := segmentReader{file: byteFile(rest), size: int64(len(rest))}
	var entries [][]byte
	for {
		data, bits, err := reader.record(whole)
		if err != nil || bits != 0 {
			break
		}
		entries = append(entries, append([]byte(nil), data...))
		whole += entryHeaderBytes + int64(len(data))
	}
	if whole == 0 {
		return nil
	}
	bytes := rest[:whole]
	if group {
		for _, one := range entries {
			j.group.add(one)
		}
		bytes = j.group.append(nil)
	}
	if err := j.writeOut(bytes); err != nil {
		return err
	}
	j.stats.entries += uint64(len(entries))
	return j.file.Sync()
}

// byteFile lets a segmentReader read bytes.
type byteFile []byte

func (b byteFile) ReadAt(p []byte, offset int64) (int, error) { return copy(p, b[offset:]), nil }

// put adds entries to the buffer; false when they do not fit. The caller holds appending.
func (p *precommit) put(entries [][]byte, size int) bool {
	if p.used+size > len(p.bytes) {
		return false
	}
	at := p.used
	for _, data := range entries {
		length := uint32(len(data)) | present
		record := p.bytes[at : at+entryHeaderBytes+len(data)]
		binary.LittleEndian.PutUint32(record, length)
		copy(record[entryHeaderBytes:], data)
		binary.LittleEndian.PutUint32(record[4:], recordSum(length, data))
		at += len(record)
	}
	p.used = at
	p.entries += len(entries)
	setUsed(p.mapping.Bytes(), at)
	return true
}

// Flush writes the pre-commit buffer to the segment, where readers see it. Without a buffer it does nothing.
func (j *Journal) Flush() error {
	j.appending.Lock()
	defer j.appending.Unlock()
	return j.flush()
}

// flush is Flush; the caller holds appending.
func (j *Journal) flush() error {
	p := j.pre
	if p == nil || p.used == 0 {
		return nil
	}
	j.mu.Lock()
	failed := j.failed
	j.mu.Unlock()
	if failed != nil {
		return failed
	}
	bytes := p.bytes[:p.used]
	if j.flags&flagGroups != 0 {
		for at := 0; at < p.used; {
			length := int(binary.LittleEndian.Uint32(p.bytes[at:]) & lengthMask)
			j.group.add(p.bytes[at+entryHeaderBytes : at+entryHeaderBytes+length])
			at += entryHeaderBytes + length
		}
		j.buffer = j.group.append(j.buffer[:0])
		bytes = j.buffer
	}
	if err := j.writeOut(bytes); err != nil {
		return err
	}
	j.mu.Lock()
	end := j.segments[len(j.segments)-1].end()
	j.stats.flushes++
	j.mu.Unlock()
	p.reset(end)
	j.pending.Store(0)
	return nil
}
