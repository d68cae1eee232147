package histogram

// Counting values as they arrive: an array look-up and an increment each, no search. The inputs keep one per timer and
// second.

import "slices"

const (
	// blockBins is by how many bins the window grows: less than a decade, because most timers' values span one or two.
	blockBins = 64
	// maxWindow is as far as it grows: eleven decades, 4 KB.
	maxWindow = 16 * blockBins
	// pageBins is how many neighbouring bins share a page.
	pageBins = 128
)

type page struct {
	number int // which pageBins of the bins, counted from -MaxBin
	counts [pageBins]uint32
}

// Accumulator counts values in one array of the bins around the first value, which grows. What is far from them goes to
// pages, zero has a place of its own. The zero value is empty. It is not safe for use by several goroutines.
type Accumulator struct {
	window []uint32
	first  int // the bin of window[0]
	total  uint64
	zeros  uint64
	pages  []*page   // in no order; the last one used is first
	spill  Histogram // what 32 bits could not hold
	offset Offset    // of what was recorded
}

// Insert counts a value n times, in its bin only: see Record.
func (a *Accumulator) Insert(v float64, n uint64) error {
	bin, ok := BinOf(v)
	if !ok {
		return ErrNoBin
	}
	a.Add(bin, n)
	return nil
}

// BulkInsert counts each of the values once and says how many of them no bin holds; those are left out.
func (a *Accumulator) BulkInsert(values []float64) (refused int) {
	// What Insert does, with the window at hand.
	counted := uint64(0)
	window, first := a.window, a.first
	for _, v := range values {
		bin, ok := BinOf(v)
		if !ok {
			refused++
			continue
		}
		if i := uint(int(bin) - first); i < uint(len(window)) && window[i] != 1<<32-1 {
			window[i]++
			counted++
			continue
		}
		a.total, counted = plus(a.total, counted), 0
		a.addOutside(bin, 1)
		window, first = a.window, a.first
	}
	a.total = plus(a.total, counted)
	return refused
}

// Add counts n values in a bin.
func (a *Accumulator) Add(bin Bin, n uint64) {
	if i := uint(int(bin) - a.first); i < uint(len(a.window)) {
		if sum := uint64(a.window[i]) + n; sum>>32 == 0 && n>>32 == 0 {
			a.window[i] = uint32(sum)
			a.total = plus(a.total, n)
			return
		}
	}
	a.addOutside(bin, n)
}

// addOutside counts where the window does not reach, and what is too much for it.
func (a *Accumulator) addOutside(bin Bin, n uint64) {
	if a.total == 0 { // the window is empty, and goes to where it is needed
		a.first = int(bin) - len(a.window)/2
	}
	a.total = plus(a.total, n)
	if bin == 0 {
		a.zeros = plus(a.zeros, n)
		return
	}
	slot := a.slot(bin)
	if sum := uint64(*slot) + n; sum >= n && sum>>32 == 0 {
		*slot = uint32(sum)
		return
	}
	a.spill.Add(bin, n)
}

// slot is where a bin is counted, made when it is missing.
func (a *Accumulator) slot(bin Bin) *uint32 {
	if i := int(bin) - a.first; i >= 0 && i < len(a.window) {
		return &a.window[i]
	}
	if len(a.window) == 0 {
		a.first, a.window = int(bin)-blockBins/2, make([]uint32, blockBins)
		return &a.window[blockBins/2]
	}
	from, to := a.first, a.first+len(a.window)
	for from > int(bin) {
		from -= blockBins
	}
	for to <= int(bin) {
		to += blockBins
	}
	if to-from <= maxWindow {
		window := make([]uint32, to-from)
		copy(window[a.first-from:], a.window)
		a.window, a.first = window, from
		return &a.window[int(bin)-from]
	}
	index := int(bin) + int(MaxBin)
	number := index / pageBins
	if len(a.pages) == 0 || a.pages[0].number != number {
		a.front(number)
	}
	return &a.pages[0].counts[index%pageBins]
}

// front brings a page to the front, making it when it is missing.
func (a *Accumulator) front(number int) {
	for i, p := range a.pages {
		if p.number == number {
			a.pages[0], a.pages[i] = p, a.pages[0]
			return
		}
	}
	a.pages = append(a.pages, &page{number: number})
	last := len(a.pages) - 1
	a.pages[0], a.pages[last] = a.pages[last], a.pages[0]
}

// Count is how many values were counted since the last Take.
func (a *Accumulator) Count() uint64 { return a.total }

// Take returns what was counted and begins anew. Pages that stayed empty are given back, and a window of which little
// was used.
func (a *Accumulator) Take() *Histogram {
	h := &Histogram{}
	low, high := takeOf(h, a.window, a.first)
	if used := high - low; len(a.window) > 4*max(used, blockBins) {
		a.window = nil
	}
	if a.zeros > 0 {
		h.Add(0, a.zeros)
		a.zeros = 0
	}
	if len(a.pages) > 0 {
		slices.SortFunc(a.pages, func(x, y *page) int { return x.number - y.number })
		var far Histogram
		kept := a.pages[:0]
		for _, p := range a.pages {
			before := len(far.Bins)
			takeOf(&far, p.counts[:], p.number*pageBins-int(MaxBin))
			if len(far.Bins) > before {
				kept = append(kept, p)
			}
		}
		clear(a.pages[len(kept):])
		a.pages = kept
		h.Merge(&far)
	}
	if len(a.spill.Bins) > 0 {
		h.Merge(&a.spill)
		a.spill.Reset()
	}
	a.total = 0
	h.Offset, a.offset = a.offset, Offset{}
	h.round()
	return h
}

// takeOf appends counts, of bins from first on, to h, clears them and says between which places any were.
func takeOf(h *Histogram, counts []uint32, first int) (low, high int) {
	const at = 8 // so many at once, as most are zero; blockBins and pageBins are multiples
	n := 0
	low = len(counts)
	for i := 0; i+at <= len(counts); i += at {
		c := (*[at]uint32)(counts[i:])
		if c[0]|c[1]|c[2]|c[3]|c[4]|c[5]|c[6]|c[7] == 0 {
			continue
		}
		low, high = min(low, i), i+at
		for _, one := range c {
			if one != 0 {
				n++
			}
		}
	}
	if n == 0 {
		return 0, 0
	}
	h.Bins, h.Counts = slices.Grow(h.Bins, n), slices.Grow(h.Counts, n)
	for i, one := range counts[low:high] {
		if one != 0 {
			h.Bins, h.Counts = append(h.Bins, Bin(first+low+i)), append(h.Counts, uint64(one))
		}
	}
	clear(counts[low:high])
	return low, high
}
