package journal

// The pre-commit buffer: entries collect in a mapped file, which costs no system call and survives the process, and are
// written to the segment together: when it is full, when Flush or Sync is called, after FlushEvery, and on closing.
//
// FILE "PRECOMMIT": 0 "CISTPRE2" · 8 uint64 the position its first record will have · 16 uint32 how many bytes of
// records there are · 20 uint32 their sum · 32 the records, as in a segment. Opening compares it with the segments: the
// journal ends where the buffer begins (nothing of it was written), where it would end (all was), or in between (the
// write was cut); the rest is written. Anything else is what a power cut left, and is forgotten: it was not promised. So
// are records that do not have the sum: after a power cut the pages may be of different times, and those of an earlier
// round, which are in the journal already, are whole in themselves.

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"cistern/services/platform/vfs"
)

const (
	precommitMagic  = "CISTPRE2"
	precommitHeader = 32
	// MinPreCommit is the smallest buffer that makes sense, MaxPreCommit the largest there can be.
	MinPreCommit = 4 << 10
	MaxPreCommit = 1 << 30
)

type precommit struct {
	mapping vfs.Mapping
	bytes   []byte // behind the header
	used    int
	sum     uint32
	entries int
}

// sumWith is a buffer's sum with one more record, whose own is given.
func sumWith(sum, record uint32) uint32 { return sum*31 + record }

func (j *Journal) openPrecommit() error {
	if j.options.PreCommit == 0 {
		return j.recoverPrecommit()
	}
	if j.options.PreCommit < MinPreCommit {
		return fmt.Errorf("a pre-commit buffer of %d bytes is too small: %d is the least", j.options.PreCommit, MinPreCommit)
	}
	if j.options.PreCommit > MaxPreCommit {
		return fmt.Errorf("a pre-commit buffer of %d bytes is too large: %d is the most", j.options.PreCommit, MaxPreCommit)
	}
	if j.options.Shared {
		return fmt.Errorf("a journal that several processes write has no pre-commit buffer")
	}
	if err := j.recoverPrecommit(); err != nil {
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
	setUsed(header, 0, 0) // first: a death in between leaves an empty buffer
	binary.LittleEndian.PutUint64(header[8:], uint64(base))
	p.used, p.sum, p.entries = 0, 0, 0
}

// setUsed stores how much there is and its sum, after the records themselves: an atomic store is not moved before them, and
// a process that dies takes nothing back that it stored. Both systems run on little-endian machines only.
func setUsed(header []byte, used int, sum uint32) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&header[16])), uint64(sum)<<32|uint64(used))
}

// recoverPrecommit writes what a process that died left in its buffer.
func (j *Journal) recoverPrecommit() error {
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
	base, used := Position(binary.LittleEndian.Uint64(content[8:])), binary.LittleEndian.Uint32(content[16:])
	end := j.segments[len(j.segments)-1].end()
	if uint64(used) > uint64(len(content)-precommitHeader) {
		return nil
	}
	records := content[precommitHeader : precommitHeader+int(used)]
	if !haveSum(records, binary.LittleEndian.Uint32(content[20:])) {
		return nil
	}
	group := j.flags&flagGroups != 0
	switch {
	case group && end != base: // a group is written whole or not at all
		return nil
	case end < base || end > base+Position(used):
		return nil
	}
	rest := records[end-base:]
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

// haveSum says whether records are whole, to the last, and have a sum.
func haveSum(records []byte, want uint32) bool {
	reader := segmentReader{file: byteFile(records), size: int64(len(records))}
	sum := uint32(0)
	for at := int64(0); at < int64(len(records)); {
		data, bits, err := reader.record(at)
		if err != nil || bits != 0 {
			return false
		}
		sum = sumWith(sum, binary.LittleEndian.Uint32(records[at+4:]))
		at += entryHeaderBytes + int64(len(data))
	}
	return sum == want
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
		sum := recordSum(length, data)
		binary.LittleEndian.PutUint32(record[4:], sum)
		p.sum = sumWith(p.sum, sum)
		at += len(record)
	}
	p.used = at
	p.entries += len(entries)
	setUsed(p.mapping.Bytes(), at, p.sum)
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
