package histogram

import "math"

// Dense counts in arrays over contiguous bins, which grow: the quickest to add to. The zero value is empty. Each sign has
// an array of its own and zero is apart: between 1 ms and zero lie eleven thousand bins that nothing is ever in.
type Dense struct {
	positive, negative span
	zero               uint64
	offset             Offset // as of a Histogram
}

// span is counts of contiguous bins of one sign.
type span struct {
	first  Bin
	counts []uint64
}

// side is where a bin that is not zero is counted.
func (d *Dense) side(bin Bin) *span {
	if bin > 0 {
		return &d.positive
	}
	return &d.negative
}

// Add counts n values in a bin.
func (d *Dense) Add(bin Bin, n uint64) {
	if bin == 0 {
		d.zero = plus(d.zero, n)
		return
	}
	s := d.side(bin)
	i := uint(int(bin) - int(s.first))
	if i >= uint(len(s.counts)) {
		if n == 0 {
			return
		}
		s.cover(int(bin), int(bin))
		i = uint(int(bin) - int(s.first))
	}
	s.counts[i] = plus(s.counts[i], n)
}

// Reserve makes room for the bins from low to high of one sign, so that adding to them does not need to.
func (d *Dense) Reserve(low, high Bin) {
	if low > 0 || high < 0 {
		d.side(low).cover(int(low), int(high))
	}
}

// Counts makes room for the bins from low to high, both of one sign and neither zero, and returns what they count, low's
// first: to be added to, until d is asked to count a bin that it has no room for.
func (d *Dense) Counts(low, high Bin) []uint64 {
	s := d.side(low)
	s.cover(int(low), int(high))
	return s.counts[int(low)-int(s.first):][:int(high)-int(low)+1]
}

// cover makes room for the bins from low to high.
func (s *span) cover(low, high int) {
	room := max(64, len(s.counts)/2) // on the side that grows, for what comes next
	if len(s.counts) == 0 {
		s.first = Bin(max(-int(MaxBin), low-16))
		s.counts = make([]uint64, max(96, high-int(s.first)+1+room/4))
		return
	}
	from, to := int(s.first), int(s.first)+len(s.counts)
	if low < from {
		from = max(-int(MaxBin), low-room)
	}
	if high >= to {
		to = min(int(MaxBin)+1, high+1+room)
	}
	if grown := to - from; grown != len(s.counts) {
		counts := make([]uint64, grown)
		copy(counts[int(s.first)-from:], s.counts)
		s.first, s.counts = Bin(from), counts
	}
}

// add counts bins of this sign, ascending.
func (s *span) add(bins []Bin, more []uint64) {
	n := len(bins)
	if n == 0 {
		return
	}
	s.cover(int(bins[0]), int(bins[n-1]))
	first, counts := int(s.first), s.counts
	more = more[:n]
	for i, bin := range bins {
		slot := &counts[int(bin)-first]
		*slot = plus(*slot, more[i])
	}
}

// AddOffset adds what the values that are added add up to beyond their bins' middles.
func (d *Dense) AddOffset(o Offset) { d.offset.Add(o) }

// Merge adds a histogram's counts.
func (d *Dense) Merge(h *Histogram) {
	d.offset.Add(h.Offset)
	bins, counts := h.Bins, h.Counts
	if len(bins) > 0 && bins[0] <= 0 {
		below := 0
		for below < len(bins) && bins[below] < 0 {
			below++
		}
		d.negative.add(bins[:below], counts[:below])
		bins, counts = bins[below:], counts[below:]
		if len(bins) > 0 && bins[0] == 0 {
			d.zero = plus(d.zero, counts[0])
			bins, counts = bins[1:], counts[1:]
		}
	}
	d.positive.add(bins, counts)
}

// merge adds another's counts.
func (s *span) merge(other *span) {
	low, high := 0, len(other.counts)
	for low < high && other.counts[low] == 0 {
		low++
	}
	for low < high && other.counts[high-1] == 0 {
		high--
	}
	if low == high {
		return
	}
	first := int(other.first) + low
	s.cover(first, first+high-low-1)
	into, more := s.counts[first-int(s.first):], other.counts[low:high]
	into = into[:len(more)]
	for i, n := range more {
		into[i] = plus(into[i], n)
	}
}

// subtract takes another's counts away.
func (s *span) subtract(other *span) {
	from := max(int(s.first), int(other.first))
	to := min(int(s.first)+len(s.counts), int(other.first)+len(other.counts))
	if from >= to {
		return
	}
	into, less := s.counts[from-int(s.first):to-int(s.first)], other.counts[from-int(other.first):]
	less = less[:len(into)]
	for i, n := range less {
		into[i] = minus(into[i], n)
	}
}

// SubtractDense takes another's counts away, stopping at zero; it is exact when they were merged into d before. A count
// that is as high as counts go stays so: nobody knows what it would be.
func (d *Dense) SubtractDense(other *Dense) {
	d.negative.subtract(&other.negative)
	d.zero = minus(d.zero, other.zero)
	d.offset.Subtract(other.offset)
	d.positive.subtract(&other.positive)
}

