package histogram

import "math"

// Dense counts over a contiguous range of bins, which grows: the quickest to add to, for sums over many histograms. The
// zero value is empty. What it answers is what Histogram would.
type Dense struct {
	first  Bin
	counts []uint64
	sparse Histogram // memory for answers
}

// How many bins a Dense begins with, and leaves at each end when it grows: most of a decade.
const denseStart, denseMargin = 96, 32

// Insert counts a value n times.
func (d *Dense) Insert(v float64, n uint64) error {
	bin, ok := BinOf(v)
	if !ok {
		return ErrNoBin
	}
	d.Add(bin, n)
	return nil
}

// Add counts n values in a bin. Counts stop at the largest uint64 instead of wrapping.
func (d *Dense) Add(bin Bin, n uint64) {
	if i := int(bin) - int(d.first); uint(i) < uint(len(d.counts)) {
		d.counts[i] = plus(d.counts[i], n)
		return
	}
	d.grow(int(bin), int(bin))
	d.counts[int(bin)-int(d.first)] += n
}

// grow makes room for the bins from first to last, both in it.
func (d *Dense) grow(first, last int) {
	if len(d.counts) == 0 {
		last = max(last, first-denseMargin+denseStart-1)
	} else if int(d.first) <= first && last < int(d.first)+len(d.counts) {
		return
	} else {
		first, last = min(int(d.first), first), max(int(d.first)+len(d.counts)-1, last)
	}
	if first < int(d.first) || len(d.counts) == 0 {
		first = max(-int(MaxBin), first-denseMargin)
	}
	if last >= int(d.first)+len(d.counts) {
		last = min(int(MaxBin), last+denseMargin)
	}
	counts := make([]uint64, last-first+1)
	if len(d.counts) > 0 {
		copy(counts[int(d.first)-first:], d.counts)
	}
	d.first, d.counts = Bin(first), counts
}

// Room makes sure that the bins from first to last, both in it, are counted without growing, and returns their counters.
// They are d's own, until it grows.
func (d *Dense) Room(first, last Bin) []uint64 {
	if int(first) < int(d.first) || int(last) >= int(d.first)+len(d.counts) {
		d.grow(int(first), int(last))
	}
	from := int(first) - int(d.first)
	return d.counts[from : from+int(last)-int(first)+1]
}

// Merge adds a histogram's counts.
func (d *Dense) Merge(h *Histogram) {
	n := len(h.Bins)
	if n == 0 {
		return
	}
	first := h.Bins[0]
	counts := d.Room(first, h.Bins[n-1])
	for i, bin := range h.Bins {
		slot := &counts[int(bin)-int(first)]
		*slot = plus(*slot, h.Counts[i])
	}
}

// MergeDense adds another's counts.
func (d *Dense) MergeDense(other *Dense) {
	from, to := other.used()
	if from == to {
		return
	}
	counts := d.Room(other.first+Bin(from), other.first+Bin(to-1))
	for i, n := range other.counts[from:to] {
		counts[i] = plus(counts[i], n)
	}
}

// used is the range of counters outside of which all are zero.
func (d *Dense) used() (from, to int) {
	to = len(d.counts)
	for to > 0 && d.counts[to-1] == 0 {
		to--
	}
	for from < to && d.counts[from] == 0 {
		from++
	}
	return from, to
}

// Histogram is the sparse form; it shares nothing with d.
func (d *Dense) Histogram() *Histogram { return d.Into(&Histogram{}) }

// Into replaces h by the sparse form, keeping h's memory, and returns h.
func (d *Dense) Into(h *Histogram) *Histogram {
	used := 0
	for _, n := range d.counts {
		if n > 0 {
			used++
		}
	}
	if cap(h.Bins) < used || cap(h.Counts) < used {
		h.Bins, h.Counts = make([]Bin, 0, used), make([]uint64, 0, used)
	}
	h.Reset()
	for i, n := range d.counts {
		if n > 0 {
			h.Bins, h.Counts = append(h.Bins, Bin(int(d.first)+i)), append(h.Counts, n)
		}
	}
	return h
}

// Reset empties d and keeps its memory.
func (d *Dense) Reset() { clear(d.counts) }

// Count is how many values d holds.
func (d *Dense) Count() uint64 {
	var total uint64
	for _, n := range d.counts {
		if total += n; total < n {
			return math.MaxUint64
		}
	}
	return total
}

// Quantiles is as Histogram's.
func (d *Dense) Quantiles(qs ...float64) []float64 { return d.Into(&d.sparse).Quantiles(qs...) }

// Quantile is as Histogram's.
func (d *Dense) Quantile(q float64) float64 { return d.Quantiles(q)[0] }

// CountAbove is as Histogram's.
func (d *Dense) CountAbove(limit float64) float64 { return d.Into(&d.sparse).CountAbove(limit) }

// CountBelow is as Histogram's.
func (d *Dense) CountBelow(limit float64) float64 { return d.Into(&d.sparse).CountBelow(limit) }

// CountBetween is as Histogram's.
func (d *Dense) CountBetween(from, to float64) float64 {
	return d.Into(&d.sparse).CountBetween(from, to)
}

// InverseQuantile is as Histogram's.
func (d *Dense) InverseQuantile(limits ...float64) []float64 {
	return d.Into(&d.sparse).InverseQuantile(limits...)
}

// Sum is as Histogram's.
func (d *Dense) Sum() float64 { return d.Into(&d.sparse).Sum() }

// Mean is as Histogram's.
func (d *Dense) Mean() float64 { return d.Into(&d.sparse).Mean() }

// StdDev is as Histogram's.
func (d *Dense) StdDev() float64 { return d.Into(&d.sparse).StdDev() }
