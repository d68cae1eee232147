package column

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
	place []uint16        // by bin + MaxBin: the number of its column plus one, 0 without one
	bins  []histogram.Bin // of the columns, in the order in which they came
	n     int             // records so far
	// How many cells a column has: the records of a run, and up to seven more, which stay zero.
	stride int
	width  uint8    // the bits of a cell, 8, 16 or 64; the columns are in
	narrow []byte   // this,
	cells  []uint16 // this
	wide   []uint64 // or this, stride cells each
	row    []uint16 // columns of the bins of the record being added
	order  []uint16 // columns in the order of their bins
	group  [maxGroup]uint64
	about  [maxGroup]uint64
	places [maxGroup]uint16 // of the numbers of a group that are not zero
	values [maxGroup]uint64 // these
	near   [maxGroup]byte   // narrow counts about their mean
	body   []byte
	ends   []int
	times  scratch
	sum    histogram.Histogram
}

// keptCells is the most cells whose memory is kept from run to run: one huge run must not be paid for, for ever.
const keptCells = 1 << 21

// Begin begins a run of so many records, at most MaxRun.
func (w *HistogramWriter) Begin(records int) {
	if w.place == nil {
		w.place = make([]uint16, 2*int(histogram.MaxBin)+1)
	}
	for _, bin := range w.bins {
		w.place[int(bin)+int(histogram.MaxBin)] = 0
	}
	if cap(w.narrow) > keptCells {
		w.narrow = nil
	}
	if cap(w.cells) > keptCells {
		w.cells = nil
	}
	w.stride, w.width, w.n = (records+7)&^7, 8, 0
	if usual := 512 * w.stride; cap(w.narrow) < usual && usual <= keptCells {
		w.narrow = make([]byte, 0, usual)
	}
	w.bins, w.narrow, w.cells, w.wide, w.order = w.bins[:0], w.narrow[:0], w.cells[:0], nil, w.order[:0]
}

// column makes the column of a bin that has none, by its place, and returns its number plus one.
func (w *HistogramWriter) column(place uint) uint16 {
	w.bins = append(w.bins, histogram.Bin(int(place)-int(histogram.MaxBin)))
	switch w.width {
	case 8:
		w.narrow = grown(w.narrow, w.stride)
	case 16:
		w.cells = grown(w.cells, w.stride)
	default:
		w.wide = grown(w.wide, w.stride)
	}
	w.place[place] = uint16(len(w.bins))
	return uint16(len(w.bins))
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
	at := w.n - w.stride
	for i, bin := range h.Bins {
		place := uint(int(bin) + int(histogram.MaxBin))
		column := int(w.place[place])
		if column == 0 {
			column = int(w.column(place))
		}
		switch count := h.Counts[i]; {
		case count < 1<<8 && w.width == 8:
			w.narrow[column*w.stride+at] = byte(count)
		case count < 1<<16 && w.width == 16:
			w.cells[column*w.stride+at] = uint16(count)
		default:
			w.set(column, count)
		}
	}
	w.n++
}

// set puts a count of the present record into a column, by its number plus one.
func (w *HistogramWriter) set(column int, count uint64) {
	at := (column-1)*w.stride + w.n
	if count >= 1<<16 {
		w.widen(64)
	} else if count >= 1<<8 {
		w.widen(16)
	}
	switch w.width {
	case 8:
		w.narrow[at] = byte(count)
	case 16:
		w.cells[at] = uint16(count)
	default:
		w.wide[at] = count
	}
}

