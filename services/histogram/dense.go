package histogram

// Dense counts over contiguous ranges of bins, which grow: the quickest to add to, for sums over many histograms. The
// zero value is empty. What it answers is what Histogram would.
type Dense struct {
	positive, negative side
	zero               uint64
	sparse             Histogram // memory for answers
}

// side is the bins of one sign, by their distance from zero. Zero is apart because it is eleven thousand bins away from a
// millisecond.
type side struct {
	first  int // bin of counts[0], without its sign
	counts []uint64
}

// How many bins a side begins with, and leaves at the end when it grows: most of a decade.
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
	switch {
	case bin > 0:
		if i := int(bin) - d.positive.first; uint(i) < uint(len(d.positive.counts)) {
			d.positive.counts[i] = plus(d.positive.counts[i], n)
			return
		}
		d.positive.room(int(bin), int(bin))[0] = n
	case bin < 0:
		slot := &d.negative.room(-int(bin), -int(bin))[0]
		*slot = plus(*slot, n)
	default:
		d.zero = plus(d.zero, n)
	}
}

// room makes sure that the bins from first to last, both in it, have counters, and returns these.
func (s *side) room(first, last int) []uint64 {
	if len(s.counts) == 0 {
		s.first = max(1, first-denseMargin)
		s.counts = make([]uint64, min(max(last, s.first+denseStart-1), int(MaxBin))-s.first+1)
	} else if first < s.first || last >= s.first+len(s.counts) {
		from, to := s.first, s.first+len(s.counts)-1
		if first < from {
			from = max(1, first-denseMargin)
		}
		if last > to {
			to = min(int(MaxBin), last+denseMargin)
		}
		counts := make([]uint64, to-from+1)
		copy(counts[s.first-from:], s.counts)
		s.first, s.counts = from, counts
	}
	return s.counts[first-s.first : last-s.first+1]
}

// used is the range of counters outside of which all are zero.
func (s *side) used() (from, to int) {
	to = len(s.counts)
	for to > 0 && s.counts[to-1] == 0 {
		to--
	}
	for from < to && s.counts[from] == 0 {
		from++
	}
	return from, to
}

func (s *side) merge(other *side) {
	from, to := other.used()
	if from == to {
		return
	}
	counts := s.room(other.first+from, other.first+to-1)
	for i, n := range other.counts[from:to] {
		counts[i] = plus(counts[i], n)
	}
}

// Merge adds a histogram's counts.
func (d *Dense) Merge(h *Histogram) {
	bins, counts := h.Bins, h.Counts
	for len(bins) > 0 && bins[0] <= 0 {
		d.Add(bins[0], counts[0])
		bins, counts = bins[1:], counts[1:]
	}
	if len(bins) == 0 {
		return
	}
	first := int(bins[0])
	into := d.positive.room(first, int(bins[len(bins)-1]))
	for i, bin := range bins {
		slot := &into[int(bin)-first]
		*slot = plus(*slot, counts[i])
	}
}

// MergeDense adds another's counts.
func (d *Dense) MergeDense(other *Dense) {
	d.positive.merge(&other.positive)
	d.negative.merge(&other.negative)
	d.zero = plus(d.zero, other.zero)
}

// Histogram is the sparse form; it shares nothing with d.
func (d *Dense) Histogram() *Histogram { return d.Into(&Histogram{}) }

// Into replaces h by the sparse form, keeping h's memory, and returns h.
func (d *Dense) Into(h *Histogram) *Histogram {
	used := 1
	for _, s := range []*side{&d.negative, &d.positive} {
		for _, n := range s.counts {
			if n > 0 {
				used++
			}
		}
	}
	if cap(h.Bins) < used || cap(h.Counts) < used {
		h.Bins, h.Counts = make([]Bin, 0, used), make([]uint64, 0, used)
	}
	h.Reset()
	for i := len(d.negative.counts) - 1; i >= 0; i-- {
		if n := d.negative.counts[i]; n > 0 {
			h.Bins, h.Counts = append(h.Bins, Bin(-d.negative.first-i)), append(h.Counts, n)
		}
	}
	if d.zero > 0 {
		h.Bins, h.Counts = append(h.Bins, 0), append(h.Counts, d.zero)
	}
	for i, n := range d.positive.counts {
		if n > 0 {
			h.Bins, h.Counts = append(h.Bins, Bin(d.positive.first+i)), append(h.Counts, n)
		}
	}
	return h
}

// Reset empties d and keeps its memory.
func (d *Dense) Reset() {
	clear(d.positive.counts)
	clear(d.negative.counts)
	d.zero = 0
}

// Count is how many values d holds.
func (d *Dense) Count() uint64 {
	total := d.zero
	for _, s := range []*side{&d.negative, &d.positive} {
		for _, n := range s.counts {
			total = plus(total, n)
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
