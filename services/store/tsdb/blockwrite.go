package tsdb

// Writing a block; its layout is in block.go and blockindex.go.

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"sync/atomic"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// blockHead is what a block's header says.
type blockHead struct {
	sequence         uint64
	minTime, maxTime int64
	through          journal.Position
	rank             uint64
	last             bool
	parents          []uint64
	now              int64
}

// blockWriter writes one block, series by series, and publishes it.
type blockWriter struct {
	blockHead
	fs      vfs.FS
	folder  string
	file    vfs.File
	out     *bufio.Writer
	offset  int64
	labels  map[Label]*postingsWriter
	names   map[string]summary
	samples uint64
	series  uint32
	tracks  [tracks]int64
	chunks  []byte
	writing *atomic.Int64 // bytes that all writers of the store have in memory; nil: nobody counts
	held    int64         // of that, this one's

	// The pages of series that are full wait here: they go behind the chunks.
	pages     []byte
	page      []byte
	lastKey   string
	directory []byte
	packed    []byte
}

// What a writer takes of memory, about: for a label its places in the map and in the order, and its series; for a name what Metrics tells.
const (
	labelHeld = 150
	nameHeld  = 80
)

// newBlockWriter begins a block. The times must be known first: they are in the header.
func newBlockWriter(fsys vfs.FS, folder string, head blockHead) (*blockWriter, error) {
	w := &blockWriter{blockHead: head, fs: fsys, folder: folder, labels: map[Label]*postingsWriter{}, names: map[string]summary{}}
	file, err := fsys.Create(w.path() + ".tmp")
	if err != nil {
		return nil, fmt.Errorf("making block %s: %w", w.name(), err)
	}
	w.file, w.out = file, bufio.NewWriterSize(file, 256<<10)
	header := make([]byte, blockHeader)
	copy(header, blockMagic)
	le := binary.LittleEndian
	le.PutUint32(header[8:], blockVersion)
	if head.last {
		le.PutUint32(header[12:], flagLast)
	}
	le.PutUint64(header[16:], uint64(head.minTime))
	le.PutUint64(header[24:], uint64(head.maxTime))
	le.PutUint64(header[32:], uint64(head.through))
	le.PutUint64(header[40:], head.rank)
	le.PutUint64(header[48:], uint64(head.now))
	le.PutUint32(header[76:], crc32.Checksum(header[:76], castagnoli))
	w.write(header)
	return w, nil
}

func (w *blockWriter) name() string { return blockName(w.sequence) }
func (w *blockWriter) path() string { return filepath.Join(w.folder, w.name()) }

// write adds bytes; bufio keeps the first error until Flush.
func (w *blockWriter) write(bytes []byte) {
	_, _ = w.out.Write(bytes)
	w.offset += int64(len(bytes))
}

// seriesData is what a block stores of one series.
type seriesData struct {
	minTime, maxTime int64
	samples          uint64
	frames           [tracks][]frame
}

// empty says whether nothing is to be stored.
func (d *seriesData) empty() bool {
	for _, frames := range d.frames {
		if len(frames) > 0 {
			return false
		}
	}
	return true
}

// hold counts bytes that the writer takes.
func (w *blockWriter) hold(bytes int64) {
	if w.writing != nil {
		w.held += bytes
		w.writing.Add(bytes)
	}
}

// add writes a series; keys must ascend.
func (w *blockWriter) add(key string, kind Kind, data *seriesData) error {
	labels, err := ParseKey(key)
	if err != nil {
		return err
	}
	ref := w.series
	for _, l := range labels {
		p := w.labels[l]
		if p == nil {
			p = &postingsWriter{}
			w.labels[l] = p
			w.hold(labelHeld)
		}
		p.add(ref)
		if l.Name == NameLabel {
			known, there := w.names[l.Value]
			if !there {
				w.hold(nameHeld)
			}
			w.names[l.Value] = summary{kind: kind, series: known.series + 1, lastTime: max(known.lastTime, data.maxTime)}
		}
	}
	record := blockSeries{key: key, kind: kind, minTime: data.minTime, maxTime: data.maxTime, samples: data.samples}
	if ref%pageSeries == 0 {
		w.finishPage()
		w.page = binary.LittleEndian.AppendUint64(w.page[:0], uint64(w.offset))
		w.lastKey = ""
	}
	for track, frames := range data.frames {
		if len(frames) == 0 {
			continue
		}
		start := w.offset
		head, behind := appendChunkHead(w.chunks[:0], frames, data.minTime, track)
		w.chunks = head
		w.write(head)
		for i := range behind {
			w.write(behind[i].bytes)
		}
		record.lengths[track] = uint32(w.offset - start)
		w.tracks[track] += w.offset - start
	}
	w.page = appendSeries(w.page, w.lastKey, &record, w.minTime)
	w.lastKey = key
	w.samples += data.samples
	w.series++
	return nil
}

// pack returns bytes as they are stored, and their directory entry behind directory; gap is to the previous extent.
func (w *blockWriter) pack(directory []byte, gap int64, bytes []byte) (stored, entry []byte) {
	stored = zstdEncoder().EncodeAll(bytes, w.packed[:0])
	w.packed = stored
	if len(stored) >= len(bytes) {
		stored = bytes
	}
	entry = binary.AppendUvarint(directory, uint64(gap))
	entry = binary.AppendUvarint(entry, uint64(len(stored)))
	entry = binary.AppendUvarint(entry, uint64(len(bytes)))
	return stored, binary.LittleEndian.AppendUint32(entry, crc32.Checksum(stored, castagnoli))
}

