package encoding

// Histograms over times, by bin: what each bin counted over the run is a column, so that like stands next to like and
// the sum over many records is a sum over columns.
//
// A run: uvarint number of records n; as far as n > 0: byte 16 + form of the times (numbers.go), and 32 when the sum of any is
// known; the times; what offsets.go says, if so; the bins:
// uvarint how many stretches of neighbouring bins, for each: varint its first bin, of those behind the first stretch
// uvarint how many bins are left out before it, and uvarint its length less one; when n > 128, for each bin, ascending,
// uvarint how many bytes its column has; then the columns.
//
// A column: groups (group.go) of up to 512 of the bin's counts. In those whose code is for normal numbers or halves, and
// those of Rice whose w is 28 or more, which stands for w-28, a uvarint mean follows the first byte, and the numbers are
// zigzag of each count minus the mean. A record's bins are those whose count is not zero.

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"cistern/services/histogram"
)

const (
	histogramLayout = 1 << 4
	riceAbout       = 28
	indexedRecords  = 128 // where reading a part of the records is worth the columns' lengths
	// From this mean on counts are stored about it.
	aboutFrom = 8
	// The most cells, records × bins, that are decoded at once: 128 MB.
	maxCells = 1 << 24
)

// appendCounts writes a group of counts, as they are or about their mean.
func appendCounts(dst []byte, counts []uint64, centred []uint64) []byte {
	s := summarise(counts)
	n := uint64(len(counts))
	if mean := (s.sum + n/2) / n; s.or < 1<<46 && s.sum >= aboutFrom*n && 2*s.zeros < len(counts) {
		centred = centred[:n]
		var about summary
		for i, c := range counts {
			v := zigzag(int64(c) - int64(mean))
			centred[i] = v
			about.sum += v
			about.or |= v
		}
		about.zeros = 0 // sparse is not for these
		if about.sum < s.sum {
			p := planGroup(centred, about, zigzags)
			mode, w := uint(p.head>>6), uint(p.head&63)
			if mode == modeRice && w < riceAbout {
				p.head += riceAbout
				dst = binary.AppendUvarint(append(dst, p.head), mean)
				p.head -= riceAbout
				return appendBody(dst, centred, p)
			}
			if mode == modeCode && w >= firstNormal {
				return appendBody(binary.AppendUvarint(append(dst, p.head), mean), centred, p)
			}
		}
	}
	p := planGroup(counts, s, counted)
	return appendBody(append(dst, p.head), counts, p)
}

