package histogram

// The sparse histogram: what is stored, merged and asked. For counting single values as they arrive, Accumulator is
// quicker.

import (
	"errors"
	"math"
	"slices"
)

// Histogram holds the counts of the bins that are not empty, in the order of the bins. The zero value is an empty
// histogram. It is not safe for use by several goroutines at once.
//
// Bins is strictly ascending and as long as Counts; a count of zero may appear after Subtract, never elsewhere. Offset says
// what the values add up to, as far as that is known.
type Histogram struct {
	Bins   []Bin
	Counts []uint64
	Offset Offset
}

// ErrNoBin is what a value that no bin holds is refused with.
var ErrNoBin = errors.New("no bin holds this value: NaN, an infinity, or 1e128 and beyond")

// Insert counts a value n times, in its bin only: see RecordDecimal. Counts stop at the largest uint64 instead of wrapping.
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
	h.Offset.Add(other.Offset)
	if len(h.Bins) == 0 {
		h.Bins, h.Counts = append(h.Bins, other.Bins...), append(h.Counts, other.Counts...)
		return
	}
	// Bins that h has are added to where they are, until one is missing. Between bins that stand close together, a bin
	// is as many places further as it is greater.
	bins, counts := h.Bins, h.Counts[:len(h.Bins)]
	i, o := 0, 0
	for ; o < len(other.Bins); o++ {
		bin := other.Bins[o]
		if i < len(bins) && bins[i] < bin {
			if guess := i + int(bin) - int(bins[i]); guess < len(bins) && bins[guess] == bin {
				i = guess
			} else {
				for i++; i < len(bins) && bins[i] < bin; i++ {
				}
			}
		}
		if i == len(bins) || bins[i] != bin {
			break
		}
		counts[i] = plus(counts[i], other.Counts[o])
		i++
	}
	if o < len(other.Bins) {
		h.weave(i, other.Bins[o:], other.Counts[o:])
	}
}

// weave merges bins all of which belong at the place start or behind it.
func (h *Histogram) weave(start int, bins []Bin, counts []uint64) {
	// How many bins are new, so that the merge can run from the back in place.
	missing, i := 0, start
	for _, bin := range bins {
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
	for o := len(bins) - 1; o >= 0; to-- {
		switch {
		case from >= start && h.Bins[from] > bins[o]:
			h.Bins[to], h.Counts[to] = h.Bins[from], h.Counts[from]
			from--
		case from >= start && h.Bins[from] == bins[o]:
			h.Bins[to], h.Counts[to] = h.Bins[from], plus(h.Counts[from], counts[o])
			from--
			o--
		default:
			h.Bins[to], h.Counts[to] = bins[o], counts[o]
			o--
		}
	}
}

// Subtract takes other's counts from h's, stopping at zero; it is exact when other was merged into h before. Bins that
// become empty are dropped.
func (h *Histogram) Subtract(other *Histogram) {
	h.Offset.Subtract(other.Offset)
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
	if h.Bins, h.Counts = h.Bins[:kept], h.Counts[:kept]; kept == 0 {
		h.Offset = Offset{}
	}
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() { h.Bins, h.Counts, h.Offset = h.Bins[:0], h.Counts[:0], Offset{} }

// Clone is a copy that shares nothing with h.
func (h *Histogram) Clone() *Histogram {
	return &Histogram{Bins: slices.Clone(h.Bins), Counts: slices.Clone(h.Counts), Offset: h.Offset}
}

// Equal says whether both hold the same counts.
func (h *Histogram) Equal(other *Histogram) bool {
	return slices.Equal(h.Bins, other.Bins) && slices.Equal(h.Counts, other.Counts)
}
