package histogram

// Counting values as they arrive: an array look-up and an increment each, no search. The inputs keep one per timer and
// second.

import "slices"

// pageBins is how many neighbouring bins share a page: a little over a decade, because a timer's values rarely span
// more than two or three.
const pageBins = 128

type page struct {
	number int // which pageBins of the bins, counted from -MaxBin
	counts [pageBins]uint32
}

// Accumulator counts values in dense pages. The zero value is empty. It is not safe for use by several goroutines.
type Accumulator struct {
	pages []*page // in no order; the last one used is first
	total uint64
	spill Histogram // what a page's 32 bits could not hold, and weighted values
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

// Add counts n values in a bin.
func (a *Accumulator) Add(bin Bin, n uint64) {
	a.total = plus(a.total, n)
	index := int(bin) + int(MaxBin)
	number := index / pageBins
	if len(a.pages) == 0 || a.pages[0].number != number {
		a.front(number)
	}
	slot := &a.pages[0].counts[index%pageBins]
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

// Take returns what was counted and begins anew. Pages that stayed empty are given back.
func (a *Accumulator) Take() *Histogram {
	slices.SortFunc(a.pages, func(x, y *page) int { return x.number - y.number })
	h := &Histogram{}
	kept := a.pages[:0]
	for _, p := range a.pages {
		used := false
		for i, n := range p.counts {
			if n > 0 {
				h.Bins = append(h.Bins, Bin(p.number*pageBins+i-int(MaxBin)))
				h.Counts = append(h.Counts, uint64(n))
				used = true
			}
		}
		if used {
			p.counts = [pageBins]uint32{}
			kept = append(kept, p)
		}
	}
	clear(a.pages[len(kept):])
	a.pages = kept
	h.Merge(&a.spill)
	a.spill.Reset()
	a.total = 0
	return h
}
