package tsdb

// Writing a block; its layout is in block.go.

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"sort"

	"cistern/services/journal"
	"cistern/services/vfs"
)

// blockWriter writes one block, series by series, and publishes it.
type blockWriter struct {
	fs      vfs.FS
	folder  string
	name    string
	file    vfs.File
	out     *bufio.Writer
	offset  int64
	records []byte   // series records
	starts  []uint32 // where each begins, from the first one's
	labels  map[Label][]uint32
	samples uint64
	scratch []byte
}

// newBlockWriter begins a block. The times must be known first: they are in the header.
func newBlockWriter(fsys vfs.FS, folder string, sequence uint64, minTime, maxTime, now int64, through journal.Position) (*blockWriter, error) {
	w := &blockWriter{fs: fsys, folder: folder, name: blockName(sequence), labels: map[Label][]uint32{}}
	file, err := fsys.Create(w.path() + ".tmp")
	if err != nil {
		return nil, fmt.Errorf("making block %s: %w", w.name, err)
	}
	w.file, w.out = file, bufio.NewWriterSize(file, 256<<10)
	header := make([]byte, blockHeader)
	copy(header, blockMagic)
	le := binary.LittleEndian
	le.PutUint32(header[8:], blockVersion)
	le.PutUint64(header[16:], uint64(minTime))
	le.PutUint64(header[24:], uint64(maxTime))
	le.PutUint64(header[32:], uint64(through))
	le.PutUint64(header[40:], uint64(now))
	le.PutUint32(header[60:], crc32.Checksum(header[:60], castagnoli))
	w.write(header)
	return w, nil
}

func (w *blockWriter) path() string { return filepath.Join(w.folder, w.name) }

// write adds bytes; bufio keeps the first error until Flush.
func (w *blockWriter) write(bytes []byte) {
	_, _ = w.out.Write(bytes)
	w.offset += int64(len(bytes))
}

// add writes a series; keys must ascend.
func (w *blockWriter) add(key string, kind Kind, frames []frame) error {
	labels, err := ParseKey(key)
	if err != nil {
		return err
	}
	if len(frames) == 0 {
		return nil
	}
	ref := uint32(len(w.starts))
	for _, l := range labels {
		w.labels[l] = append(w.labels[l], ref)
	}
	chunk := binary.AppendUvarint(w.scratch[:0], uint64(len(frames)))
	last, samples := int64(0), uint64(0)
	for _, f := range frames {
		chunk = append(chunk, f.encoding)
		chunk = binary.AppendUvarint(chunk, uint64(f.count))
		chunk = binary.AppendVarint(chunk, f.minTime-last)
		chunk = binary.AppendUvarint(chunk, uint64(f.maxTime-f.minTime))
		chunk = binary.AppendUvarint(chunk, uint64(len(f.bytes)))
		last = f.maxTime
		samples += uint64(f.count)
	}
	for _, f := range frames {
		chunk = append(chunk, f.bytes...)
	}
	chunk = binary.LittleEndian.AppendUint32(chunk, crc32.Checksum(chunk, castagnoli))
	w.scratch = chunk

	w.starts = append(w.starts, uint32(len(w.records)))
	w.records = binary.AppendUvarint(w.records, uint64(len(key)))
	w.records = append(w.records, key...)
	w.records = append(w.records, byte(kind))
	w.records = binary.AppendVarint(w.records, frames[0].minTime)
	w.records = binary.AppendUvarint(w.records, uint64(last-frames[0].minTime))
	w.records = binary.AppendUvarint(w.records, samples)
	w.records = binary.AppendUvarint(w.records, uint64(w.offset))
	w.records = binary.AppendUvarint(w.records, uint64(len(chunk)))
	w.samples += samples
	w.write(chunk)
	return nil
}

// index is the index's bytes.
func (w *blockWriter) index() []byte {
	order := make([]Label, 0, len(w.labels))
	for l := range w.labels {
		order = append(order, l)
	}
	sort.Slice(order, func(a, b int) bool {
		if order[a].Name != order[b].Name {
			return order[a].Name < order[b].Name
		}
		return order[a].Value < order[b].Value
	})
	le := binary.LittleEndian
	base := uint32(4 + 4*(len(w.starts)+1) + 4 + 4*(len(order)+1))
	index := le.AppendUint32(nil, uint32(len(w.starts)))
	for _, start := range w.starts {
		index = le.AppendUint32(index, base+start)
	}
	base += uint32(len(w.records))
	index = le.AppendUint32(index, base)

	index = le.AppendUint32(index, uint32(len(order)))
	var records []byte
	for _, l := range order {
		index = le.AppendUint32(index, base+uint32(len(records)))
		records = binary.AppendUvarint(records, uint64(len(l.Name)))
		records = append(records, l.Name...)
		records = binary.AppendUvarint(records, uint64(len(l.Value)))
		records = append(records, l.Value...)
		records = binary.AppendUvarint(records, uint64(len(w.labels[l])))
		last := uint32(0)
		for _, ref := range w.labels[l] {
			records = binary.AppendUvarint(records, uint64(ref-last))
			last = ref
		}
	}
	index = le.AppendUint32(index, base+uint32(len(records)))
	index = append(index, w.records...)
	return append(index, records...)
}

// publish finishes the block: when it returns without an error the block is there, whole and durable.
func (w *blockWriter) publish() (err error) {
	index := w.index()
	footer := make([]byte, blockFooter)
	le := binary.LittleEndian
	le.PutUint64(footer[0:], uint64(w.offset))
	le.PutUint64(footer[8:], uint64(len(index)))
	le.PutUint32(footer[16:], crc32.Checksum(index, castagnoli))
	le.PutUint32(footer[20:], uint32(len(w.starts)))
	le.PutUint64(footer[24:], w.samples)
	le.PutUint32(footer[52:], crc32.Checksum(footer[:52], castagnoli))
	copy(footer[56:], blockEnd)
	w.write(index)
	w.write(footer)
	err = w.out.Flush()
	if err == nil {
		err = w.file.Sync()
	}
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = w.fs.Rename(w.path()+".tmp", w.path())
	}
	if err != nil {
		_ = w.fs.Remove(w.path() + ".tmp")
		return fmt.Errorf("writing block %s: %w", w.name, err)
	}
	if err := w.fs.SyncDir(w.folder); err != nil {
		return fmt.Errorf("publishing block %s: %w", w.name, err)
	}
	return nil
}

// abandon gives a block up.
func (w *blockWriter) abandon() {
	w.file.Close()
	_ = w.fs.Remove(w.path() + ".tmp")
}