func (w *blockWriter) finishPage() {
	if len(w.page) == 0 {
		return
	}
	stored, entry := w.pack(w.directory, 0, w.page)
	w.pages, w.directory = append(w.pages, stored...), entry
	w.hold(int64(len(stored)))
	w.page = w.page[:0]
}

// index writes the pages and returns the directory.
func (w *blockWriter) index() []byte {
	w.finishPage()
	// The first entry's offset is from 0, which pack did not know yet.
	directory := binary.AppendUvarint(nil, uint64((w.series+pageSeries-1)/pageSeries))
	gap := w.offset
	if len(w.directory) > 0 {
		directory = binary.AppendUvarint(directory, uint64(gap))
		directory = append(directory, w.directory[1:]...) // behind the gap of 0, which is one byte
		gap = 0
	}
	w.write(w.pages)

	order := make([]Label, 0, len(w.labels))
	for l := range w.labels {
		order = append(order, l)
	}
	slices.SortFunc(order, compareLabels)
	places := make(map[Label]int64)
	for _, l := range order {
		if bytes := w.labels[l].finish(); len(bytes) > inlinePostings {
			places[l] = w.offset
			w.write(bytes)
			w.write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(bytes, castagnoli)))
			gap += int64(len(bytes)) + 4
		}
	}
	directory = binary.AppendUvarint(directory, uint64((len(order)+pageLabels-1)/pageLabels))
	for len(order) > 0 {
		n := min(pageLabels, len(order))
		page, previous := w.page[:0], Label{}
		for _, l := range order[:n] {
			p := w.labels[l]
			one := blockLabel{Label: l, count: p.count, inline: p.bytes, length: uint32(len(p.bytes))}
			one.offset, one.external = places[l]
			page = appendLabel(page, previous, &one)
			previous = l
		}
		w.page = page
		var stored []byte
		stored, directory = w.pack(directory, gap, page)
		gap = 0
		w.write(stored)
		for _, part := range []string{order[0].Name, order[0].Value} {
			directory = binary.AppendUvarint(directory, uint64(len(part)))
			directory = append(directory, part...)
		}
		order = order[n:]
	}
	var names []byte
	for name, part := range w.names {
		names = binary.AppendUvarint(names, uint64(len(name)))
		names = append(names, name...)
		names = append(names, byte(part.kind))
		names = binary.AppendUvarint(names, uint64(part.series))
		names = binary.AppendVarint(names, part.lastTime-w.minTime)
	}
	stored, directory := w.pack(directory, gap, names)
	w.write(stored)
	return directory
}

// finish makes the block whole and durable under its temporary name, and gives its memory back: those of a flush wait for
// each other.
func (w *blockWriter) finish() (err error) {
	defer func() {
		w.out, w.labels, w.names, w.chunks, w.pages, w.page, w.directory, w.packed = nil, nil, nil, nil, nil, nil, nil, nil
		w.hold(-w.held)
	}()
	indexOffset := w.offset
	directory := w.index()
	stored, _ := w.pack(nil, 0, directory)
	footer := make([]byte, blockFooter)
	le := binary.LittleEndian
	le.PutUint64(footer[0:], uint64(w.offset))
	le.PutUint32(footer[8:], uint32(len(stored)))
	le.PutUint32(footer[12:], uint32(len(directory)))
	le.PutUint32(footer[16:], crc32.Checksum(stored, castagnoli))
	w.write(stored)
	meta := binary.AppendUvarint(nil, uint64(len(w.parents)))
	for _, p := range w.parents {
		meta = binary.AppendUvarint(meta, p)
	}
	le.PutUint32(footer[20:], w.series)
	le.PutUint64(footer[24:], w.samples)
	le.PutUint64(footer[32:], uint64(w.offset))
	le.PutUint32(footer[40:], uint32(len(meta)))
	le.PutUint32(footer[44:], crc32.Checksum(meta, castagnoli))
	w.write(meta)
	le.PutUint64(footer[48:], uint64(indexOffset))
	le.PutUint64(footer[56:], uint64(w.tracks[trackMinute]))
	le.PutUint64(footer[64:], uint64(w.tracks[trackHour]))
	le.PutUint64(footer[72:], uint64(w.tracks[trackTen]+w.tracks[trackHalf]))
	le.PutUint32(footer[84:], crc32.Checksum(footer[:84], castagnoli))
	copy(footer[88:], blockEnd)
	w.write(footer)
	err = w.out.Flush()
	if err == nil {
		err = w.file.Sync()
	}
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = w.fs.Remove(w.path() + ".tmp")
		return fmt.Errorf("writing block %s: %w", w.name(), err)
	}
	return nil
}

// publish gives finished blocks their names: when it returns without an error they are all there and durable. They
// become visible in their order, so that the last one vouches for the others.
func publish(writers ...*blockWriter) error {
	for i, w := range writers {
		if err := w.fs.Rename(w.path()+".tmp", w.path()); err != nil {
			for _, rest := range writers[i:] {
				_ = w.fs.Remove(rest.path() + ".tmp")
			}
			return fmt.Errorf("publishing block %s: %w", w.name(), err)
		}
		// Names become durable in their order only when each is made so.
		if err := w.fs.SyncDir(w.folder); err != nil {
			return fmt.Errorf("publishing block %s: %w", w.name(), err)
		}
	}
	return nil
}

// abandon gives a block up, whether it is finished or not.
func (w *blockWriter) abandon() {
	w.file.Close()
	_ = w.fs.Remove(w.path() + ".tmp")
	w.hold(-w.held)
}