func appendBins(dst []byte, bins []histogram.Bin) []byte {
	stretches := 0
	for i, bin := range bins {
		if i == 0 || bins[i-1] != bin-1 {
			stretches++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(stretches))
	for from := 0; from < len(bins); {
		to := from + 1
		for to < len(bins) && bins[to] == bins[to-1]+1 {
			to++
		}
		if from == 0 {
			dst = binary.AppendVarint(dst, int64(bins[0]))
		} else {
			dst = binary.AppendUvarint(dst, uint64(int(bins[from])-int(bins[from-1])-1))
		}
		dst = binary.AppendUvarint(dst, uint64(to-from-1))
		from = to
	}
	return dst
}

// readBins reads what appendBins wrote; every bin has a byte of column to follow, at least, which limits them.
func readBins(src []byte, bins []histogram.Bin) (into []histogram.Bin, rest []byte, err error) {
	stretches, size := binary.Uvarint(src)
	if size <= 0 || stretches > uint64(len(src)) {
		return bins, nil, ErrDamaged
	}
	src = src[size:]
	const limit = 2*uint64(histogram.MaxBin) + 1
	next := int64(0)
	for i := range stretches {
		var size int
		if i == 0 {
			next, size = binary.Varint(src)
		} else {
			var gap uint64
			if gap, size = binary.Uvarint(src); gap == 0 || gap > limit {
				return bins, nil, ErrDamaged
			}
			next += int64(gap)
		}
		if size <= 0 || next < -int64(histogram.MaxBin) {
			return bins, nil, ErrDamaged
		}
		src = src[size:]
		more, size := binary.Uvarint(src)
		if size <= 0 || more > limit || next > int64(histogram.MaxBin)-int64(more) || uint64(len(bins))+more >= uint64(len(src)) {
			return bins, nil, ErrDamaged
		}
		src = src[size:]
		for range more + 1 {
			bins = append(bins, histogram.Bin(next))
			next++
		}
	}
	return bins, src, nil
}

// HistogramRun reads a run. The zero value is ready; it keeps its memory from one run to the next.
type HistogramRun struct {
	times     []int64
	bins      []histogram.Bin
	ends      []uint32 // where each column ends, when indexed
	columns   []byte
	column    []uint64
	stretches []stretch
	scratch   scratch
	numbers   [maxGroup + room]byte // of words, in sums.go
	sums      []uint64              // of a column's stretches
	targets   []target              // of each stretch
	short     bool                  // the stretches are
	offsets   runOffsets
}

// stretch is records that follow on one another and go into the same window.
type stretch struct{ from, to, window int }

// Open reads a run's times and bins. src must not change while the run is used.
func (r *HistogramRun) Open(src []byte) error {
	err := r.open(src)
	if err != nil {
		r.times, r.bins, r.ends, r.columns = r.times[:0], r.bins[:0], r.ends[:0], nil
	}
	return err
}

func (r *HistogramRun) open(src []byte) error {
	r.times, r.bins, r.ends, r.columns, r.offsets.known = r.times[:0], r.bins[:0], r.ends[:0], nil, false
	n, size := binary.Uvarint(src)
	if size <= 0 || n > MaxRun {
		return ErrDamaged
	}
	src = src[size:]
	if n == 0 {
		if len(src) != 0 {
			return ErrDamaged
		}
		return nil
	}
	if len(src) == 0 || src[0]&^(3|summedLayout) != histogramLayout {
		return ErrDamaged
	}
	var err error
	hasSums := src[0]&summedLayout != 0
	r.scratch.room(int(n))
	var first, interval int64
	if first, interval, r.times, src, err = readTimes(src[1:], int(n), src[0]&3, 0, r.scratch.residuals, r.times); err != nil {
		return err
	}
	if len(r.times) == 0 {
		r.times = AppendRegular(r.times, first, interval, int(n))
	}
	if hasSums {
		if src, err = r.offsets.open(src); err != nil {
			return err
		}
	}
	if r.bins, src, err = readBins(src, r.bins); err != nil {
		return err
	}
	if n > indexedRecords {
		end := uint64(0)
		for range r.bins {
			length, size := binary.Uvarint(src)
			if size <= 0 || length > uint64(len(src)) {
				return ErrDamaged
			}
			end, src = end+length, src[size:]
			r.ends = append(r.ends, uint32(end))
		}
		if end != uint64(len(src)) || end > 1<<32-1 {
			return ErrDamaged
		}
	}
	if r.columns = src; len(r.bins) == 0 && len(src) > 0 {
		return ErrDamaged
	}
	if cap(r.column) <= int(n) {
		r.column = make([]uint64, n+1)
	}
	return nil
}

// Len is the number of records.
func (r *HistogramRun) Len() int { return len(r.times) }

// Times is the records' times, valid until the next Open.
func (r *HistogramRun) Times() []int64 { return r.times }

// Bins is the bins that any record has.
func (r *HistogramRun) Bins() []histogram.Bin { return r.bins }

// next decodes column k, which src begins with, into values: all of it or its first records. It returns the columns
// behind it, and all bits that any of the counts has, perhaps more.
func (r *HistogramRun) next(k int, src []byte, values []uint64) (rest []byte, or uint64, err error) {
	if len(r.ends) > 0 {
		start := uint32(0)
		if k > 0 {
			start = r.ends[k-1]
		}
		length := r.ends[k] - start
		rest, src = src[length:], src[:length]
	}
	left := len(r.times)
	for len(values) > 0 {
		size := min(maxGroup, left)
		group := values[:min(size, len(values))]
		head, mean, about, body, err := groupHead(src)
		if err != nil {
			return nil, 0, err
		}
		var most uint64
		if src, most, err = readBody(body, head, group, size); err != nil {
			return nil, 0, err
		}
		if about {
			if most, err = addMean(group, mean); err != nil {
				return nil, 0, err
			}
		}
		or |= most
		values, left = values[len(group):], left-size
	}
	if len(r.ends) == 0 {
		return src, or, nil
	}
	if left == 0 && len(src) > 0 {
		return nil, 0, ErrDamaged
	}
	return rest, or, nil
}

// groupHead reads what is before a group of counts: how it is written, and the mean that its numbers are about, if so.
func groupHead(src []byte) (head byte, mean uint64, about bool, body []byte, err error) {
	if len(src) == 0 {
		return 0, 0, false, nil, ErrDamaged
	}
	head, src = src[0], src[1:]
	mode, w := head>>6, head&63
	if about = mode == modeRice && w >= riceAbout || mode == modeCode && w >= firstNormal; !about {
		return head, 0, false, src, nil
	}
	if mode == modeRice {
		head -= riceAbout
	}
	mean, length := binary.Uvarint(src)
	if length <= 0 || mean >= 1<<46 {
		return 0, 0, false, nil, ErrDamaged
	}
	return head, mean, true, src[length:], nil
}

// addMean makes counts of zigzag numbers about a mean, and returns all bits that any of them has.
func addMean(group []uint64, mean uint64) (all uint64, err error) {
	for i, v := range group {
		c := (v>>1 ^ -(v & 1)) + mean
		group[i] = c
		all |= c
	}
	if all >= 1<<63 { // below zero
		return 0, ErrDamaged
	}
	return all, nil
}

// Decode appends all records to dst, each with the bins it has; they share their memory.
func (r *HistogramRun) Decode(dst []histogram.Histogram) ([]histogram.Histogram, error) {
	n := len(r.times)
	if n == 0 {
		return dst, nil
	}
	if len(r.bins)*n > maxCells {
		return dst, ErrDamaged
	}
	cells := r.scratch.table(len(r.bins) * n)
	if cap(r.scratch.places) < n {
		r.scratch.places = make([]int32, n)
	}
	used := r.scratch.places[:n] // how many bins each record has
	clear(used)
	src := r.columns
	var err error
	known := r.offsets.known
	if known {
		if err := r.offsets.read(n, r.bins); err != nil {
			return dst, err
		}
	}
	for k := range r.bins {
		column := cells[k*n : k*n+n]
		if src, _, err = r.next(k, src, column); err != nil {
			return dst, err
		}
		for i, c := range column {
			if c != 0 {
				used[i]++
			}
		}
		if known {
			for i, c := range column {
				r.offsets.numbers[i] -= r.offsets.halves[k] * float64(c)
			}
		}
	}
	if len(src) != 0 {
		return dst, ErrDamaged
	}
	total := 0
	for i, n := range used {
		used[i] = int32(total)
		total += int(n)
	}
	bins, counts := make([]histogram.Bin, total), make([]uint64, total)
	for k, bin := range r.bins {
		for i, c := range cells[k*n : k*n+n] {
			if c != 0 {
				at := used[i]
				bins[at], counts[at] = bin, c
				used[i] = at + 1
			}
		}
	}
	start := int32(0)
	dst = slices.Grow(dst, n)
	for i, end := range used {
		one := histogram.Histogram{Bins: bins[start:end:end], Counts: counts[start:end:end]}
		if known {
			one.Offset = histogram.OffsetOf(r.offsets.numbers[i], r.offsets.unit)
		}
		dst = append(dst, one)
		start = end
	}
	return dst, nil
}

// AddRange adds the records from (in it) to to (not in it) to into. On an error into has some of them.
func (r *HistogramRun) AddRange(from, to int, into *histogram.Dense) error {
	if from < 0 || to > len(r.times) || from >= to {
		return nil
	}
	r.stretches = append(r.stretches[:0], stretch{from, to, 0})
	windows := [1]*histogram.Dense{into}
	return r.add(windows[:])
}

// AddWindows adds each record to the histogram that window names for it, by its place in into, or to none when that is
// -1. A nil in into is made when something is added to it. On an error some of the records are added.
func (r *HistogramRun) AddWindows(window []int, into []*histogram.Dense) error {
	if r.stretch(window); len(r.stretches) == 0 {
		return nil
	}
	return r.add(into)
}

// stretch makes stretches of the windows. Records of one window mostly stand together: stretches are summed, not records.
func (r *HistogramRun) stretch(window []int) {
	r.stretches = r.stretches[:0]
	for i, w := range window[:min(len(window), len(r.times))] {
		if w < 0 {
			continue
		}
		if k := len(r.stretches) - 1; k >= 0 && r.stretches[k].window == w && r.stretches[k].to == i {
			r.stretches[k].to++
			continue
		}
		r.stretches = append(r.stretches, stretch{i, i + 1, w})
	}
}

// add adds r.stretches, of each column decoding as much as they need.
func (r *HistogramRun) add(into []*histogram.Dense) error {
	if r.offsets.known {
		if err := r.offsets.read(len(r.times), r.bins); err != nil {
			return err
		}
		r.offsets.middles = append(r.offsets.middles[:0], make([]float64, len(r.stretches))...)
		if err := r.addCounts(into); err != nil {
			return err
		}
		r.offsets.stretched(r.stretches, into)
		return nil
	}
	return r.addCounts(into)
}

func (r *HistogramRun) addCounts(into []*histogram.Dense) error {
	if len(r.times) <= maxGroup {
		return r.addSums(into)
	}
	column, src := r.column[:r.stretches[len(r.stretches)-1].to], r.columns // it has ends
	for k := range r.bins {
		var or uint64
		var err error
		if src, or, err = r.next(k, src, column); err != nil {
			return err
		}
		r.addColumn(k, column, or, into)
	}
	return nil
}

// addColumn adds the counts of r.stretches, out of column k. or has all bits that any of them has.
func (r *HistogramRun) addColumn(k int, column []uint64, or uint64, into []*histogram.Dense) {
	bin := r.bins[k]
	for i, s := range r.stretches {
		sum := column[s.from]
		switch {
		case s.to == s.from+1: // an hour's sum, mostly
		case bits.Len64(or) <= 46: // MaxRun of these do not overflow
			sum = total(column[s.from:s.to])
		default:
			sum = 0
			for _, c := range column[s.from:s.to] {
				if sum += c; sum < c {
					sum = 1<<64 - 1
					break
				}
			}
		}
		if r.offsets.known {
			r.offsets.middles[i] += r.offsets.halves[k] * float64(sum)
		}
		if sum > 0 {
			if into[s.window] == nil {
				into[s.window] = &histogram.Dense{}
				// All at once, unless they are spread so wide that the window may have few of them.
				if last := r.bins[len(r.bins)-1]; int(last)-int(bin) < 4*len(r.bins) {
					into[s.window].Reserve(bin, last)
				}
			}
			into[s.window].Add(bin, sum)
		}
	}
}

func total(counts []uint64) uint64 {
	var a, b, c, d uint64 // so that one addition need not wait for the one before
	for len(counts) >= 4 {
		a, b, c, d = a+counts[0], b+counts[1], c+counts[2], d+counts[3]
		counts = counts[4:]
	}
	for _, n := range counts {
		a += n
	}
	return a + b + c + d
}
