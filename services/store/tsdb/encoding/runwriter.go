package encoding

// Writing runs of histograms: what is added goes straight into a table of columns, eight bits a cell while no count needs
// more, so that a run of five minutes fits the second cache and eight counts are looked at at once (narrow.go). The head's
// rows are added as they came, encoded, and never become histograms.

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"cistern/services/histogram"
)

// HistogramWriter makes runs. The zero value is ready; it keeps its memory from one run to the next. It is not safe for
// use by several goroutines.
type HistogramWriter struct {
	// Columns come in blocks, of the 64 bins of a chunk each.
	block  []uint16          // by chunk + chunksBelow: the number of its block plus one, 0 without one
	blocks []histogram.Chunk // of which bins there are records in it
	n      int               // records so far
	// How many cells a column has: the records of a run, and up to seven more, which stay zero.
	stride int
	width  uint8    // the bits of a cell, 8, 16 or 64; the columns are in
	narrow []byte   // this,
	cells  []uint16 // this
	wide   []uint64 // or this, stride cells each
	row    []uint16 // columns of the bins of the record being added
	chunks []placed // of the record being added
	order  []uint16 // columns that hold something, in the order of their bins
	sorted bool     // order is of all that was added
	group  [maxGroup]uint64
	about  [maxGroup]uint64
	places [maxGroup]uint16 // of the numbers of a group that are not zero
	values [maxGroup]uint64 // these
	near   [maxGroup]byte   // narrow counts about their mean
	body   []byte
	ends   []int
	times  scratch
	sum    histogram.Histogram
	// Of the records, when the sum of any is known, and of which: none, or n.
	excess  []histogram.Offset
	known   []bool
	numbers []float64
	index   []int64
	run     []byte
}

// chunksBelow is how many chunks lie below that of bin 0.
const chunksBelow = (int(histogram.MaxBin) + histogram.ChunkBins - 1) / histogram.ChunkBins

// keptCells is the most cells whose memory is kept from run to run: one huge run must not be paid for, for ever.
const keptCells = 1 << 21

// Begin begins a run of so many records, at most MaxRun.
func (w *HistogramWriter) Begin(records int) {
	if w.block == nil {
		w.block = make([]uint16, chunksBelow+int(histogram.MaxBin)/histogram.ChunkBins+1)
	}
	for _, b := range w.blocks {
		w.block[b.Number+chunksBelow] = 0
	}
	if cap(w.narrow) > keptCells {
		w.narrow = nil
	}
	if cap(w.cells) > keptCells {
		w.cells = nil
	}
	w.stride, w.width, w.n, w.excess, w.known = (records+7)&^7, 8, 0, w.excess[:0], w.known[:0]
	if usual := 12 * histogram.ChunkBins * w.stride; cap(w.narrow) < usual && usual <= keptCells {
		w.narrow = make([]byte, 0, usual)
	}
	w.blocks, w.narrow, w.cells, w.wide, w.sorted = w.blocks[:0], w.narrow[:0], w.cells[:0], nil, false
}

// blockOf is the number of a chunk's block, which it makes when there is none.
func (w *HistogramWriter) blockOf(chunk int) int {
	at := &w.block[chunk+chunksBelow]
	if *at == 0 {
		w.blocks = append(w.blocks, histogram.Chunk{Number: chunk})
		*at = uint16(len(w.blocks))
		switch n := histogram.ChunkBins * w.stride; w.width {
		case 8:
			w.narrow = grown(w.narrow, n)
		case 16:
			w.cells = grown(w.cells, n)
		default:
			w.wide = grown(w.wide, n)
		}
	}
	return int(*at) - 1
}

// column is the number of a bin's column, and notes that there is something in it.
func (w *HistogramWriter) column(bin histogram.Bin) int {
	block := w.blockOf(int(bin) >> 6)
	w.blocks[block].Mask |= 1 << (bin & 63)
	return block*histogram.ChunkBins + int(bin&63)
}

// binOf is the bin of a column.
func (w *HistogramWriter) binOf(column uint16) histogram.Bin {
	return histogram.Bin(w.blocks[column/histogram.ChunkBins].Number*histogram.ChunkBins + int(column%histogram.ChunkBins))
}

// grown is the cells and n more, all zero.
func grown[C byte | uint16 | uint64](cells []C, n int) []C {
	was := len(cells)
	cells = slices.Grow(cells, n)[:was+n]
	clear(cells[was:])
	return cells
}

// widen gives every cell so many bits, if it has fewer.
func (w *HistogramWriter) widen(width uint8) {
	switch {
	case w.width >= width:
		return
	case width == 16:
		w.cells = slices.Grow(w.cells[:0], len(w.narrow))[:len(w.narrow)]
		copyWider(w.cells, w.narrow)
	case w.width == 8:
		w.wide = make([]uint64, len(w.narrow), len(w.narrow)+w.stride)
		copyWider(w.wide, w.narrow)
	default:
		w.wide = make([]uint64, len(w.cells), len(w.cells)+w.stride)
		copyWider(w.wide, w.cells)
	}
	w.width = width
}

