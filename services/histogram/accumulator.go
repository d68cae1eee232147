package histogram

// Counting values as they arrive: a look-up of the bin and an increment each, no search. The inputs keep one per timer
// and second.

import "slices"

// How many bins the window takes in at a time, and at most: eleven decades, 4 KB. A timer's values rarely span more than
// three; what lies farther off is in pages, so that two values at the ends of the range do not cost what all of it does.
const (
	pageBins  = 128
	maxWindow = 8 * pageBins
)

type page struct {
	number int // which pageBins of the bins, counted from -MaxBin
	counts [pageBins]uint32
}

// Accumulator counts values. The zero value is empty. It is not safe for use by several goroutines.
type Accumulator struct {
	first  int      // the bin of window[0]
	window []uint32 // counts of neighbouring bins; whole pages
	total  uint64
	pages  []*page   // in no order; the last one used is first
	spill  Histogram // what 32 bits could not hold
}

// Insert counts a value n times.
func (a *Accumulator) Insert(v float64, n uint64) error {
	bin, ok := BinOf(v)
	if !ok {
		return ErrNoBin
	}
	a.Add(bin, n)
	return nil
}

// InsertAll counts each value once. Values that no bin holds are left out; refused is how many.
func (a *Accumulator) InsertAll(values []float64) (refused int) {
	window, first := a.window, a.first
	for _, v := range values {
		bin, ok := BinOf(v)
		if !ok {
			refused++
			continue
		}
		if i := int(bin) - first; uint(i) < uint(len(window)) && window[i] != 1<<32-1 {
			window[i]++
			continue
		}
		a.elsewhere(bin, 1)
		window, first = a.window, a.first
	}
	a.total = plus(a.total, uint64(len(values)-refused))
	return refused
}

// Add counts n values in a bin.
func (a *Accumulator) Add(bin Bin, n uint64) {
	a.total = plus(a.total, n)
	if i := int(bin) - a.first; uint(i) < uint(len(a.window)) {
		if sum := uint64(a.window[i]) + n; sum >= n && sum <= 1<<32-1 {
			a.window[i] = uint32(sum)
			return
		}
	}
	a.elsewhere(bin, n)
}

// elsewhere counts what Add could not: in a wider window when that is not too wide, in a page, or in spill.
func (a *Accumulator) elsewhere(bin Bin, n uint64) {
	number := (int(bin) + int(MaxBin)) / pageBins
	if i := int(bin) - a.first; uint(i) >= uint(len(a.window)) {
		from := number*pageBins - int(MaxBin)
		to := from + pageBins
		if len(a.window) > 0 {
			from, to = min(from, a.first), max(to, a.first+len(a.window))
		}
		if to-from > maxWindow {
			a.inPage(number, bin, n)
			return
		}
		window := make([]uint32, to-from)
		if len(a.window) > 0 {
			copy(window[a.first-from:], a.window)
		}
		a.first, a.window = from, window
	}
	slot := &a.window[int(bin)-a.first]
	if sum := uint64(*slot) + n; sum >= n && sum <= 1<<32-1 {
		*slot = uint32(sum)
		return
	}
	a.spill.Add(bin, n)
}

func (a *Accumulator) inPage(number int, bin Bin, n uint64) {
	if len(a.pages) == 0 || a.pages[0].number != number {
		a.front(number)
	}
	slot := &a.pages[0].counts[(int(bin)+int(MaxBin))%pageBins]
	if sum := uint64(*slot) + n; sum >= n && sum <= 1<<32-1 {
		*slot = uint32(sum)
		return
	}
	a.spill.Add(bin, n)
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

// Take returns what was counted and begins anew. It keeps the window's memory as long as most values come to lie there,
// that of pages not.
func (a *Accumulator) Take() *Histogram {
	h := &Histogram{}
	used := 0
	for _, n := range a.window {
		if n > 0 {
			used++
		}
	}
	if used > 0 {
		h.Bins, h.Counts = make([]Bin, 0, used), make([]uint64, 0, used)
		for i, n := range a.window {
			if n > 0 {
				h.Bins, h.Counts = append(h.Bins, Bin(a.first+i)), append(h.Counts, uint64(n))
			}
		}
		clear(a.window)
	}
	if len(a.pages) > 0 {
		far := &Histogram{}
		slices.SortFunc(a.pages, func(x, y *page) int { return x.number - y.number })
		for _, p := range a.pages {
			for i, n := range p.counts {
				if n > 0 {
					far.Add(Bin(p.number*pageBins+i-int(MaxBin)), uint64(n))
				}
			}
		}
		if len(far.Bins) > used {
			used = 0
		}
		h.Merge(far)
		a.pages = nil
	}
	if used == 0 { // the next value finds a better place for it
		a.first, a.window = 0, nil
	}
	if len(a.spill.Bins) > 0 {
		h.Merge(&a.spill)
		a.spill.Reset()
	}
	a.total = 0
	return h
}
