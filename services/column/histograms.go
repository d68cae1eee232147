package column

// Histograms over times, by bin: what each bin counted over the run is a column, so that like stands next to like and
// the sum over many records is a sum over columns.
//
// A run: uvarint number of records n, as far as n > 0: byte form of the times (numbers.go), the times; uvarint number of
// bins b; for each bin, ascending: varint bin minus the previous one's; then for each bin its column. A column: byte
// about, uvarint mean when about is 1; then residuals in groups of up to 512: the counts, or zigzag of each minus the
// mean. A record's bins are those whose count is not zero.

import (
	"encoding/binary"

	"cistern/services/histogram"
)

const histogramGroup = 512

// AppendHistograms appends a run to dst. times, in ms, ascend strictly and are as many as hists; at most MaxRun.
func AppendHistograms(dst []byte, times []int64, hists []histogram.Histogram) []byte {
	n := len(times)
	dst = binary.AppendUvarint(dst, uint64(n))
	if n == 0 {
		return dst
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.room(n)
	form := len(dst)
	dst = append(dst, 0)
	dst, timesForm := appendTimes(dst, times, s)
	dst[form] = timesForm
	bins := union(hists)
	dst = binary.AppendUvarint(dst, uint64(len(bins)))
	last := int64(0)
	for _, bin := range bins {
		dst = binary.AppendVarint(dst, int64(bin)-last)
		last = int64(bin)
	}
	// All columns, one behind the other.
	cells := s.table(len(bins) * n)
	var place []int32
	if len(bins) > 0 {
		place = make([]int32, int(bins[len(bins)-1])-int(bins[0])+1)
		for k, bin := range bins {
			place[int(bin)-int(bins[0])] = int32(k * n)
		}
	}
	for i := range hists {
		for at, bin := range hists[i].Bins {
			cells[int(place[int(bin)-int(bins[0])])+i] += hists[i].Counts[at]
		}
	}
	centred := s.residuals[:n]
	for k := range bins {
		counts := cells[k*n : k*n+n]
		var sum, or uint64
		few := 0
		for _, c := range counts {
			sum += c
			or |= c
			few += int((c | -c) >> 63) // one when c is not zero
		}
		if 24*few < n && n <= histogramGroup && few < 256 { // a bin that rarely counts: no need to look further
			dst = appendSparse(append(dst, 0), counts, few)
			continue
		}
		if or < 1<<46 { // MaxRun of these do not overflow
			mean := sum / uint64(n)
			away := uint64(0)
			for i, c := range counts {
				v := zigzag(int64(c) - int64(mean))
				centred[i] = v
				away += v
			}
			if away < sum { // the residuals about the mean are smaller than the counts
				dst = append(dst, 1)
				dst = binary.AppendUvarint(dst, mean)
				dst = appendLarge(dst, centred)
				continue
			}
		}
		dst = appendLarge(append(dst, 0), counts)
	}
	return dst
}

// union is the bins that any of the histograms has, ascending.
func union(hists []histogram.Histogram) []histogram.Bin {
	first, last := histogram.MaxBin+1, -histogram.MaxBin-1
	for i := range hists {
		if list := hists[i].Bins; len(list) > 0 {
			first, last = min(first, list[0]), max(last, list[len(list)-1])
		}
	}
	if first > last {
		return nil
	}
	has, count := make([]bool, int(last)-int(first)+1), 0
	for i := range hists {
		for _, bin := range hists[i].Bins {
			if at := int(bin) - int(first); !has[at] {
				has[at] = true
				count++
			}
		}
	}
	bins := make([]histogram.Bin, 0, count)
	for at, there := range has {
		if there {
			bins = append(bins, histogram.Bin(int(first)+at))
		}
	}
	return bins
}

func appendLarge(dst []byte, values []uint64) []byte {
	for len(values) > 0 {
		n := min(histogramGroup, len(values))
		dst = appendGroup(dst, values[:n])
		values = values[n:]
	}
	return dst
}

// HistogramRun reads a run. The zero value is ready; it keeps its memory from one run to the next.
type HistogramRun struct {
	times   []int64
	bins    []histogram.Bin
	columns []byte
	column  []uint64
	scratch scratch
}

// Open reads a run's times and bins. src must not change while the run is used.
func (r *HistogramRun) Open(src []byte) error {
	r.times, r.bins, r.columns = r.times[:0], r.bins[:0], nil
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
	if len(src) == 0 {
		return ErrDamaged
	}
	form := src[0]
	r.scratch.room(int(n))
	times, src, err := decodeTimes(src[1:], int(n), form, r.times, &r.scratch)
	if err != nil {
		return err
	}
	r.times = times
	count, size := binary.Uvarint(src)
	if size <= 0 || count > uint64(len(src)) || count > uint64(2*int(histogram.MaxBin)+1) {
		return ErrDamaged
	}
	src = src[size:]
	last := int64(0)
	for i := range count {
		step, size := binary.Varint(src)
		if size <= 0 || i > 0 && step <= 0 {
			return ErrDamaged
		}
		src = src[size:]
		last += step
		if last < -int64(histogram.MaxBin) || last > int64(histogram.MaxBin) {
			return ErrDamaged
		}
		r.bins = append(r.bins, histogram.Bin(last))
	}
	r.columns = src
	if cap(r.column) < int(n) {
		r.column = make([]uint64, n)
	}
	return nil
}

// Len is the number of records.
func (r *HistogramRun) Len() int { return len(r.times) }

// Times is the records' times, valid until the next Open.
func (r *HistogramRun) Times() []int64 { return r.times }

// Bins is the bins that any record has.
func (r *HistogramRun) Bins() []histogram.Bin { return r.bins }

// next decodes the next column, of whose counts the first wanted ones are needed.
func (r *HistogramRun) next(src []byte, values []uint64) ([]byte, error) {
	if len(src) == 0 || src[0] > 1 {
		return nil, ErrDamaged
	}
	about := src[0] == 1
	src = src[1:]
	mean := uint64(0)
	if about {
		var size int
		if mean, size = binary.Uvarint(src); size <= 0 || mean >= 1<<62 {
			return nil, ErrDamaged
		}
		src = src[size:]
	}
	for rest := values; len(rest) > 0; {
		n := min(histogramGroup, len(rest))
		var err error
		if src, err = readGroup(src, rest[:n], n); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	if about {
		for i, v := range values {
			values[i] = uint64(unzigzag(v) + int64(mean))
			if int64(values[i]) < 0 {
				return nil, ErrDamaged
			}
		}
	}
	return src, nil
}

// Decode appends all records to dst, each with the bins it has.
func (r *HistogramRun) Decode(dst []histogram.Histogram) ([]histogram.Histogram, error) {
	n := len(r.times)
	if n == 0 {
		return dst, nil
	}
	if len(r.bins)*n > 1<<26 {
		return dst, ErrDamaged
	}
	cells := make([]uint64, len(r.bins)*n)
	src := r.columns
	total := 0
	var err error
	for k := range r.bins {
		column := cells[k*n : k*n+n]
		if src, err = r.next(src, column); err != nil {
			return dst, err
		}
		for _, c := range column {
			if c != 0 {
				total++
			}
		}
	}
	if len(src) != 0 {
		return dst, ErrDamaged
	}
	bins, counts := make([]histogram.Bin, 0, total), make([]uint64, 0, total)
	for i := range n {
		start := len(bins)
		for k, bin := range r.bins {
			if c := cells[k*n+i]; c != 0 {
				bins, counts = append(bins, bin), append(counts, c)
			}
		}
		end := len(bins)
		dst = append(dst, histogram.Histogram{Bins: bins[start:end:end], Counts: counts[start:end:end]})
	}
	return dst, nil
}

// AddRange adds the records from (in it) to to (not in it) to into.
func (r *HistogramRun) AddRange(from, to int, into *histogram.Dense) error {
	src := r.columns
	var err error
	for _, bin := range r.bins {
		column := r.column[:len(r.times)]
		if src, err = r.next(src, column); err != nil {
			return err
		}
		sum := uint64(0)
		for _, c := range column[from:to] {
			sum += c
		}
		if sum > 0 {
			into.Add(bin, sum)
		}
	}
	return nil
}

// AddWindows adds each record to the histogram that window names for it, by its place in into, or to none when that is
// -1. A nil in into is made when something is added to it.
func (r *HistogramRun) AddWindows(window []int, into []*histogram.Dense) error {
	// Records of one window mostly stand together: stretches are summed, not records.
	type stretch struct{ from, to, window int }
	var stretches []stretch
	for i, w := range window {
		if w < 0 {
			continue
		}
		if k := len(stretches) - 1; k >= 0 && stretches[k].window == w && stretches[k].to == i {
			stretches[k].to++
			continue
		}
		stretches = append(stretches, stretch{i, i + 1, w})
	}
	if len(stretches) == 0 {
		return nil
	}
	src := r.columns
	var err error
	for _, bin := range r.bins {
		column := r.column[:len(r.times)]
		if src, err = r.next(src, column); err != nil {
			return err
		}
		for _, s := range stretches {
			sum := uint64(0)
			for _, c := range column[s.from:s.to] {
				sum += c
			}
			if sum > 0 {
				if into[s.window] == nil {
					into[s.window] = &histogram.Dense{}
				}
				into[s.window].Add(bin, sum)
			}
		}
	}
	return nil
}
