package histogram

// Dense counts over a contiguous range of bins, which grows: the quickest to add to. The zero value is empty.
type Dense struct {
	first  Bin
	counts []uint64
}

// Add counts n values in a bin.
func (d *Dense) Add(bin Bin, n uint64) {
	i := uint(int(bin) - int(d.first))
	if i >= uint(len(d.counts)) {
		if n == 0 {
			return
		}
		d.cover(int(bin), int(bin))
		i = uint(int(bin) - int(d.first))
	}
	d.counts[i] = plus(d.counts[i], n)
}

// cover makes room for the bins from low to high.
func (d *Dense) cover(low, high int) {
	const room = 64 // on the side that grows, for what comes next
	if len(d.counts) == 0 {
		d.first = Bin(max(-int(MaxBin), low-16))
		d.counts = make([]uint64, max(96, high-int(d.first)+1+room/2))
		return
	}
	from, to := int(d.first), int(d.first)+len(d.counts)
	if low < from {
		from = max(-int(MaxBin), low-room)
	}
	if high >= to {
		to = high + 1 + room
	}
	if grown := to - from; grown != len(d.counts) {
		counts := make([]uint64, grown)
		copy(counts[int(d.first)-from:], d.counts)
		d.first, d.counts = Bin(from), counts
	}
}

// Merge adds a histogram's counts.
func (d *Dense) Merge(h *Histogram) {
	n := len(h.Bins)
	if n == 0 {
		return
	}
	d.cover(int(h.Bins[0]), int(h.Bins[n-1]))
	first, counts, more := int(d.first), d.counts, h.Counts[:n]
	for i, bin := range h.Bins {
		slot := &counts[int(bin)-first]
		*slot = plus(*slot, more[i])
	}
}

// MergeDense adds another's counts.
func (d *Dense) MergeDense(other *Dense) {
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
	d.cover(first, first+high-low-1)
	into, more := d.counts[first-int(d.first):], other.counts[low:high]
	into = into[:len(more)]
	for i, n := range more {
		into[i] = plus(into[i], n)
	}
}

// Histogram is the sparse form; it shares nothing with d.
func (d *Dense) Histogram() *Histogram {
	used := 0
	for _, n := range d.counts {
		if n > 0 {
			used++
		}
	}
	h := &Histogram{Bins: make([]Bin, 0, used), Counts: make([]uint64, 0, used)}
	for i, n := range d.counts {
		if n > 0 {
			h.Bins, h.Counts = append(h.Bins, Bin(int(d.first)+i)), append(h.Counts, n)
		}
	}
	return h
}

// Reset empties d and keeps its memory.
func (d *Dense) Reset() { clear(d.counts) }

func (d *Dense) cells() cellView { return cellView{first: d.first, counts: d.counts} }

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
func (d *Dense) Moment(k int) float64 { return d.cells().moment(k, 0) }

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