// AddEncoded adds the record that stands at the front of buffer as package histogram encodes it, and returns what
// follows it. On an error the run is of no use.
func (w *HistogramWriter) AddEncoded(buffer []byte) (rest []byte, err error) {
	const most = uint64(2*int(histogram.MaxBin) + 1)
	n, size := binary.Uvarint(buffer)
	if size <= 0 || n > most || n > uint64(len(buffer)) {
		return nil, histogram.ErrEncoding
	}
	buffer = buffer[size:]
	if uint64(cap(w.row)) < n {
		w.row = make([]uint16, n+n/4)
	}
	row, place := w.row[:n], w.place
	if n == 0 {
		w.n++
		return buffer, nil
	}
	first, size := binary.Varint(buffer)
	if size <= 0 || first < -int64(histogram.MaxBin) || first > int64(histogram.MaxBin) {
		return nil, histogram.ErrEncoding
	}
	buffer = buffer[size:]
	bin := uint(first + int64(histogram.MaxBin)) // its place
	if row[0] = place[bin]; row[0] == 0 {
		row[0] = w.column(bin)
	}
	for left := row[1:]; len(left) > 0; {
		// Nearly always eight steps are eight bytes.
		if len(left) >= 8 && len(buffer) >= 8 {
			if word := binary.LittleEndian.Uint64(buffer); plain(word) {
				eight := (*[8]uint16)(left)
				for i := range eight {
					bin += uint(word & 0x7f)
					word >>= 8
					if bin >= uint(len(place)) {
						return nil, histogram.ErrEncoding
					}
					column := place[bin]
					if column == 0 {
						column = w.column(bin)
					}
					eight[i] = column
				}
				left, buffer = left[8:], buffer[8:]
				continue
			}
		}
		step, size := binary.Uvarint(buffer)
		if size <= 0 || step == 0 || step >= most {
			return nil, histogram.ErrEncoding
		}
		if bin += uint(step); bin >= uint(len(place)) {
			return nil, histogram.ErrEncoding
		}
		if left[0] = place[bin]; left[0] == 0 {
			left[0] = w.column(bin)
		}
		left, buffer = left[1:], buffer[size:]
	}
	stride, at := w.stride, w.n-w.stride
	for len(row) > 0 {
		if len(row) >= 8 && len(buffer) >= 8 {
			if word := binary.LittleEndian.Uint64(buffer); plain(word) {
				switch columns := (*[8]uint16)(row); w.width {
				case 8:
					cells := w.narrow
					for _, column := range columns {
						cells[int(column)*stride+at] = byte(word)
						word >>= 8
					}
				case 16:
					cells := w.cells
					for _, column := range columns {
						cells[int(column)*stride+at] = uint16(word & 0x7f)
						word >>= 8
					}
				default:
					cells := w.wide
					for _, column := range columns {
						cells[int(column)*stride+at] = word & 0x7f
						word >>= 8
					}
				}
				row, buffer = row[8:], buffer[8:]
				continue
			}
		}
		count, size := binary.Uvarint(buffer)
		if size <= 0 || count == 0 {
			return nil, histogram.ErrEncoding
		}
		w.set(int(row[0]), count)
		row, buffer = row[1:], buffer[size:]
	}
	w.n++
	return buffer, nil
}

// plain says whether each of eight bytes is a number from 1 to 127 in one byte.
func plain(word uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (word|(word-ones))&tops == 0
}

// sorted is the columns' numbers in the order of their bins.
func (w *HistogramWriter) sorted() []uint16 {
	if len(w.order) == len(w.bins) {
		return w.order
	}
	w.order = w.order[:0]
	low, high := histogram.MaxBin, -histogram.MaxBin
	for _, bin := range w.bins {
		low, high = min(low, bin), max(high, bin)
	}
	if span := int(high) - int(low); span < 8*len(w.bins) {
		for _, column := range w.place[int(low)+int(histogram.MaxBin) : int(high)+int(histogram.MaxBin)+1] {
			if column > 0 {
				w.order = append(w.order, column-1)
			}
		}
		return w.order
	}
	for i := range w.bins {
		w.order = append(w.order, uint16(i))
	}
	slices.SortFunc(w.order, func(a, b uint16) int { return int(w.bins[a]) - int(w.bins[b]) })
	return w.order
}

// Sum is the sum of the records from (in it) to to (not in it), valid until the next call.
func (w *HistogramWriter) Sum(from, to int) *histogram.Histogram {
	w.sum.Reset()
	for _, k := range w.sorted() {
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
			w.sum.Bins, w.sum.Counts = append(w.sum.Bins, w.bins[k]), append(w.sum.Counts, sum)
		}
	}
	return &w.sum
}