func copyWider[To uint16 | uint64, From byte | uint16](to []To, from []From) {
	for i, c := range from {
		to[i] = To(c)
	}
}

// Add adds a record.
func (w *HistogramWriter) Add(h *histogram.Histogram) {
	for i := 0; i < len(h.Bins); {
		chunk := int(h.Bins[i]) >> 6
		block := w.blockOf(chunk)
		first, mask := block*histogram.ChunkBins, uint64(0)
		for ; i < len(h.Bins) && int(h.Bins[i])>>6 == chunk; i++ {
			in := int(h.Bins[i] & 63)
			mask |= 1 << in
			switch count := h.Counts[i]; {
			case count < 1<<8 && w.width == 8:
				w.narrow[(first+in)*w.stride+w.n] = byte(count)
			case count < 1<<16 && w.width == 16:
				w.cells[(first+in)*w.stride+w.n] = uint16(count)
			default:
				w.set(first+in, count)
			}
		}
		w.blocks[block].Mask |= mask
	}
	if h.Offset == (histogram.Offset{}) {
		w.noted(histogram.Offset{}, false)
	} else {
		w.noted(h.Excess(), true)
	}
}

// set puts a count of the present record into a column.
func (w *HistogramWriter) set(column int, count uint64) {
	if count >= 1<<16 {
		w.widen(64)
	} else if count >= 1<<8 {
		w.widen(16)
	}
	switch at := column*w.stride + w.n; w.width {
	case 8:
		w.narrow[at] = byte(count)
	case 16:
		w.cells[at] = uint16(count)
	default:
		w.wide[at] = count
	}
}

// placed is a chunk of a record, by the first column of its block.
type placed struct {
	column int
	mask   uint64
}

// AddEncoded adds the record that stands at the front of buffer as package histogram encodes it, and returns what
// follows it. On an error the run is of no use.
func (w *HistogramWriter) AddEncoded(buffer []byte) (rest []byte, err error) {
	head, buffer, err := histogram.ReadHead(buffer)
	if err != nil {
		return nil, err
	}
	w.sorted = false
	if !head.Chunks {
		return w.addListed(buffer, head)
	}
	w.chunks = w.chunks[:0]
	var chunk histogram.Chunk
	for left := head.Bins; left > 0; {
		if chunk, buffer, err = histogram.ReadChunk(buffer, chunk); err != nil {
			return nil, err
		}
		if left -= bits.OnesCount64(chunk.Mask); left < 0 {
			return nil, histogram.ErrEncoding
		}
		block := w.blockOf(chunk.Number)
		w.blocks[block].Mask |= chunk.Mask
		w.chunks = append(w.chunks, placed{block * histogram.ChunkBins, chunk.Mask})
	}
	if w.width == 8 && len(buffer) >= head.Bins && allPlain(buffer[:head.Bins]) {
		counts, stride := buffer[:head.Bins], w.stride
		for _, chunk := range w.chunks {
			cells := w.narrow[chunk.column*stride+w.n:]
			for mask := chunk.mask; mask != 0 && len(counts) > 0; mask &= mask - 1 {
				cells[bits.TrailingZeros64(mask)*stride] = counts[0]
				counts = counts[1:]
			}
		}
		return w.ended(buffer[head.Bins:], head)
	}
	for _, chunk := range w.chunks {
		for mask := chunk.mask; mask != 0; mask &= mask - 1 {
			if buffer, err = w.setEncoded(chunk.column+bits.TrailingZeros64(mask), buffer); err != nil {
				return nil, err
			}
		}
	}
	return w.ended(buffer, head)
}

// ended ends the record whose counts are read; its columns are those of w.chunks, or w.row.
func (w *HistogramWriter) ended(buffer []byte, head histogram.Head) (rest []byte, err error) {
	if !head.Summed {
		w.noted(histogram.Offset{}, false)
		return buffer, nil
	}
	var first, last int
	if head.Chunks {
		one, other := w.chunks[0], w.chunks[len(w.chunks)-1]
		first, last = one.column+bits.TrailingZeros64(one.mask), other.column+63-bits.LeadingZeros64(other.mask)
	} else {
		first, last = int(w.row[0]), int(w.row[len(w.row)-1])
	}
	e, rest, err := histogram.ReadExcess(buffer, w.binOf(uint16(first)), w.binOf(uint16(last)))
	if err != nil {
		return nil, err
	}
	w.noted(e, true)
	return rest, nil
}

// addListed is AddEncoded for bins that are given one by one.
func (w *HistogramWriter) addListed(buffer []byte, head histogram.Head) (rest []byte, err error) {
	w.row = w.row[:0]
	bin := int64(0)
	for i := range head.Bins {
		var size int
		if i == 0 {
			bin, size = binary.Varint(buffer)
		} else {
			var step uint64
			step, size = binary.Uvarint(buffer)
			if step == 0 || step > 2*uint64(histogram.MaxBin) {
				return nil, histogram.ErrEncoding
			}
			bin += int64(step)
		}
		if size <= 0 || bin < -int64(histogram.MaxBin) || bin > int64(histogram.MaxBin) {
			return nil, histogram.ErrEncoding
		}
		w.row, buffer = append(w.row, uint16(w.column(histogram.Bin(bin)))), buffer[size:]
	}
	for _, column := range w.row {
		if buffer, err = w.setEncoded(int(column), buffer); err != nil {
			return nil, err
		}
	}
	return w.ended(buffer, head)
}

