package histogram

// Dense counts over a contiguous range of bins, which grows: the quickest to add to. The zero value is empty.
type Dense struct {
	first  Bin
	counts []uint64
}

// Add counts n values in a bin.
func (d *Dense) Add(bin Bin, n uint64) {
	if i := int(bin) - int(d.first); i >= 0 && i < len(d.counts) {
		d.counts[i] = plus(d.counts[i], n)
		return
	}
	d.grow(bin)
	d.counts[int(bin)-int(d.first)] += n
}

func (d *Dense) grow(bin Bin) {
	if len(d.counts) == 0 {
		d.first, d.counts = max(-MaxBin, bin-16), make([]uint64, 96)
	}
	first, last := min(int(d.first), int(bin)), max(int(d.first)+len(d.counts)-1, int(bin))
	if first == int(d.first) && last == int(d.first)+len(d.counts)-1 {
		return
	}
	counts := make([]uint64, last-first+1+64)
	copy(counts[int(d.first)-first:], d.counts)
	d.first, d.counts = Bin(first), counts
}

// Merge adds a histogram's counts.
func (d *Dense) Merge(h *Histogram) {
	for i, bin := range h.Bins {
		d.Add(bin, h.Counts[i])
	}
}

// Histogram is the sparse form; it shares nothing with d.
func (d *Dense) Histogram() *Histogram {
	h := &Histogram{}
	for i, n := range d.counts {
		if n > 0 {
			h.Bins, h.Counts = append(h.Bins, Bin(int(d.first)+i)), append(h.Counts, n)
		}
	}
	return h
}

// Reset empties d and keeps its memory.
func (d *Dense) Reset() { clear(d.counts) }