func minus(a, b uint64) uint64 {
	if a == math.MaxUint64 {
		return a
	}
	return a - min(a, b)
}

// MergeDense adds another's counts.
func (d *Dense) MergeDense(other *Dense) {
	d.negative.merge(&other.negative)
	d.zero = plus(d.zero, other.zero)
	d.offset.Add(other.offset)
	d.positive.merge(&other.positive)
}

// Histogram is the sparse form; it shares nothing with d.
func (d *Dense) Histogram() *Histogram {
	used := d.Used()
	h := &Histogram{Bins: make([]Bin, 0, used), Counts: make([]uint64, 0, used)}
	d.Into(h)
	return h
}

// Used is how many bins have counts.
func (d *Dense) Used() int {
	used := 0
	if d.zero > 0 {
		used = 1
	}
	for _, s := range [...]*span{&d.negative, &d.positive} {
		for _, n := range s.counts {
			used += int(-n>>63 | n>>63) // no branch: only zero has the highest bit neither itself nor below zero
		}
	}
	return used
}

// Empty says that no bin has counts.
func (d *Dense) Empty() bool {
	if d.zero > 0 {
		return false
	}
	for _, s := range [...]*span{&d.positive, &d.negative} {
		for _, n := range s.counts {
			if n > 0 {
				return false
			}
		}
	}
	return true
}

// Room is how many bins d has memory for.
func (d *Dense) Room() int { return len(d.negative.counts) + len(d.positive.counts) }

// Into makes h the sparse form, keeping h's memory.
func (d *Dense) Into(h *Histogram) {
	h.Reset()
	h.Offset = d.offset
	h.append(&d.negative)
	if d.zero > 0 {
		h.Bins, h.Counts = append(h.Bins, 0), append(h.Counts, d.zero)
	}
	h.append(&d.positive)
}

func (h *Histogram) append(s *span) {
	bins, counts := h.Bins, h.Counts // not in memory at each step, where the collector wants to know
	if n, most := len(bins), len(bins)+len(s.counts); most < cap(bins) && most < cap(counts) {
		// All are written, and those that are zero written over: no branch for what chance decides.
		bins, counts = bins[:most+1], counts[:most+1]
		for i, count := range s.counts {
			bins[n], counts[n] = Bin(int(s.first)+i), count
			n += int(-count>>63 | count>>63)
		}
		h.Bins, h.Counts = bins[:n], counts[:n]
		return
	}
	for i, n := range s.counts {
		if n > 0 {
			bins, counts = append(bins, Bin(int(s.first)+i)), append(counts, n)
		}
	}
	h.Bins, h.Counts = bins, counts
}

// Reset empties d and keeps its memory.
func (d *Dense) Reset() {
	clear(d.positive.counts)
	clear(d.negative.counts)
	d.zero, d.offset = 0, Offset{}
}

func (d *Dense) cells() cellView {
	if d.zero == 0 && len(d.negative.counts) == 0 { // nearly always
		return cellView{first: d.positive.first, counts: d.positive.counts, offset: d.offset}
	}
	return d.Histogram().cells()
}

// What a Histogram answers, from the same code: the answers are the same to the last bit.

// Count is Histogram.Count.
func (d *Dense) Count() uint64 { return d.cells().count() }

// Sum is Histogram.Sum.
func (d *Dense) Sum() float64 { return d.cells().sum() }

// Mean is Histogram.Mean.
func (d *Dense) Mean() float64 { return d.cells().mean() }

// StdDev is Histogram.StdDev.
func (d *Dense) StdDev() float64 { return d.cells().stdDev() }

// Moment is Histogram.Moment.
func (d *Dense) Moment(k int) float64 { return d.cells().rawMoment(k) }

// CentralMoment is Histogram.CentralMoment.
func (d *Dense) CentralMoment(k int) float64 { return d.cells().centralMoment(k) }

// CountAbove is Histogram.CountAbove.
func (d *Dense) CountAbove(limit float64) float64 { return d.cells().above(limit) }

// CountBelow is Histogram.CountBelow.
func (d *Dense) CountBelow(limit float64) float64 { return d.cells().below(limit) }

// CountBetween is Histogram.CountBetween.
func (d *Dense) CountBetween(from, to float64) float64 { return d.cells().between(from, to) }

// InverseQuantiles is Histogram.InverseQuantiles.
func (d *Dense) InverseQuantiles(limits ...float64) []float64 { return d.cells().inverse(limits) }

// Quantiles is Histogram.Quantiles.
func (d *Dense) Quantiles(qs ...float64) []float64 { return d.cells().quantiles(qs) }

// Quantile is Histogram.Quantile.
func (d *Dense) Quantile(q float64) float64 { return d.Quantiles(q)[0] }

// Modes is Histogram.Modes.
func (d *Dense) Modes(o ModeOptions) []Mode { return d.cells().modes(o) }