// setEncoded is set for the count at the front of buffer, and returns what follows it.
func (w *HistogramWriter) setEncoded(column int, buffer []byte) (rest []byte, err error) {
	count, size := binary.Uvarint(buffer)
	if size <= 0 || count == 0 {
		return nil, histogram.ErrEncoding
	}
	w.set(column, count)
	return buffer[size:], nil
}

// allPlain says whether each byte is a number from 1 to 127.
func allPlain(buffer []byte) bool {
	not := uint64(0)
	for ; len(buffer) >= 8; buffer = buffer[8:] {
		word := binary.LittleEndian.Uint64(buffer)
		// What a borrow does to the byte above is seen in this one, too: it was zero.
		not |= word | (word - ones)
	}
	for _, b := range buffer {
		not |= uint64(b) | (uint64(b) - 1)
	}
	return not&tops == 0
}

// filled is the columns that hold something, in the order of their bins.
func (w *HistogramWriter) filled() []uint16 {
	if w.sorted {
		return w.order
	}
	w.order, w.sorted = w.order[:0], true
	for _, block := range w.block {
		if block == 0 {
			continue
		}
		for mask := w.blocks[block-1].Mask; mask != 0; mask &= mask - 1 {
			w.order = append(w.order, (block-1)*histogram.ChunkBins+uint16(bits.TrailingZeros64(mask)))
		}
	}
	return w.order
}

// Sum is the sum of the records from (in it) to to (not in it), valid until the next call.
func (w *HistogramWriter) Sum(from, to int) *histogram.Histogram {
	w.sum.Reset()
	for _, k := range w.filled() {
		sum := uint64(0)
		start := int(k) * w.stride
		switch w.width {
		case 8:
			sum = sumNarrow(w.narrow[start+from : start+to])
		case 16:
			var a, b uint64
			column := w.cells[start+from : start+to]
			for len(column) >= 4 {
				a, b = a+uint64(column[0])+uint64(column[1]), b+uint64(column[2])+uint64(column[3])
				column = column[4:]
			}
			for _, c := range column {
				a += uint64(c)
			}
			sum = a + b
		default:
			for _, c := range w.wide[start+from : start+to] {
				if sum += c; sum < c {
					sum = 1<<64 - 1
					break
				}
			}
		}
		if sum > 0 {
			w.sum.Bins, w.sum.Counts = append(w.sum.Bins, w.binOf(k)), append(w.sum.Counts, sum)
		}
	}
	w.addOffset(from, to)
	return &w.sum
}

// Append appends the run of what was added to dst, which ends it. times, in ms, ascend strictly and are as many as the records.
func (w *HistogramWriter) Append(dst []byte, times []int64) []byte {
	n := len(times)
	dst = binary.AppendUvarint(dst, uint64(n))
	if n == 0 {
		return dst
	}
	w.times.room(n)
	form := len(dst)
	dst = append(dst, 0)
	dst, timesForm := appendTimes(dst, times, &w.times)
	dst[form] = histogramLayout | timesForm
	order := w.filled()
	if len(w.known) > 0 {
		dst[form] |= summedLayout
		dst = w.appendOffsets(dst)
	}
	bins := make([]histogram.Bin, len(order))
	for i, k := range order {
		bins[i] = w.binOf(k)
	}
	dst = appendBins(dst, bins)
	if len(order) == 0 {
		return dst
	}
	indexed := n > indexedRecords
	body := dst
	if indexed {
		body = w.body[:0]
	}
	w.ends = w.ends[:0]
	for _, k := range order {
		for from := 0; from < n; from += maxGroup {
			at, size := int(k)*w.stride+from, min(maxGroup, n-from)
			group := w.group[:size]
			switch w.width {
			case 8:
				body = w.appendNarrow(body, w.narrow[at:at+(size+7)&^7], size)
			case 16:
				s := tallyOf(w.cells[at:at+size], group)
				body = w.appendGroup(body, group, &s)
			default:
				copy(group, w.wide[at:])
				s := tallyWide(group)
				body = w.appendGroup(body, group, &s)
			}
		}
		w.ends = append(w.ends, len(body))
	}
	if !indexed {
		return body
	}
	w.body = body
	last := 0
	for _, end := range w.ends {
		dst = binary.AppendUvarint(dst, uint64(end-last))
		last = end
	}
	return append(dst, body...)
}

var histogramWriters = sync.Pool{New: func() any { return &HistogramWriter{} }}

// AppendHistograms appends a run to dst. times, in ms, ascend strictly and are as many as hists; at most MaxRun.
func AppendHistograms(dst []byte, times []int64, hists []histogram.Histogram) []byte {
	w := histogramWriters.Get().(*HistogramWriter)
	defer histogramWriters.Put(w)
	w.Begin(len(times))
	for i := range hists {
		w.Add(&hists[i])
	}
	return w.Append(dst, times)
}