// Append appends the run of what was added to dst. times, in ms, ascend strictly and are as many as the records.
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
	order := w.sorted()
	bins := make([]histogram.Bin, len(order))
	for i, k := range order {
		bins[i] = w.bins[k]
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

// tally is a summary that says more.
type tally struct {
	sum, squares uint64 // only when no number has more than 16 bits
	most         uint64
	used         uint64 // numbers that are not zero
}

// tallyOf fills group with a column's numbers.
func tallyOf(column []uint16, group []uint64) tally {
	var sum, squares, most, used uint64
	group = group[:len(column)]
	for len(column) >= 4 {
		c, g := (*[4]uint16)(column), (*[4]uint64)(group)
		v0, v1, v2, v3 := uint64(c[0]), uint64(c[1]), uint64(c[2]), uint64(c[3])
		g[0], g[1], g[2], g[3] = v0, v1, v2, v3
		sum += (v0 + v1) + (v2 + v3)
		squares += (v0*v0 + v1*v1) + (v2*v2 + v3*v3)
		most = max(most, max(max(v0, v1), max(v2, v3))) // not one after the other
		used += (-v0>>63 + -v1>>63) + (-v2>>63 + -v3>>63)
		column, group = column[4:], group[4:]
	}
	for i, c := range column {
		v := uint64(c)
		group[i] = v
		sum += v
		squares += v * v
		most = max(most, v)
		used += -v >> 63
	}
	return tally{sum, squares, most, used}
}

func tallyWide(group []uint64) (s tally) {
	for _, v := range group {
		s.sum += v
		s.most = max(s.most, v)
		s.used += -v>>63 | v>>63
	}
	if s.most < 1<<16 {
		for _, v := range group {
			s.squares += v * v
		}
	}
	return s
}

// appendGroup writes a group of counts. Most are distributed as chance makes them, which their sum and the sum of their
// squares tell: for these the code is chosen without trying others. What is not goes to appendCounts, which weighs.
func (w *HistogramWriter) appendGroup(dst []byte, group []uint64, s *tally) []byte {
	n := uint64(len(group))
	switch {
	case s.most == 0:
		return append(dst, modeFixed<<6)
	case s.most >= 1<<16 || n < 2:
	case 4*s.used < n:
		if s.most < 1<<10 {
			// Without a branch that nobody can foresee.
			k := uint(0)
			for i, v := range group {
				w.places[k%maxGroup], w.values[k%maxGroup] = uint16(i), v
				k += uint(-v >> 63)
			}
			if sparse, ok := w.appendSparse(dst, len(group), s); ok {
				return sparse
			}
			return appendFixed(dst, group, s.most)
		}
	case s.sum < aboutFrom*n:
		if usual(n, s.sum, s.squares) {
			if code, c, _ := suggest(float64(s.sum)/float64(n), counted); code > 0 && (s.most < c.numbers || n >= 64) {
				return c.append(append(dst, byte(modeCode<<6|code)), group, s.most, 0)
			}
		}
	case 2*s.used > n:
		mean := (s.sum + n/2) / n
		about := w.about[:n]
		sum, most := uint64(0), uint64(0)
		for i, c := range group {
			v := zigzag(int64(c) - int64(mean))
			about[i] = v
			sum += v
			most = max(most, v)
		}
		if sum >= s.sum {
			break
		}
		if n >= 64 && !normal(n, sum, s.sum, s.squares) {
			break
		}
		if code, c, k := suggest(float64(sum)/float64(n), zigzags); code > 0 && (most>>k < c.numbers || n >= 64) {
			dst = binary.AppendUvarint(append(dst, byte(modeCode<<6|code)), mean)
			return c.append(dst, about, most, k)
		}
	}
	return appendCounts(dst, group, w.about[:])
}

// usual says whether the variance of n numbers is about their mean, as Poisson's law has it. Few numbers say little
// about that; with them it must only not be much greater.
func usual(n, sum, squares uint64) bool {
	variance, mean := n*squares-sum*sum, n*sum // times n·n both
	if n < 64 {
		return variance < 3*mean
	}
	return 5*variance > 3*mean && 5*variance < 9*mean
}

// normal says whether n numbers are about normal, by the sum of their zigzag deviations from their mean, their own, and the
// sum of their squares.
func normal(n, zigzags, sum, squares uint64) bool {
	// The square of normal numbers' mean deviation is 0.64 of the mean square. The former is half of a zigzag number
	// and a quarter; the sums are of n deviations, and n times that of their squares.
	deviations := (float64(zigzags) + float64(n)/2) / 2
	share := deviations * deviations / float64(n*squares-sum*sum)
	return share > 0.52 && share < 0.78
}

// appendFixed writes a group in mode fixed.
func appendFixed(dst []byte, group []uint64, most uint64) []byte {
	head := byte(modeFixed<<6 | bits.Len64(most))
	return appendBody(append(dst, head), group, plan{head: head})
}

// appendSparse writes a group of n numbers most of which are zero, in mode sparse; the others are in places and values. It
// writes nothing, and says so, when all the numbers as they are, are shorter.
func (w *HistogramWriter) appendSparse(dst []byte, n int, s *tally) ([]byte, bool) {
	used := s.used
	zeros := uint64(n) - used
	gap, value := uint(0), uint(0)
	for gap < 7 && zeros>>(gap+1) >= used {
		gap++
	}
	less := s.sum - used
	for value < 7 && less>>sparseValues[value+1] >= used {
		value++
	}
	start, width := len(dst), uint(bits.Len64(s.most))
	dst = append(dst, byte(modeSparse<<6|gap|value<<3))
	dst = binary.AppendUvarint(dst, used)
	out := bitWriter{bytes: dst}
	next, low := uint64(0), sparseValues[value]
	gapMask, lowMask := uint64(1)<<gap-1, uint64(1)<<low-1
	values := w.values[:used]
	for i, at := range w.places[:used] {
		zeros, v := uint64(at)-next, values[i]-1
		next = uint64(at) + 1
		q, p := zeros>>gap, v>>low
		if q >= escape || p >= escape || q+p > 24 {
			writeRice(&out, zeros, gap)
			writeRice(&out, v, low)
			continue
		}
		first := uint(q) + 1 + gap
		both := (1<<q | (zeros&gapMask)<<(q+1)) | (1<<p|(v&lowMask)<<(p+1))<<first
		out.write(both, first+uint(p)+1+low)
	}
	dst = out.finish()
	if bytes := (int(width)*n + 7) / 8; len(dst)-start > bytes+1 {
		return dst[:start], false
	}
	return dst, true
}

// append writes values, of which most is the greatest. Now and then one of hundreds needs the escape; whether another code
// would be shorter for that is not worth weighing.
func (c *code) append(dst []byte, values []uint64, most uint64, k uint) []byte {
	if most>>k < c.numbers {
		return c.appendFast(dst, values, k)
	}
	return c.appendSlow(dst, values, k)
}

// appendSlow is append for values some of which may need the escape.
func (c *code) appendSlow(dst []byte, values []uint64, k uint) []byte {
	out := bitWriter{bytes: dst}
	c.write(&out, values, k)
	return out.finish()
}

// appendFast writes values none of which needs the escape: first the k low bits of each, then the words.
func (c *code) appendFast(dst []byte, values []uint64, k uint) []byte {
	at := len(dst)
	// Words of codeBits at most, and eight bytes that the last step may touch.
	dst = slices.Grow(dst, (len(values)*int(codeBits+k)+7)/8+16)
	buffer := dst[:cap(dst)]
	word, used := uint64(0), uint(0)
	if k > 0 {
		mask := uint64(1)<<k - 1
		i := 0
		for ; i+4 <= len(values); i += 4 { // at most 40 bits, and 7 that are left
			v := (*[4]uint64)(values[i:])
			four := v[0]&mask | (v[1]&mask)<<(k&63) | (v[2]&mask)<<(2*k&63) | (v[3]&mask)<<(3*k&63)
			word |= four << (used & 63)
			used += 4 * k
			binary.LittleEndian.PutUint64(buffer[at:], word)
			at += int(used / 8)
			word >>= used &^ 7 & 63
			used &= 7
		}
		for ; i < len(values); i++ {
			word |= (values[i] & mask) << (used & 63)
			used += k
			binary.LittleEndian.PutUint64(buffer[at:], word)
			at += int(used / 8)
			word >>= used &^ 7 & 63
			used &= 7
		}
	}
	words := &c.fast
	i := 0
	for ; i+4 <= len(values); i += 4 {
		v := (*[4]uint64)(values[i:])
		for _, one := range v {
			w := words[one>>(k&63)&31]
			word |= uint64(w&0xfff) << (used & 63)
			used += uint(w >> 12)
		}
		binary.LittleEndian.PutUint64(buffer[at:], word)
		at += int(used / 8)
		word >>= used &^ 7 & 63
		used &= 7
	}
	for ; i < len(values); i++ {
		w := words[values[i]>>(k&63)&31]
		word |= uint64(w&0xfff) << (used & 63)
		used += uint(w >> 12)
		binary.LittleEndian.PutUint64(buffer[at:], word)
		at += int(used / 8)
		word >>= used &^ 7 & 63
		used &= 7
	}
	if used > 0 {
		buffer[at] = byte(word)
		at++
	}
	return buffer[:at]
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
