package histogram

// The sparse histogram: what is stored, merged and asked. For counting single values as they arrive, Accumulator is
// quicker.

import (
	"errors"
	"math"
	"slices"
	"sort"
)

// Histogram holds the counts of the bins that are not empty, in the order of the bins. The zero value is an empty
// histogram. It is not safe for use by several goroutines at once.
//
// Bins is strictly ascending and as long as Counts; a count of zero may appear after Subtract, never elsewhere.
type Histogram struct {
	Bins   []Bin
	Counts []uint64
}

// ErrNoBin is what a value that no bin holds is refused with.
var ErrNoBin = errors.New("no bin holds this value: NaN, an infinity, or 1e128 and beyond")

// Insert counts a value n times. Counts stop at the largest uint64 instead of wrapping.
func (h *Histogram) Insert(v float64, n uint64) error {
	bin, ok := BinOf(v)
	if !ok {
		return ErrNoBin
	}
	h.Add(bin, n)
	return nil
}

// Add counts n values in a bin.
func (h *Histogram) Add(bin Bin, n uint64) {
	if n == 0 {
		return
	}
	i := len(h.Bins)
	if i == 0 || h.Bins[i-1] < bin { // parsers and decoders come in order
		h.Bins, h.Counts = append(h.Bins, bin), append(h.Counts, n)
		return
	}
	i, found := slices.BinarySearch(h.Bins, bin)
	if found {
		h.Counts[i] = plus(h.Counts[i], n)
		return
	}
	h.Bins, h.Counts = slices.Insert(h.Bins, i, bin), slices.Insert(h.Counts, i, n)
}

func plus(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxUint64
}

// Merge adds other's counts to h's. other is left as it was and shares nothing with h.
func (h *Histogram) Merge(other *Histogram) {
	if len(other.Bins) == 0 {
		return
	}
	if len(h.Bins) == 0 {
		h.Bins, h.Counts = append(h.Bins, other.Bins...), append(h.Counts, other.Counts...)
		return
	}
	// How many bins are new, so that the merge can run from the back in place.
	missing, i := 0, 0
	for _, bin := range other.Bins {
		for i < len(h.Bins) && h.Bins[i] < bin {
			i++
		}
		if i == len(h.Bins) || h.Bins[i] != bin {
			missing++
		}
	}
	from := len(h.Bins) - 1
	h.Bins, h.Counts = slices.Grow(h.Bins, missing)[:len(h.Bins)+missing], slices.Grow(h.Counts, missing)[:len(h.Counts)+missing]
	to := len(h.Bins) - 1
	for o := len(other.Bins) - 1; o >= 0; to-- {
		switch {
		case from >= 0 && h.Bins[from] > other.Bins[o]:
			h.Bins[to], h.Counts[to] = h.Bins[from], h.Counts[from]
			from--
		case from >= 0 && h.Bins[from] == other.Bins[o]:
			h.Bins[to], h.Counts[to] = h.Bins[from], plus(h.Counts[from], other.Counts[o])
			from--
			o--
		default:
			h.Bins[to], h.Counts[to] = other.Bins[o], other.Counts[o]
			o--
		}
	}
}

// Subtract takes other's counts from h's, stopping at zero; it is exact when other was merged into h before. Bins that
// become empty are dropped.
func (h *Histogram) Subtract(other *Histogram) {
	i := 0
	for o, bin := range other.Bins {
		for i < len(h.Bins) && h.Bins[i] < bin {
			i++
		}
		if i == len(h.Bins) {
			break
		}
		if h.Bins[i] == bin {
			h.Counts[i] -= min(h.Counts[i], other.Counts[o])
		}
	}
	kept := 0
	for i, n := range h.Counts {
		if n > 0 {
			h.Bins[kept], h.Counts[kept] = h.Bins[i], n
			kept++
		}
	}
	h.Bins, h.Counts = h.Bins[:kept], h.Counts[:kept]
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() { h.Bins, h.Counts = h.Bins[:0], h.Counts[:0] }

// Clone is a copy that shares nothing with h.
func (h *Histogram) Clone() *Histogram {
	return &Histogram{Bins: slices.Clone(h.Bins), Counts: slices.Clone(h.Counts)}
}

// Equal says whether both hold the same counts.
func (h *Histogram) Equal(other *Histogram) bool {
	return slices.Equal(h.Bins, other.Bins) && slices.Equal(h.Counts, other.Counts)
}

// Count is how many values h holds.
func (h *Histogram) Count() uint64 {
	var total uint64
	for _, n := range h.Counts {
		total = plus(total, n)
	}
	return total
}

// Sum is about the sum of the values: each counts as the middle of its bin, which is at most 5 % off for each.
func (h *Histogram) Sum() float64 {
	sum := 0.0
	for i, n := range h.Counts {
		sum += h.Bins[i].Middle() * float64(n)
	}
	return sum
}

// Mean is Sum over Count; NaN for an empty histogram.
func (h *Histogram) Mean() float64 { return h.Sum() / float64(h.Count()) }

// CountAbove is about how many values are greater than limit: exact when limit is a bound of a bin, otherwise the bin
// that holds limit is taken to be evenly filled. CountBelow is the rest.
func (h *Histogram) CountAbove(limit float64) float64 {
	above := 0.0
	first := sort.Search(len(h.Bins), func(i int) bool { _, to := h.Bins[i].Bounds(); return to > limit })
	for i := first; i < len(h.Bins); i++ {
		n := float64(h.Counts[i])
		if from, to := h.Bins[i].Bounds(); from < limit {
			n *= (to - limit) / (to - from)
		}
		above += n
	}
	return above
}

// CountBelow is about how many values are not greater than limit; see CountAbove.
func (h *Histogram) CountBelow(limit float64) float64 {
	return float64(h.Count()) - h.CountAbove(limit)
}

// Quantiles answers several at once, each q from 0 to 1, in ascending order: the value below which the share q of the
// values lies, each bin taken to be evenly filled, as OpenHistogram defines it. All are NaN for an empty histogram, and
// for a q outside 0..1.
func (h *Histogram) Quantiles(qs ...float64) []float64 {
	answers := make([]float64, len(qs))
	total := float64(h.Count())
	i, below, upTo := -1, 0.0, 0.0
	for k, q := range qs {
		if total == 0 || !(q >= 0 && q <= 1) {
			answers[k] = math.NaN()
			continue
		}
		wanted := q * total
		for i < 0 || (upTo < wanted && i+1 < len(h.Bins)) {
			i++
			below = upTo
			upTo += float64(h.Counts[i])
		}
		from, to := h.Bins[i].Bounds()
		switch {
		case wanted <= below:
			answers[k] = from
		case wanted >= upTo:
			answers[k] = to
		default:
			answers[k] = from + (to-from)*(wanted-below)/(upTo-below)
		}
	}
	return answers
}

// Quantile is Quantiles for one.
func (h *Histogram) Quantile(q float64) float64 { return h.Quantiles(q)[0] }
